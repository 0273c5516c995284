'use strict';
// The data: labels [name, line, kind, slot, what it is about, meaning], and runs, each with lanes [block, group, name,
// engine, rows, bars] and, as packed numbers, their bars (row, begin after the one before, length, label), arrows (to after
// the one before, from before to), counters [block, name, most, (time after the one before, value)] and the critical path
// (bar after the one before, begin after the one before, length). Times are nanoseconds.
const $ = (id) => document.getElementById(id);
const data = JSON.parse($('data').textContent);
const KINDS = ['run', 'wait', 'arrive', 'engine', 'work'];
const RUN = 0, WAIT = 1;

// Seven bits a byte, the lowest first; the lowest bit of a number is its sign.
function numbers(text) {
  const bytes = atob(text);
  let at = 0;
  return {
    more: () => at < bytes.length,
    next: () => {
      let value = 0, unit = 1;
      for (;;) {
        const byte = bytes.charCodeAt(at++);
        value += (byte & 127) * unit;
        if (byte < 128) return value % 2 ? -(value + 1) / 2 : value / 2;
        unit *= 128;
      }
    },
  };
}

// On a bar that looks like a wait there is no need to say that it waits.
const labels = data.labels.map(([name, at, kind, slot, object, meaning]) => ({name, at, kind, slot, object, meaning,
  short: name.replace(/^(wait|arrive) (its |the )?/, '')}));
const lanes = [];  // of all runs
const count = data.runs.reduce((sum, run) => sum + run.lanes.reduce((s, lane) => s + lane[5], 0), 0);
// Bars of all runs, by run, lane and time: a column for each field.
const bars = {lane: new Int32Array(count), row: new Uint16Array(count), begin: new Float64Array(count),
  end: new Float64Array(count), label: new Int32Array(count), by: new Int32Array(count).fill(-1),
  critical: new Uint8Array(count), outs: new Int32Array(count + 1), out: null};
{
  let bar = 0;
  data.runs.forEach((run, index) => {
    run.first = bar;
    run.firstLane = lanes.length;
    const from = numbers(run.bars);
    for (const [cta, group, name, engine, rows, size] of run.lanes) {
      const number = lanes.length, lists = Array.from({length: rows}, () => 0), begin = bar;
      let time = 0;
      for (let i = 0; i < size; ++i, ++bar) {
        const row = from.next();
        time += from.next();
        bars.lane[bar] = number;
        bars.row[bar] = row;
        bars.begin[bar] = time;
        bars.end[bar] = time + from.next();
        bars.label[bar] = from.next();
        ++lists[row];
      }
      const list = lists.map((n) => ({bars: new Int32Array(n), mips: new Map()}));
      lists.fill(0);
      for (let i = begin; i < bar; ++i) list[bars.row[i]].bars[lists[bars.row[i]]++] = i;
      const multiplies = engine && (group === 'tensor core' || group === 'MFMA');
      lanes.push({run: index, cta, group, name, engine, rows: list, first: begin, count: size, multiplies});
    }
    const arrows = numbers(run.arrows);
    run.arrowCount = 0;
    for (let to = run.first; arrows.more(); ++run.arrowCount) {
      to += arrows.next();
      bars.by[to] = to + arrows.next();
    }
    run.counters = run.counters.map(([cta, name, most, packed]) => {
      const changes = numbers(packed), times = [], values = [];
      for (let time = 0; changes.more();) {
        times.push(time += changes.next());
        values.push(changes.next());
      }
      return {cta, name, most, times, values};
    });
    const steps = numbers(run.critical);
    run.path = [];
    for (let on = run.first, time = 0; steps.more();) {
      on += steps.next();
      time += steps.next();
      run.path.push({bar: on, begin: time, end: time + steps.next()});
      bars.critical[on] = 1;
    }
    run.ctas = [...new Set(run.lanes.map((lane) => lane[0]))].sort((a, b) => a - b);
    run.recorded = 0;
    for (let i = run.first; i < bar; ++i) run.recorded += labels[bars.label[i]].kind !== RUN;
  });
  // Arrows by where they begin: those of bar i are out[outs[i]] to out[outs[i + 1]].
  for (let i = 0; i < count; ++i) if (bars.by[i] >= 0) ++bars.outs[bars.by[i] + 1];
  for (let i = 0; i < count; ++i) bars.outs[i + 1] += bars.outs[i];
  bars.out = new Int32Array(bars.outs[count]);
  const place = bars.outs.slice();
  for (let i = 0; i < count; ++i) if (bars.by[i] >= 0) bars.out[place[bars.by[i]]++] = i;
}
const begin = data.runs.reduce((least, run) => Math.min(least, run.begin), Infinity);
const end = data.runs.reduce((most, run) => Math.max(most, run.end), 1);
const laneOf = (bar) => lanes[bars.lane[bar]];
const labelOf = (bar) => labels[bars.label[bar]];
const blockWord = data.runs[0].block;

// The first index of a sorted list for which a question is answered with yes.
function firstThat(size, holds) {
  let low = 0, high = size;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle; else low = middle + 1;
  }
  return low;
}
// Of the bars of a row, which never overlap: the first that ends at a time or later.
const firstAfter = (list, t) => firstThat(list.length, (i) => bars.end[list[i]] >= t);

// --- tones: what a bar is painted with, as a small number -----------------------------------------------------------------
const SLOTS = ['#3b82f6', '#f59e0b', '#10b981', '#ec4899', '#8b5cf6', '#14b8a6', '#ef4444', '#84cc16', '#06b6d4', '#a16207',
  '#6366f1', '#d946ef'];
const TENSOR = '#16a34a';
const tones = {run: 0, wait: 1, work: 2, tensor: 3, slot: 4, slotWait: 4 + SLOTS.length, count: 4 + 2 * SLOTS.length};
// Operations of a CDNA schedule are told apart by their first letter: loads, reads of fragments, products.
const OPERATIONS = {L: tones.slot, F: tones.slot + 4, S: tones.slot + 5, M: tones.tensor};
function toneOf(bar) {
  const label = labelOf(bar), lane = laneOf(bar);
  if (label.kind === RUN) return tones.run;
  if (label.slot >= 0) return (label.kind === WAIT ? tones.slotWait : tones.slot) + label.slot % SLOTS.length;
  if (label.kind === WAIT) return tones.wait;
  if (lane.multiplies) return tones.tensor;
  if (data.runs[lane.run].block === 'workgroup') return OPERATIONS[label.name[0]] ?? tones.work;
  return tones.work;
}

// --- level of detail --------------------------------------------------------------------------------------------------------
// Of a row, for slices of 2^level nanoseconds: the tone that fills most of the slice and how much of it is filled at all.
// Made when a row is first drawn so small that several bars share a pixel.
function mip(row, level) {
  if (row.mips.has(level)) return row.mips.get(level);
  const width = 2 ** level, size = Math.ceil(end / width) + 1;
  const made = {tone: new Uint8Array(size), cover: new Uint8Array(size)};
  const sums = new Float64Array(tones.count);
  let slice = 0, any = false;
  const close = () => {
    let total = 0, best = 0;
    for (let t = 0; t < tones.count; ++t) {
      total += sums[t];
      if (sums[t] > sums[best]) best = t;
    }
    made.tone[slice] = best;
    made.cover[slice] = Math.min(255, Math.ceil(255 * total / width));
    sums.fill(0);
    any = false;
  };
  for (const bar of row.bars) {
    const tone = toneOf(bar), last = Math.min(size - 1, Math.floor(bars.end[bar] / width));
    for (let s = Math.floor(bars.begin[bar] / width); s <= last; ++s) {
      if (any && s !== slice) close();
      slice = s;
      any = true;
      sums[tone] += Math.max(.5, Math.min(bars.end[bar], (s + 1) * width) - Math.max(bars.begin[bar], s * width));
    }
  }
  if (any) close();
  row.mips.set(level, made);
  return made;
}
