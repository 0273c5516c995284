"""Boosted regression trees on binned features, grown by the leaf that gains most."""

import numpy as np

BINS = 64
DEPTH = 12  # of a tree at most: the answer walks this many nodes of each


def edges(x):
    """Thresholds between values that occur, at most BINS - 1, so that no value is near one."""
    values = np.unique(x)
    between = ((values[1:].astype(float) + values[:-1]) / 2).astype(np.float32)
    if len(between) >= BINS:
        at = np.quantile(x, np.linspace(0, 1, BINS + 1)[1:-1])
        between = between[np.unique(np.clip(np.searchsorted(values, at) - 1, 0, len(between) - 1))]
    return np.unique(between)


def short(value, digits):
    """As it is written down: what is tried here is what is answered later."""
    return float(f"{value:.{digits}g}")


class Tree:
    """Nodes in one list. The children of node i are child[i] and child[i] + 1, the second where the feature is above
    the threshold; a leaf has itself as its child, and a threshold that nothing is above."""

    def __init__(self):
        self.feature, self.threshold, self.child, self.value = [], [], [], []

    def add(self, value):
        node = len(self.feature)
        self.feature.append(0)
        self.threshold.append(np.inf)
        self.child.append(node)
        self.value.append(float(value))
        return node

    def predict(self, x):
        feature, child = np.array(self.feature), np.array(self.child)
        threshold = np.array(self.threshold, np.float32)
        at = np.zeros(len(x), int)
        rows = np.arange(len(x))
        for _ in range(DEPTH):
            at = child[at] + (x[rows, feature[at]] > threshold[at])
        return np.array(self.value)[at]

    def without(self, last):
        """The tree for rows whose feature `last` is 0, which then is not asked."""
        made = Tree()

        def copy(node, to):
            while self.feature[node] == last and self.child[node] != node:
                node = self.child[node]
            made.value[to] = self.value[node]
            if self.child[node] == node:
                return
            made.feature[to], made.threshold[to] = self.feature[node], self.threshold[node]
            made.child[to] = made.add(0.0)
            made.add(0.0)
            copy(self.child[node], made.child[to])
            copy(self.child[node] + 1, made.child[to] + 1)

        copy(0, made.add(0.0))
        return made


def grow(binned, thresholds, gradient, weight, features, leaves, least_rows, ridge):
    """The binned rows of one tree; what it should add is gradient / weight in each leaf."""
    offsets = np.arange(len(features)) * BINS
    size = len(features) * BINS
    valid = np.zeros((len(features), BINS), bool)
    for i, f in enumerate(features):
        valid[i, : len(thresholds[f])] = True

    def histogram(rows):
        keys = (binned[np.ix_(rows, features)] + offsets).ravel()
        fold = len(features)
        sums = [np.bincount(keys, np.repeat(w[rows], fold), size).reshape(fold, BINS) for w in (gradient, weight)]
        return sums + [np.bincount(keys, None, size).reshape(fold, BINS)]

    def best_split(sums):
        g, h, n = (s.cumsum(1) for s in sums)
        gl, hl, nl = g, h, n
        gr, hr, nr = g[:, -1:] - g, h[:, -1:] - h, n[:, -1:] - n
        whole = g[0, -1] ** 2 / (h[0, -1] + ridge)
        gain = gl**2 / (hl + ridge) + gr**2 / (hr + ridge) - whole
        gain[~valid | (nl < least_rows) | (nr < least_rows)] = -1
        at = int(np.argmax(gain))
        return gain.ravel()[at], at // BINS, at % BINS

    tree = Tree()
    rows = np.arange(len(gradient))
    sums = histogram(rows)
    open_leaves = [(*best_split(sums), tree.add(gradient.sum() / (weight.sum() + ridge)), rows, sums, 0)]
    count = 1
    while count < leaves and open_leaves:
        pick = max(range(len(open_leaves)), key=lambda i: open_leaves[i][0])
        gain, i, bin_, node, rows, sums, depth = open_leaves.pop(pick)
        if gain <= 1e-9:
            break
        right = binned[rows, features[i]] > bin_
        halves = [rows[~right], rows[right]]
        small = int(len(halves[1]) < len(halves[0]))
        parts = [None, None]
        parts[small] = histogram(halves[small])
        parts[1 - small] = [a - b for a, b in zip(sums, parts[small])]
        nodes = [tree.add(gradient[r].sum() / (weight[r].sum() + ridge)) for r in halves]
        tree.feature[node] = int(features[i])
        tree.threshold[node] = short(thresholds[features[i]][bin_], 7)
        tree.child[node] = nodes[0]
        count += 1
        if depth + 1 < DEPTH:
            open_leaves += [(*best_split(p), n, r, p, depth + 1) for p, n, r in zip(parts, nodes, halves)]
    return tree


def train(
    x, target, weight, group, rounds, rate=0.07, leaves=127, least_rows=20, ridge=1.0, features=0.6, bag=0.9, seed=1
):
    """Trees whose sum is near the target. Each sees a part of the features, and of the groups of rows."""
    random = np.random.default_rng(seed)
    thresholds = [edges(x[:, f]) for f in range(x.shape[1])]
    binned = np.stack([np.searchsorted(t, x[:, f], side="left") for f, t in enumerate(thresholds)], 1).astype(np.int64)
    usable = np.array([f for f, t in enumerate(thresholds) if len(t) > 0])
    weight = weight / weight.mean()
    groups = np.unique(group)
    left = np.array(target, float)
    forest = []
    for _ in range(rounds):
        rows = np.where(np.isin(group, groups[random.random(len(groups)) < bag]))[0]
        some = np.sort(random.permutation(usable)[: max(1, int(len(usable) * features))])
        tree = grow(binned[rows], thresholds, left[rows] * weight[rows], weight[rows], some, leaves, least_rows, ridge)
        tree.value = [short(rate * v, 4) for v in tree.value]
        forest.append(tree)
        left -= tree.predict(x)
    return forest


def predict(forest, x):
    return sum((tree.predict(x) for tree in forest), np.zeros(len(x)))
