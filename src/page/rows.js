// --- what is shown -----------------------------------------------------------------------------------------------------
const LABELS = 190, LANE = 19, COUNTER = 30, HEAD = 24;
const chart = $('chart'), overview = $('overview'), ruler = $('ruler'), box = $('lanes'), tip = $('tip');
const view = {from: 0, to: end};
let shown = new Set();  // blocks
let rows = [];          // what is drawn, from top to bottom: {kind, top, height, ...}
let place = [];         // by lane: its row, or nothing
let marked = -1, hovered = -1, height = 0;
let range = null;       // the times that are measured
let matches = [], match = -1, matching = null;  // the bars that were found, the current one, whether a label matches
const drawn = {bars: 0, slices: 0, arrows: 0, milliseconds: 0};

function parseCtas(text) {
  const all = new Set();
  for (const run of data.runs) for (const cta of run.ctas) all.add(cta);
  if (text.trim() === 'all') return all;
  const chosen = new Set();
  for (const part of text.split(',')) {
    const m = part.trim().match(/^(\d+)(?:-(\d+))?$/);
    if (!m) continue;
    for (const cta of all) if (cta >= +m[1] && cta <= +(m[2] || m[1])) chosen.add(cta);
  }
  return chosen;
}

// The numbers of blocks, as the field takes them: 0-1,7.
function spoken(blocks) {
  const parts = [];
  for (const block of [...blocks].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last && last[1] === block - 1) last[1] = block;
    else parts.push([block, block]);
  }
  return parts.map(([from, to]) => from === to ? from : `${from}-${to}`).join(',');
}

// Rows of an engine are thin where there are many.
const thin = (lane) => lane.rows.length <= 6 ? 9 : Math.max(4, Math.floor(60 / lane.rows.length));

function layOut() {
  rows = [];
  place = new Array(lanes.length);
  let top = 0;
  const add = (row) => {
    row.top = top;
    rows.push(row);
    top += row.height;
  };
  data.runs.forEach((run, r) => {
    if (data.runs.length > 1) add({kind: 'run', height: HEAD, text: `${run.kernel} on ${run.target}, ${run.times}`});
    const byCta = new Map();
    run.lanes.forEach((lane, l) => {
      if (!shown.has(lane[0])) return;
      if (!byCta.has(lane[0])) byCta.set(lane[0], []);
      byCta.get(lane[0]).push(run.firstLane + l);
    });
    for (const [cta, members] of byCta) {
      add({kind: 'head', height: HEAD, text: `${run.block} ${cta}`});
      let group = null;
      for (const l of members) {
        const lane = lanes[l];
        const row = {kind: 'lane', lane: l, height: lane.engine ? Math.max(LANE, 4 + thin(lane) * lane.rows.length) : LANE,
          text: lane.name, first: lane.group !== group, engine: lane.engine};
        group = lane.group;
        place[l] = row;
        add(row);
      }
      if ($('counters').checked) {
        for (const c of run.counters) if (c.cta === cta) add({kind: 'counter', height: COUNTER, text: c.name, counter: c});
      }
    }
  });
  height = top + 8;
  const names = $('labels');
  names.replaceChildren(...rows.map((row) => {
    const e = document.createElement('div');
    e.className = `lane ${row.kind === 'lane' ? (row.first ? 'group-first' : '') : row.kind}`;
    e.style.cssText = `top:${row.top}px;height:${row.height}px;line-height:${row.height}px;width:${LABELS - 6}px`;
    if (row.kind === 'run') e.style.width = 'auto';
    e.textContent = row.text;
    return e;
  }));
  names.style.height = height + 'px';
  names.style.width = LABELS + 'px';
  picture = null;
  redraw();
}

// The rows between two heights.
function rowsBetween(top, bottom) {
  const from = firstThat(rows.length, (i) => rows[i].top + rows[i].height > top);
  const to = firstThat(rows.length, (i) => rows[i].top > bottom);
  return rows.slice(from, to);
}

const span = () => view.to - view.from;
const plotWidth = () => Math.max(1, box.clientWidth - LABELS);
const x = (t) => LABELS + (t - view.from) / span() * plotWidth();
const time = (px) => view.from + (px - LABELS) / plotWidth() * span();
const yOf = (bar) => {
  const row = place[bars.lane[bar]];
  if (!row) return null;
  const step = thin(laneOf(bar));
  return row.engine ? {top: row.top + 2 + bars.row[bar] * step, height: step - 1} : {top: row.top + 3, height: LANE - 6};
};
const text = (ns) => ns >= 1000 || ns === 0 ? `${+(ns / 1000).toFixed(3)} µs` : `${Math.round(ns)} ns`;
const percent = (share) => `${Math.round(100 * share)} %`;

// --- moving about ------------------------------------------------------------------------------------------------------
const LEAST = Math.min(end, 20);  // nanoseconds in the view
function setView(from, to) {
  const width = Math.min(end, Math.max(LEAST, to - from));
  view.from = Math.min(Math.max(0, from), end - width);
  view.to = view.from + width;
  redraw();
}
// Everything but the launch, in which nothing runs.
function fit() {
  const width = end - begin;
  setView(begin - width * .01, end);
}
function zoom(factor, around = (view.from + view.to) / 2) {
  const width = Math.min(end, Math.max(LEAST, span() * factor));
  const share = (around - view.from) / span();
  setView(around - share * width, around - share * width + width);
}
const pan = (share) => setView(view.from + share * span(), view.to + share * span());

// Brings a bar into sight: in the middle, and wide enough to be seen.
function goTo(bar) {
  const width = Math.min(span(), Math.max(LEAST, 40 * (bars.end[bar] - bars.begin[bar])));
  const middle = (bars.begin[bar] + bars.end[bar]) / 2;
  const at = yOf(bar);
  if (at.top < box.scrollTop || at.top + at.height > box.scrollTop + box.clientHeight) {
    box.scrollTop = at.top - box.clientHeight / 2;
  }
  mark(bar);
  setView(middle - width / 2, middle + width / 2);
}

// Keeps a bar in mind: it is framed, and the line below the chart says what it is.
function mark(bar) {
  marked = bar;
  tellMark();
  redraw();
}
// Goes to a bar of any block; one that is not shown is added.
function visit(bar) {
  if (bar === undefined || bar < 0) return;
  if (!yOf(bar)) {
    shown.add(laneOf(bar).cta);
    $('ctas').value = spoken(shown);
    layOut();
  }
  goTo(bar);
}
// The bar so many places on in the same row.
function neighbour(bar, by) {
  const list = laneOf(bar).rows[bars.row[bar]].bars;
  return list[firstThat(list.length, (i) => list[i] >= bar) + by];
}

function find(wanted) {
  matches = [];
  match = -1;
  matching = null;
  if (wanted) {
    matching = new Uint8Array(labels.length);
    labels.forEach((l, i) => { matching[i] = l.kind !== RUN && (l.name.includes(wanted) || l.at.includes(wanted)); });
    for (const row of rows) {
      if (row.kind !== 'lane') continue;
      const lane = lanes[row.lane];
      for (let i = lane.first; i < lane.first + lane.count; ++i) if (matching[bars.label[i]]) matches.push(i);
    }
    matches.sort((a, b) => bars.begin[a] - bars.begin[b] || a - b);
  }
  tellFound();
  redraw();
}
function tellFound() {
  $('found').textContent = !matching ? '' : match < 0 ? `${matches.length} bars` : `${match + 1} of ${matches.length} bars`;
}
// The first press goes to the first match in the view, the next ones on from there, round and round.
function nextMatch(by) {
  if (!matches.length) return;
  if (match < 0) {
    match = firstThat(matches.length, (i) => bars.begin[matches[i]] >= view.from) % matches.length;
  } else {
    match = (match + by + matches.length) % matches.length;
  }
  tellFound();
  goTo(matches[match]);
}

// What the warps of the blocks that are shown do in a time: [role, warps, busy, done, [[what, share], ...]], as the table
// of the whole run has it.
function rolesIn(from, to) {
  const roles = new Map(), lives = new Map();
  const shownLanes = rows.filter((row) => row.kind === 'lane').map((row) => lanes[row.lane]);
  for (const lane of shownLanes) {
    const key = `${lane.run}/${lane.cta}`, life = lives.get(key) || [Infinity, 0];
    for (const {bars: list} of lane.rows) {
      if (!list.length) continue;
      life[0] = Math.min(life[0], bars.begin[list[0]]);
      life[1] = Math.max(life[1], bars.end[list[list.length - 1]]);
    }
    lives.set(key, life);
  }
  for (const lane of shownLanes) {
    if (lane.engine) continue;
    const life = lives.get(`${lane.run}/${lane.cta}`), until = Math.min(to, life[1]);
    let at = Math.max(from, life[0]);
    if (until <= at) continue;
    if (!roles.has(lane.group)) roles.set(lane.group, {warps: 0, whole: 0, busy: 0, done: 0, waits: new Map()});
    const role = roles.get(lane.group), list = lane.rows[0].bars;
    ++role.warps;
    role.whole += until - at;
    for (let i = firstAfter(list, at); i < list.length && bars.begin[list[i]] < until; ++i) {
      const b = Math.max(at, bars.begin[list[i]]), e = Math.min(until, bars.end[list[i]]), label = labelOf(list[i]);
      role.busy += b - at;
      if (label.kind === WAIT) role.waits.set(label.object, (role.waits.get(label.object) || 0) + e - b);
      else role.busy += e - b;
      at = Math.max(at, e);
    }
    role.done += until - at;
  }
  return [...roles].map(([name, r]) => [name, r.warps, r.busy / r.whole, r.done / r.whole,
    [...r.waits].map(([what, t]) => [what, t / r.whole]).sort((a, b) => b[1] - a[1])]);
}
// How busy the units that multiply are on average, in the blocks that are shown.
function busyIn(from, to) {
  let sum = 0, whole = 0, name = '';
  for (const row of rows) {
    if (row.kind !== 'lane' || !lanes[row.lane].multiplies) continue;
    name = lanes[row.lane].group;
    whole += to - from;
    let until = from;
    const lane = lanes[row.lane];
    const first = firstThat(lane.count, (i) => bars.begin[lane.first + i] >= from);
    // Those that began before may still be at work.
    for (let i = Math.max(0, first - 64); i < lane.count && bars.begin[lane.first + i] < to; ++i) {
      const b = Math.max(until, bars.begin[lane.first + i]), e = Math.min(to, bars.end[lane.first + i]);
      if (e > b) sum += e - b;
      until = Math.max(until, e);
    }
  }
  return whole ? {name, share: sum / whole} : null;
}
