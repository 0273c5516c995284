'use strict';
// The data: runs, each with lanes [cta, group, name, engine, rows], bars [lane, row, begin, end, kind, name, at, slot]
// (name and at index into names), arrows [from, to], counters [cta, name, most, [[time, value], ...]] and the critical
// path [bar, begin, end]. Times are nanoseconds.
const data = JSON.parse(document.getElementById('data').textContent);
const KINDS = ['run', 'wait', 'arrive', 'engine'];
const RUN = 0, WAIT = 1, ARRIVE = 2;
const SLOTS = ['#3b82f6', '#f59e0b', '#10b981', '#ec4899', '#8b5cf6', '#14b8a6', '#ef4444', '#84cc16', '#06b6d4', '#a16207',
  '#6366f1', '#d946ef'];
const TENSOR = '#16a34a', ENGINE = '#64748b';
const LABELS = 190, LANE = 19, ROW = 9, COUNTER = 30, HEAD = 24;
const $ = (id) => document.getElementById(id);
const chart = $('chart'), overview = $('overview'), ruler = $('ruler'), box = $('lanes'), tip = $('tip');
const end = Math.max(1, ...data.runs.map((r) => r.end));

// --- the data, indexed -------------------------------------------------------------------------------------------------
const bars = [];  // of all runs
for (const [index, run] of data.runs.entries()) {
  run.first = bars.length;
  run.rowBars = run.lanes.map((lane) => Array.from({length: lane[4]}, () => []));
  for (const b of run.bars) {
    const bar = {run: index, lane: b[0], row: b[1], begin: b[2], end: b[3], kind: b[4], name: data.names[b[5]], at: data.names[b[6]],
      slot: b[7], id: bars.length, out: [], by: null};
    run.rowBars[bar.lane][bar.row].push(bar);
    bars.push(bar);
  }
  run.arrowBars = run.arrows.map(([from, to]) => {
    const a = bars[run.first + from], b = bars[run.first + to];
    a.out.push(b);
    b.by = a;
    return [a, b];
  });
  run.path = run.critical.map(([bar, begin, stop]) => ({bar: bars[run.first + bar], begin, end: stop}));
  run.ctas = [...new Set(run.lanes.map((l) => l[0]))].sort((a, b) => a - b);
}
const laneOf = (bar) => data.runs[bar.run].lanes[bar.lane];

// --- state -------------------------------------------------------------------------------------------------------------
const view = {from: 0, to: end};
let shown = new Set();  // CTAs
let rows = [];          // what is drawn, from top to bottom: {kind, top, height, ...}
let place = new Map();  // "run/lane" -> row
let marked = null, hovered = null, found = new Set(), arrowsDrawn = 0, height = 0;

function parseCtas(text) {
  const all = new Set(data.runs.flatMap((r) => r.ctas));
  if (text.trim() === 'all') return all;
  const chosen = new Set();
  for (const part of text.split(',')) {
    const m = part.trim().match(/^(\d+)(?:-(\d+))?$/);
    if (!m) continue;
    for (let i = +m[1]; i <= +(m[2] || m[1]); ++i) if (all.has(i)) chosen.add(i);
  }
  return chosen;
}

function layOut() {
  rows = [];
  place = new Map();
  let top = 0;
  const add = (row) => {
    row.top = top;
    rows.push(row);
    top += row.height;
  };
  data.runs.forEach((run, r) => {
    if (data.runs.length > 1) add({kind: 'run', height: HEAD, text: `${run.kernel} on ${run.target}, ${run.times}`});
    for (const cta of run.ctas) {
      if (!shown.has(cta)) continue;
      add({kind: 'head', height: HEAD, text: `CTA ${cta}`});
      let group = null;
      run.lanes.forEach((lane, l) => {
        if (lane[0] !== cta) return;
        const row = {kind: 'lane', run: r, lane: l, height: lane[3] ? Math.max(LANE, 4 + ROW * lane[4]) : LANE, text: lane[2],
          first: lane[1] !== group, engine: lane[3]};
        group = lane[1];
        place.set(`${r}/${l}`, row);
        add(row);
      });
      if ($('counters').checked) {
        for (const c of run.counters) if (c[0] === cta) add({kind: 'counter', height: COUNTER, text: c[1], counter: c});
      }
    }
  });
  height = top + 8;
  const labels = $('labels');
  labels.replaceChildren(...rows.map((row) => {
    const e = document.createElement('div');
    e.className = `lane ${row.kind === 'lane' ? (row.first ? 'group-first' : '') : row.kind}`;
    e.style.cssText = `top:${row.top}px;height:${row.height}px;line-height:${row.height}px;width:${LABELS - 6}px`;
    if (row.kind === 'run') e.style.width = 'auto';
    e.textContent = row.text;
    return e;
  }));
  labels.style.height = height + 'px';
  draw();
}

// --- drawing -----------------------------------------------------------------------------------------------------------
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const span = () => view.to - view.from;
const plotWidth = () => box.clientWidth - LABELS;
const x = (t) => LABELS + (t - view.from) / span() * plotWidth();
const time = (px) => view.from + (px - LABELS) / plotWidth() * span();
const yOf = (bar) => {
  const row = place.get(`${bar.run}/${bar.lane}`);
  if (!row) return null;
  return row.engine ? {top: row.top + 2 + bar.row * ROW, height: ROW - 1} : {top: row.top + 3, height: LANE - 6};
};
const colour = (bar) => bar.kind === RUN ? css('--run') : bar.slot >= 0 ? SLOTS[bar.slot % SLOTS.length] :
  laneOf(bar)[1] === 'tensor core' ? TENSOR : bar.kind === WAIT ? css('--faint') : ENGINE;

function canvas(element, width, tall) {
  const scale = window.devicePixelRatio || 1;
  if (element.width !== Math.round(width * scale) || element.height !== Math.round(tall * scale)) {
    element.width = Math.round(width * scale);
    element.height = Math.round(tall * scale);
    element.style.height = tall + 'px';
  }
  const g = element.getContext('2d');
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, tall);
  return g;
}

const hatches = new Map();
function hatch(g, tone) {
  if (!hatches.has(tone)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const p = tile.getContext('2d');
    p.globalAlpha = .22;
    p.fillStyle = tone;
    p.fillRect(0, 0, 6, 6);
    p.globalAlpha = .4;
    p.strokeStyle = tone;
    p.lineWidth = 1.2;
    p.beginPath();
    p.moveTo(-1, 7); p.lineTo(7, -1);
    p.moveTo(-1, 1); p.lineTo(1, -1);
    p.moveTo(5, 7); p.lineTo(7, 5);
    p.stroke();
    hatches.set(tone, g.createPattern(tile, 'repeat'));
  }
  return hatches.get(tone);
}

// The first bar of a row (sorted, without overlap) that ends after a time.
function firstAfter(list, t) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].end < t) low = middle + 1; else high = middle;
  }
  return low;
}

function drawBar(g, bar, at, left, width) {
  const tone = colour(bar);
  g.fillStyle = bar.kind === WAIT ? hatch(g, tone) : tone;
  g.fillRect(left, at.top, Math.max(width, .6), at.height);
  if (found.has(bar) || bar === marked || bar === hovered) {
    g.strokeStyle = css('--text');
    g.lineWidth = bar === marked ? 2 : 1.2;
    g.strokeRect(left, at.top, Math.max(width, 1), at.height);
  }
  if (width > 34 && at.height >= 11) {
    g.fillStyle = bar.kind === WAIT || bar.kind === RUN ? css('--text') : '#ffffff';
    g.save();
    g.beginPath();
    g.rect(left, at.top, width - 3, at.height);
    g.clip();
    g.fillText(bar.name, Math.max(left, LABELS) + 4, at.top + at.height / 2 + .5);
    g.restore();
  }
}

function draw() {
  const width = box.clientWidth, tall = box.clientHeight, scroll = box.scrollTop;
  const g = canvas(chart, width, tall);
  $('labels').style.top = '0px';
  chart.style.marginBottom = -tall + 'px';
  $('labels').style.width = LABELS + 'px';
  g.translate(0, -scroll);
  g.font = '10.5px system-ui, "DejaVu Sans", sans-serif';
  g.textBaseline = 'middle';
  for (const row of rows) {
    if (row.top + row.height < scroll || row.top > scroll + tall) continue;
    if (row.kind === 'head' || row.kind === 'run') {
      g.fillStyle = css('--band');
      g.fillRect(0, row.top, width, row.height);
    }
  }
  g.save();
  g.beginPath();
  g.rect(LABELS, scroll, width - LABELS, tall);
  g.clip();
  for (const t of ticks().times) {
    g.fillStyle = css('--line');
    g.fillRect(x(t), scroll, 1, tall);
  }
  for (const row of rows) {
    if (row.top + row.height < scroll || row.top > scroll + tall) continue;
    if (row.kind === 'lane') {
      for (const list of data.runs[row.run].rowBars[row.lane]) {
        let last = -1;
        for (let i = firstAfter(list, view.from); i < list.length && list[i].begin <= view.to; ++i) {
          const bar = list[i], left = x(bar.begin), right = x(bar.end);
          if (right - last < .4 && bar.kind === RUN) continue;
          drawBar(g, bar, yOf(bar), left, right - left);
          last = right;
        }
      }
    } else if (row.kind === 'counter') {
      drawCounter(g, row);
    }
  }
  if ($('critical').checked) drawCritical(g);
  drawArrows(g, scroll, tall);
  g.restore();
  drawRuler();
  drawOverview();
}

function drawCounter(g, row) {
  const [, , most, changes] = row.counter;
  const base = row.top + row.height - 3, unit = (row.height - 8) / Math.max(1, most);
  g.beginPath();
  g.moveTo(x(view.from), base);
  let value = 0;
  for (const [t, v] of changes) {
    if (t > view.to) break;
    const at = x(Math.max(t, view.from));
    g.lineTo(at, base - value * unit);
    value = v;
    g.lineTo(at, base - value * unit);
  }
  g.lineTo(x(Math.min(view.to, end)), base - value * unit);
  g.lineTo(x(Math.min(view.to, end)), base);
  g.closePath();
  const tone = row.text.startsWith('tensor') ? TENSOR : SLOTS[0];
  g.globalAlpha = .25;
  g.fillStyle = tone;
  g.fill();
  g.globalAlpha = 1;
  g.strokeStyle = tone;
  g.lineWidth = 1;
  g.stroke();
  g.fillStyle = css('--faint');
  g.fillText(`max ${most}`, x(view.from) + 4, row.top + 9);
}

function drawCritical(g) {
  g.strokeStyle = css('--critical');
  g.lineWidth = 2.2;
  for (const run of data.runs) {
    let before = null;
    for (const step of run.path) {
      const at = yOf(step.bar);
      const y = at && at.top + at.height;
      if (at && step.end >= view.from && step.begin <= view.to) {
        g.beginPath();
        g.moveTo(x(step.begin), y);
        g.lineTo(x(step.end), y);
        if (before !== null) {
          g.moveTo(x(step.begin), before);
          g.lineTo(x(step.begin), y);
        }
        g.stroke();
      }
      before = at ? y : null;
    }
  }
}

function drawArrows(g, scroll, tall) {
  const mode = $('arrows').value;
  const focus = hovered || marked;
  const visible = [];
  for (const run of data.runs) {
    for (const [from, to] of run.arrowBars) {
      if (to.end < view.from || from.end > view.to) continue;
      const a = yOf(from), b = yOf(to);
      if (!a || !b) continue;
      if (Math.max(a.top, b.top) < scroll || Math.min(a.top, b.top) > scroll + tall) continue;
      visible.push([from, to, a, b]);
    }
  }
  const all = mode === 'all' || (mode === 'auto' && visible.length <= 160);
  arrowsDrawn = 0;
  for (const [from, to, a, b] of visible) {
    const near = focus && (from === focus || to === focus);
    if (!all && !near) continue;
    ++arrowsDrawn;
    const x0 = x(from.end), y0 = a.top + a.height / 2, x1 = x(to.end), y1 = b.top + b.height / 2;
    g.strokeStyle = g.fillStyle = near ? css('--text') : css('--faint');
    g.globalAlpha = near ? 1 : .55;
    g.lineWidth = near ? 1.6 : .9;
    const bend = Math.max(14, Math.abs(x1 - x0) / 2);
    g.beginPath();
    g.moveTo(x0, y0);
    g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    g.stroke();
    g.beginPath();
    g.moveTo(x1, y1);
    g.lineTo(x1 - 6, y1 - 3);
    g.lineTo(x1 - 6, y1 + 3);
    g.fill();
    g.globalAlpha = 1;
  }
}

function ticks() {
  const rough = span() / Math.max(2, plotWidth() / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough));
  const times = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) times.push(t);
  return {step, times};
}
const text = (ns) => ns >= 1000 || ns === 0 ? `${+(ns / 1000).toFixed(3)} µs` : `${Math.round(ns)} ns`;

function drawRuler() {
  const g = canvas(ruler, box.clientWidth, 22);
  g.font = '11px system-ui, "DejaVu Sans", sans-serif';
  g.textBaseline = 'middle';
  g.fillStyle = css('--faint');
  for (const t of ticks().times) g.fillText(text(t), x(t) + 3, 12);
}

function drawOverview() {
  const width = box.clientWidth, g = canvas(overview, width, 46);
  const w = width - LABELS, at = (t) => LABELS + t / end * w;
  g.font = '11px system-ui, "DejaVu Sans", sans-serif';
  g.fillStyle = css('--faint');
  g.fillText('all of it', 10, 26);
  const lists = [];
  data.runs.forEach((run) => run.lanes.forEach((lane, l) => {
    if (shown.has(lane[0])) run.rowBars[l].forEach((list) => lists.push(list));
  }));
  const tall = 40 / Math.max(1, lists.length);
  lists.forEach((list, i) => {
    let last = -1;
    for (const bar of list) {
      if (bar.kind === RUN || at(bar.end) - last < .7) continue;
      g.globalAlpha = bar.kind === WAIT ? .45 : .95;
      g.fillStyle = colour(bar);
      last = at(bar.end);
      g.fillRect(at(bar.begin), 3 + i * tall, Math.max(.7, last - at(bar.begin)), Math.max(.6, tall - .3));
    }
  });
  g.globalAlpha = .16;
  g.fillStyle = css('--text');
  g.fillRect(LABELS, 0, at(view.from) - LABELS, 46);
  g.fillRect(at(view.to), 0, width - at(view.to), 46);
  g.globalAlpha = 1;
  g.strokeStyle = css('--critical');
  g.strokeRect(at(view.from), .5, Math.max(2, at(view.to) - at(view.from)), 45);
}
