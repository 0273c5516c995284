// --- what stands above ---------------------------------------------------------------------------------------------------
function make(tag, content, style) {
  const e = document.createElement(tag);
  if (content !== undefined) e.textContent = content;
  if (style) e.style.cssText = style;
  return e;
}
const micro = (words) => words.replace(/ us\b/g, ' µs');

function describe() {
  const first = data.runs[0];
  $('title').textContent = `${first.kernel}, ${first.problem}`;
  $('block-word').textContent = `${blockWord}s`;
  $('summary').replaceChildren(...data.runs.map((run) => {
    const part = make('div');
    const measured = run.time || text(run.end);
    part.append(`${run.target}: `, make('b', micro(measured)), `, times ${run.times}; ${run.ctas.length} ${run.block}${run.ctas.length > 1 ? 's' : ''}, ` +
      `${run.recorded} bars, ${run.arrowCount} arrows`);
    const shares = new Map();
    for (const s of run.path) {
      const lane = laneOf(s.bar);
      const key = lane.engine ? lane.group : `${lane.group} ${labelOf(s.bar).kind === WAIT ? 'waking' : 'running'}`;
      shares.set(key, (shares.get(key) || 0) + s.end - s.begin);
    }
    const total = [...shares.values()].reduce((a, b) => a + b, 0);
    const list = [...shares].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([k, v]) => `${k} ${percent(v / total)}`);
    if (list.length) part.append('. Critical path: ', make('b', list.join(', ')));
    return part;
  }));
  describeLegend();
  tellRange();
}

// Colours of waits in the table, by what is waited for: each has one wherever it stands, and none is that of a stage.
const CAUSES = ['#7c3aed', '#0e7490', '#be123c', '#a16207', '#4d7c0f', '#be185d', '#1e40af', '#0f766e', '#9a3412', '#6b21a8'];
const causes = new Map();
function causeColour(what) {
  if (!causes.has(what)) causes.set(what, CAUSES[causes.size % CAUSES.length]);
  return causes.get(what);
}

// A line for each role: a bar of 100 %, running filled, waits hatched; the same in words.
function roleRow([role, warps, busy, done, waits], word) {
  const row = make('tr'), bar = make('td'), words = make('td');
  const strip = make('div');
  strip.className = 'strip';
  const part = (share, background, title) => {
    if (share < .004) return;
    const piece = make('i', undefined, `width:${100 * share}%;background:${background}`);
    piece.title = `${title} ${percent(share)}`;
    strip.append(piece);
  };
  const hatched = (colour) => {
    const c = `color-mix(in srgb,${colour},white var(--lift))`;
    return `repeating-linear-gradient(135deg,${c} 0 2px,color-mix(in srgb,${c} 30%,transparent) 2px 5px)`;
  };
  part(busy, 'var(--busy)', 'busy');
  for (const [what, share] of waits) part(share, hatched(causeColour(what)), `waits for ${what}`);
  part(done, 'transparent', 'done');
  bar.append(strip);
  const entry = (swatch, label, share) => {
    const e = make('span'), i = make('i', undefined, `background:${swatch}`);
    e.append(i, `${label} `, make('b', percent(share)));
    words.append(e);
  };
  for (const [what, share] of waits) if (share >= .005) entry(hatched(causeColour(what)), what, share);
  if (done >= .005) entry('var(--line)', 'done', done);
  words.className = 'words';
  const number = make('td', percent(busy));
  number.className = 'number';
  row.append(make('th', role), make('td', `${warps} ${word}${warps > 1 ? 's' : ''}`), number, bar, words);
  return row;
}

function tellRange() {
  const list = [], head = make('tr');
  const title = range ? `range ${text(range.to - range.from)}` : 'role';
  for (const name of [title, '', 'busy', 'share of the time', 'waits for']) head.append(make('th', name));
  head.className = 'head';
  const word = blockWord === 'CTA' ? 'warp' : 'wave';
  if (range) {
    for (const role of rolesIn(range.from, range.to)) list.push(roleRow(role, word));
  } else {
    for (const run of data.runs) {
      if (data.runs.length > 1) {
        const name = make('tr'), cell = make('th', run.target);
        cell.colSpan = 5;
        name.append(cell);
        list.push(name);
      }
      list.push(...run.roles.map((role) => roleRow(role, word)));
    }
  }
  $('stalls').replaceChildren(head, ...list);
  const busy = range && busyIn(range.from, range.to);
  $('idle').replaceChildren(...(range ? [`In the range from ${text(range.from)} to ${text(range.to)}, ` +
    `${blockWord}s ${$('ctas').value}: `, make('b', text(range.to - range.from)),
    busy ? `, ${busy.name} idle ${percent(1 - busy.share)}` : '', '. Esc goes back to the whole run.'] :
    data.runs.filter((run) => run.idle).flatMap((run, i) => [i ? '; ' : '',
      data.runs.length > 1 ? `${run.target}: ` : '', make('b', run.idle)])));
}

function describeLegend() {
  const legend = [];
  const entry = (style, label, title) => {
    const e = make('span');
    e.append(make('i', undefined, style), label);
    if (title) e.title = title;
    legend.push(e);
  };
  const slots = Math.min(SLOTS.length, labels.reduce((most, l) => Math.max(most, l.slot + 1), 0));
  for (let i = 0; i < slots; ++i) entry(`background:${SLOTS[i]}`, `stage ${i}`);
  entry('background:repeating-linear-gradient(135deg,#8b98ab 0 1.5px,transparent 1.5px 4px)', 'wait');
  entry('background:var(--run)', 'run');
  if (lanes.some((l) => l.group === 'tensor core')) entry(`background:${TENSOR}`, 'tensor core');
  if (blockWord === 'workgroup') {
    entry(`background:${TENSOR}`, 'MFMA');
    entry(`background:${SLOTS[0]}`, 'load from memory');
    entry(`background:${SLOTS[4]}`, 'read from LDS');
  }
  entry('background:var(--critical);height:3px;vertical-align:3px', 'critical path');
  // Waits whose names are those of instructions.
  const explained = new Map();
  for (const l of labels) if (/^[A-Z]+\d*$/.test(l.object) && l.kind === WAIT) explained.set(l.object, l.meaning);
  for (const [name, meaning] of explained) {
    const e = make('span');
    e.append(make('b', name), ` ${meaning}`);
    legend.push(e);
  }
  $('legend').replaceChildren(...legend);
}

// For scripts and tests: what is shown, and the way to change it.
window.timeline = {
  lanes: () => rows.map((r) => ({kind: r.kind, text: r.text, top: r.top, height: r.height})),
  view: () => ({...view}),
  setView,
  range: () => range && {...range},
  position: (bar) => {
    flush();
    const at = yOf(bar), area = chart.getBoundingClientRect();
    return at && {x: area.left + (x(bars.begin[bar]) + x(bars.end[bar])) / 2, y: area.top + at.top + at.height / 2 - box.scrollTop};
  },
  x: (t) => chart.getBoundingClientRect().left + x(t),
  size: () => count,
  bar: (b) => ({name: labelOf(b).name, kind: KINDS[labelOf(b).kind], begin: bars.begin[b], end: bars.end[b], lane: laneOf(b).name,
    cta: laneOf(b).cta}),
  bars: () => Array.from({length: count}, (_, b) => timeline.bar(b)),
  marked: () => marked,
  span: () => ({begin, end}),
  drawn: () => {
    flush();
    return {...drawn};
  },
  ready: 0,
};

readColours();
describe();
const every = [...new Set(data.runs.flatMap((r) => r.ctas))].sort((a, b) => a - b);
// Of many, the pair in which the critical path ends.
const lastOnPath = data.runs[0].path.length ? laneOf(data.runs[0].path.at(-1).bar).cta : 0, pair = lastOnPath - lastOnPath % 2;
$('ctas').value = data.runs.length > 1 ? '0' : every.length <= 2 ? 'all' : `${pair}-${pair + 1}`;
shown = parseCtas($('ctas').value);
if (!shown.size) shown = new Set(every.slice(0, 2));
layOut();
fit();
flush();
window.timeline.ready = performance.now();  // milliseconds since the page was asked for
