// Sharing the depth of a product among workers: split-K cuts every tile into the same number of parts, stream-K gives
// every worker the same number of k-tiles wherever tiles begin and end. Pure arithmetic: every k-tile of every tile
// belongs to exactly one part.
#pragma once
#include "warpwright/tile/raster.h"

namespace warpwright::inline WW_WORLD::tile {

// k-tiles [first, first + count) of one output tile.
struct KRange {
  int first = 0;
  int count = 0;
  WW_HD constexpr int end() const { return first + count; }
};

// One piece of work. The parts of a tile are ordered by k; the last one finishes the tile. In both decompositions a
// part depends on parts of lower index only (of lower workers in stream-K), so a reduction in order cannot deadlock
// when lower work is started first.
struct Work {
  int tile = 0;  // index in the raster
  KRange k{};
  int part = 0;
  int parts = 1;
  WW_HD constexpr bool whole() const { return parts == 1; }
  WW_HD constexpr bool last() const { return part + 1 == parts; }
};

// `k_tiles` cut into at most `splits` parts of whole granules (the k-tiles of one input stage), where the last granule
// may be shorter. Parts differ by at most one granule and none is empty, except that depth 0 has one part of 0.
struct SplitK {
  int tiles = 0;
  int k_tiles = 0;
  int splits = 1;
  int granule = 1;

  WW_HD constexpr int parts() const {
    const int granules = ceil_div(k_tiles, granule);
    const int most = granules > 1 ? granules : 1;
    return splits < 1 ? 1 : splits < most ? splits : most;
  }
  WW_HD constexpr int count() const { return tiles * parts(); }
  WW_HD constexpr KRange range(int part) const {
    const int granules = ceil_div(k_tiles, granule);
    const int each = granules / parts(), longer = granules % parts();
    const int first = (part * each + (part < longer ? part : longer)) * granule;
    const int size = (each + (part < longer ? 1 : 0)) * granule;
    return {first, first + size < k_tiles ? size : k_tiles - first};
  }
  // The parts of one tile follow each other.
  WW_HD constexpr Work at(int i) const {
    const int n = parts();
    return {i / n, range(i % n), i % n, n};
  }
};

// The first `streamed` tiles are one long run of k-tiles that the workers share evenly; the others go to the workers
// whole, tile t to worker (t - streamed) % workers. A worker does its streamed share first, from its end to its
// beginning: the part that starts a tile, which the next worker needs, is ready first, and the part that finishes a
// tile comes last, long after the worker before has delivered the beginning.
struct StreamK {
  int tiles = 0;
  int k_tiles = 0;
  int workers = 1;
  int streamed = 0;

  // Streams what does not fill whole waves, plus one wave if there is one, so that shares are at least a tile deep.
  WW_HD static constexpr StreamK balanced(int tiles, int k_tiles, int workers) {
    const int rest = tiles % workers;
    const int streamed = rest == 0 ? 0 : tiles < workers ? tiles : rest + workers;
    return {tiles, k_tiles, workers, streamed};
  }

  // How many pieces of work this worker has.
  WW_HD constexpr int count(int worker) const { return streamed_count(worker) + whole_count(worker); }
  WW_HD constexpr Work at(int worker, int i) const {
    const int shared = streamed_count(worker);
    if (i >= shared) return {streamed + worker + (i - shared) * workers, {0, k_tiles}, 0, 1};
    if (k_tiles == 0) return {worker + i * workers, {0, 0}, 0, 1};
    const int64_t begin = first_of(worker), end = first_of(worker + 1);
    const int64_t tile = (end - 1) / k_tiles - i;
    const int64_t start = tile * k_tiles;
    const int64_t from = begin > start ? begin : start;
    const int64_t to = end < start + k_tiles ? end : start + k_tiles;
    const int first_worker = worker_of(start), last_worker = worker_of(start + k_tiles - 1);
    return {int(tile), {int(from - start), int(to - from)}, worker - first_worker, last_worker - first_worker + 1};
  }
  // The worker that does the given part of a tile.
  WW_HD constexpr int worker_at(int tile, int part) const {
    if (tile >= streamed) return (tile - streamed) % workers;
    return k_tiles == 0 ? tile % workers : worker_of(int64_t(tile) * k_tiles) + part;
  }

 private:
  WW_HD constexpr int64_t total() const { return int64_t(streamed) * k_tiles; }
  // The share of a worker: if the division is not even, the first workers have one k-tile more.
  WW_HD constexpr int64_t first_of(int worker) const {
    const int64_t each = total() / workers, longer = total() % workers;
    return worker * each + (worker < longer ? worker : longer);
  }
  WW_HD constexpr int worker_of(int64_t k) const {
    const int64_t each = total() / workers, longer = total() % workers;
    const int64_t in_longer = longer * (each + 1);
    return int(k < in_longer ? k / (each + 1) : longer + (k - in_longer) / each);
  }
  WW_HD constexpr int streamed_count(int worker) const {
    if (k_tiles == 0) return worker < streamed ? ceil_div(streamed - worker, workers) : 0;
    const int64_t begin = first_of(worker), end = first_of(worker + 1);
    return begin == end ? 0 : int((end - 1) / k_tiles - begin / k_tiles) + 1;
  }
  WW_HD constexpr int whole_count(int worker) const {
    const int left = tiles - streamed - worker;
    return left > 0 ? ceil_div(left, workers) : 0;
  }
};

}  // namespace warpwright::inline WW_WORLD::tile
