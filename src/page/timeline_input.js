// --- moving about ------------------------------------------------------------------------------------------------------
function setView(from, to) {
  const least = Math.min(end, 20);
  let width = Math.min(end, Math.max(least, to - from));
  from = Math.min(Math.max(0, from), end - width);
  view.from = from;
  view.to = from + width;
  draw();
}
function zoom(factor, around = (view.from + view.to) / 2) {
  const width = Math.min(end, Math.max(Math.min(end, 20), span() * factor));
  const share = (around - view.from) / span();
  setView(around - share * width, around - share * width + width);
}

function barAt(px, py) {
  const y = py + box.scrollTop, t = time(px), slack = 3 / plotWidth() * span();
  if (px < LABELS) return null;
  const row = rows.find((r) => r.kind === 'lane' && y >= r.top && y < r.top + r.height);
  if (!row) return null;
  let best = null, distance = Infinity;
  for (const list of data.runs[row.run].rowBars[row.lane]) {
    for (let i = firstAfter(list, t - slack); i < list.length && list[i].begin <= t + slack; ++i) {
      const at = yOf(list[i]);
      const off = (row.engine && (y < at.top || y > at.top + at.height) ? 1e12 : 0) +
        Math.max(0, list[i].begin - t, t - list[i].end);
      if (off < distance) [best, distance] = [list[i], off];
    }
  }
  return distance < 1e12 ? best : null;
}

function showTip(bar, px, py) {
  if (!bar) {
    tip.hidden = true;
    return;
  }
  const line = (content, faint) => {
    const e = document.createElement('div');
    e.textContent = content;
    if (faint) e.className = 'faint';
    return e;
  };
  const name = document.createElement('b');
  name.textContent = bar.name;
  const lane = laneOf(bar);
  const parts = [name, line(`CTA ${lane[0]}, ${lane[2]}: ${KINDS[bar.kind]}`),
    line(`${text(bar.begin)} to ${text(bar.end)}, ${text(bar.end - bar.begin)}`), line(bar.at, true)];
  if (bar.by) parts.push(line(`released by ${bar.by.name} (CTA ${laneOf(bar.by)[0]}, ${laneOf(bar.by)[2]})`, true));
  if (bar.out.length) parts.push(line(`releases ${bar.out.length} wait${bar.out.length > 1 ? 's' : ''}`, true));
  if (data.runs[bar.run].path.some((s) => s.bar === bar)) parts.push(line('on the critical path', true));
  tip.replaceChildren(...parts);
  tip.hidden = false;
  tip.style.left = Math.min(px + 14, window.innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = (py + 18 + tip.offsetHeight > window.innerHeight ? py - tip.offsetHeight - 10 : py + 18) + 'px';
}

let drag = null;
chart.addEventListener('mousedown', (e) => {
  drag = {x: e.clientX, y: e.clientY, from: view.from, scroll: box.scrollTop, moved: false};
  chart.classList.add('dragging');
});
window.addEventListener('mousemove', (e) => {
  if (drag) {
    if (Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 3) drag.moved = true;
    const width = span(), from = drag.from - (e.clientX - drag.x) / plotWidth() * width;
    box.scrollTop = drag.scroll - (e.clientY - drag.y);
    setView(from, from + width);
    return;
  }
  if (e.target !== chart) {
    if (hovered) {
      hovered = null;
      showTip(null);
      draw();
    }
    return;
  }
  const area = chart.getBoundingClientRect();
  const bar = barAt(e.clientX - area.left, e.clientY - area.top);
  if (bar !== hovered) {
    hovered = bar;
    draw();
  }
  showTip(bar, e.clientX, e.clientY);
});
window.addEventListener('mouseup', (e) => {
  if (drag && !drag.moved && e.target === chart) {
    marked = hovered === marked ? null : hovered;
    draw();
  }
  drag = null;
  chart.classList.remove('dragging');
});
chart.addEventListener('dblclick', () => {
  if (!hovered) return;
  const width = Math.max(20, hovered.end - hovered.begin);
  setView(hovered.begin - width * .1, hovered.end + width * .1);
});
box.addEventListener('wheel', (e) => {
  if (e.ctrlKey || e.metaKey) {
    e.preventDefault();
    zoom(Math.exp(e.deltaY / 300), time(e.clientX - box.getBoundingClientRect().left));
  } else if (e.deltaX || e.shiftKey) {
    e.preventDefault();
    const by = (e.deltaX || e.deltaY) / plotWidth() * span();
    setView(view.from + by, view.to + by);
  }
}, {passive: false});
box.addEventListener('scroll', draw);
new ResizeObserver(draw).observe(box);
window.addEventListener('keydown', (e) => {
  if (e.target.tagName === 'INPUT' && e.target.type !== 'checkbox') return;
  const by = span() * .15;
  const act = {w: () => zoom(.7), s: () => zoom(1 / .7), a: () => setView(view.from - by, view.to - by),
    d: () => setView(view.from + by, view.to + by), f: () => setView(0, end)}[e.key];
  if (act) act();
});
let brush = null;
const overviewTime = (e) => Math.max(0, Math.min(end, (e.clientX - overview.getBoundingClientRect().left - LABELS) /
  plotWidth() * end));
overview.addEventListener('mousedown', (e) => { brush = overviewTime(e); });
window.addEventListener('mousemove', (e) => {
  if (brush === null) return;
  const t = overviewTime(e);
  if (Math.abs(t - brush) > end / 400) setView(Math.min(t, brush), Math.max(t, brush));
});
window.addEventListener('mouseup', (e) => {
  if (brush !== null && e.target === overview && Math.abs(overviewTime(e) - brush) <= end / 400) {
    setView(brush - span() / 2, brush + span() / 2);
  }
  brush = null;
});
$('zoom-in').onclick = () => zoom(.6);
$('zoom-out').onclick = () => zoom(1 / .6);
$('fit').onclick = () => setView(0, end);
$('arrows').onchange = $('critical').onchange = draw;
$('counters').onchange = layOut;
$('ctas').onchange = () => {
  const chosen = parseCtas($('ctas').value);
  if (chosen.size) shown = chosen;
  layOut();
};
$('find').oninput = () => {
  const wanted = $('find').value.trim();
  found = new Set(wanted ? bars.filter((b) => b.kind !== RUN && shown.has(laneOf(b)[0]) &&
    (b.name.includes(wanted) || b.at.includes(wanted))) : []);
  $('found').textContent = wanted ? `${found.size} bars` : '';
  draw();
};

// --- what stands above ---------------------------------------------------------------------------------------------------
function describe() {
  const first = data.runs[0];
  $('title').textContent = `${first.kernel}, ${first.problem}`;
  const parts = data.runs.map((run) => {
    const part = document.createElement('div');
    const strong = (content) => {
      const e = document.createElement('b');
      e.textContent = content;
      return e;
    };
    part.append(`${run.target}: `, strong(text(run.end)), `, times ${run.times}; ${run.ctas.length} CTAs, ` +
      `${run.bars.filter((b) => b[4] !== RUN).length} bars, ${run.arrows.length} arrows`);
    const shares = new Map();
    for (const s of run.path) {
      const lane = laneOf(s.bar);
      const key = lane[3] ? lane[1] : `${lane[1]} ${s.bar.kind === WAIT ? 'waking' : 'running'}`;
      shares.set(key, (shares.get(key) || 0) + s.end - s.begin);
    }
    const total = [...shares.values()].reduce((a, b) => a + b, 0);
    const list = [...shares].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([k, v]) => `${k} ${Math.round(100 * v / total)} %`);
    if (list.length) part.append('. Critical path: ', strong(list.join(', ')));
    return part;
  });
  $('summary').replaceChildren(...parts);
  const legend = [];
  const entry = (style, label) => {
    const e = document.createElement('span'), i = document.createElement('i');
    i.style.cssText = style;
    e.append(i, label);
    legend.push(e);
  };
  const slots = Math.max(0, ...bars.map((b) => b.slot + 1));
  for (let i = 0; i < Math.min(slots, SLOTS.length); ++i) entry(`background:${SLOTS[i]}`, `stage ${i}`);
  entry(`background:repeating-linear-gradient(135deg,#8b98ab 0 1.5px,transparent 1.5px 4px)`, 'wait');
  entry('background:var(--run)', 'run');
  if (bars.some((b) => laneOf(b)[1] === 'tensor core')) entry(`background:${TENSOR}`, 'tensor core');
  entry('background:var(--critical);height:3px;vertical-align:3px', 'critical path');
  $('legend').replaceChildren(...legend);
}

// For scripts and tests: what is shown, and the way to change it.
window.timeline = {
  lanes: () => rows.map((r) => ({kind: r.kind, text: r.text, top: r.top, height: r.height})),
  view: () => ({...view}),
  setView,
  position: (bar) => {
    const at = yOf(bars[bar]), area = chart.getBoundingClientRect();
    return at && {x: area.left + (x(bars[bar].begin) + x(bars[bar].end)) / 2, y: area.top + at.top + at.height / 2 - box.scrollTop};
  },
  bars: () => bars.map((b) => ({name: b.name, kind: KINDS[b.kind], begin: b.begin, end: b.end, lane: laneOf(b)[2], cta: laneOf(b)[0]})),
  arrowsDrawn: () => arrowsDrawn,
};

describe();
const every = [...new Set(data.runs.flatMap((r) => r.ctas))].sort((a, b) => a - b);
// Of many, the pair in which the critical path ends.
const lastOnPath = data.runs[0].path.length ? laneOf(data.runs[0].path.at(-1).bar)[0] : 0, pair = lastOnPath - lastOnPath % 2;
$('ctas').value = data.runs.length > 1 ? '0' : every.length <= 2 ? 'all' : `${pair}-${pair + 1}`;
shown = parseCtas($('ctas').value);
if (!shown.size) shown = new Set(every.slice(0, 2));
layOut();
