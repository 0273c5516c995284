// --- pointer and keys ------------------------------------------------------------------------------------------------------
function barAt(px, py) {
  const y = py + box.scrollTop, t = time(px), slack = 3 / plotWidth() * span();
  if (px < LABELS) return -1;
  const row = rowsBetween(y, y).find((r) => r.kind === 'lane' && y >= r.top && y < r.top + r.height);
  if (!row) return -1;
  let best = -1, distance = Infinity;
  const lane = lanes[row.lane], step = thin(lane);
  lane.rows.forEach(({bars: list}, i) => {
    const top = row.top + 2 + i * step;
    if (row.engine && (y < top || y > top + step - 1)) return;
    for (let k = firstAfter(list, t - slack); k < list.length && bars.begin[list[k]] <= t + slack; ++k) {
      const off = Math.max(0, bars.begin[list[k]] - t, t - bars.end[list[k]]);
      if (off < distance) [best, distance] = [list[k], off];
    }
  });
  return best;
}

// What there is to say about a bar: its name, where it is, when, and what it has to do with others.
function story(bar) {
  const label = labelOf(bar), lane = laneOf(bar), by = bars.by[bar], outs = bars.outs[bar + 1] - bars.outs[bar];
  const word = data.runs[lane.run].block, lines = [];
  if (by >= 0) lines.push(`released by ${labelOf(by).name} (${word} ${laneOf(by).cta}, ${laneOf(by).name})`);
  if (outs) lines.push(`releases ${outs} wait${outs > 1 ? 's' : ''}`);
  if (bars.critical[bar]) lines.push('on the critical path');
  return {name: label.name, place: `${word} ${lane.cta}, ${lane.name}: ${KINDS[label.kind]}`,
    time: `${text(bars.begin[bar])} to ${text(bars.end[bar])}, ${text(bars.end[bar] - bars.begin[bar])}`,
    meaning: label.meaning, at: label.at, lines};
}
function showTip(bar, px, py) {
  tip.hidden = bar < 0;
  if (bar < 0) return;
  const about = story(bar);
  const faint = (content) => {
    const e = make('div', content);
    e.className = 'faint';
    return e;
  };
  tip.replaceChildren(make('b', about.name), make('div', about.place), make('div', about.time),
    ...(about.meaning ? [make('div', about.meaning)] : []), faint(about.at), ...about.lines.map(faint));
  tip.style.left = Math.min(px + 14, window.innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = (py + 18 + tip.offsetHeight > window.innerHeight ? py - tip.offsetHeight - 10 : py + 18) + 'px';
}
// The line below the chart, about the bar that is marked.
function tellMark() {
  const line = $('mark');
  line.hidden = marked < 0;
  if (marked < 0) return;
  const about = story(marked), part = (...content) => {
    const e = make('span');
    e.append(...content);
    return e;
  };
  line.replaceChildren(part(make('b', about.name)), ...[about.place, about.time, about.at, ...about.lines].filter(Boolean).map((l) => part(l)));
  line.title = line.textContent;
}

// A line under the pointer through all lanes, with its time.
function showCursor(e) {
  const cursor = $('cursor'), area = chart.getBoundingClientRect(), top = ruler.getBoundingClientRect().top;
  const on = (e.target === chart || e.target === ruler) && e.clientX - area.left >= LABELS;
  cursor.hidden = !on;
  if (!on) return;
  cursor.style.cssText = `left:${e.clientX}px;top:${top}px;height:${box.getBoundingClientRect().bottom - top}px`;
  cursor.firstElementChild.textContent = text(timeAt(e));
  cursor.className = e.clientX > window.innerWidth - 100 ? 'left' : '';
}

const within = (t) => Math.max(0, Math.min(end, t));
const timeAt = (e) => within(time(e.clientX - chart.getBoundingClientRect().left));
let drag = null, measure = null, brush = null;
function setRange(from, to) {
  range = from === to ? null : {from: Math.min(from, to), to: Math.max(from, to)};
  tellRange();
  redraw();
}
function hover(bar, e) {
  if (bar !== hovered) {
    hovered = bar;
    redraw();
  }
  showTip(bar, e.clientX, e.clientY);
}

chart.addEventListener('mousedown', (e) => {
  if (e.shiftKey) {
    measure = timeAt(e);
    e.preventDefault();
    return;
  }
  drag = {x: e.clientX, y: e.clientY, from: view.from, scroll: box.scrollTop, moved: false};
  chart.classList.add('dragging');
});
ruler.addEventListener('mousedown', (e) => {
  measure = timeAt(e);
  e.preventDefault();
});
const overviewTime = (e) => within((e.clientX - overview.getBoundingClientRect().left - LABELS) / plotWidth() * end);
overview.addEventListener('mousedown', (e) => { brush = overviewTime(e); });
window.addEventListener('mousemove', (e) => {
  showCursor(e);
  if (measure !== null) {
    if (Math.abs(timeAt(e) - measure) / span() * plotWidth() > 2) setRange(measure, timeAt(e));
  } else if (brush !== null) {
    const t = overviewTime(e);
    if (Math.abs(t - brush) > end / 400) setView(Math.min(t, brush), Math.max(t, brush));
  } else if (drag) {
    if (Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 3) drag.moved = true;
    const width = span(), from = drag.from - (e.clientX - drag.x) / plotWidth() * width;
    box.scrollTop = drag.scroll - (e.clientY - drag.y);
    setView(from, from + width);
  } else if (e.target === chart) {
    const area = chart.getBoundingClientRect();
    hover(barAt(e.clientX - area.left, e.clientY - area.top), e);
  } else if (hovered >= 0) {
    hover(-1, e);
  }
});
window.addEventListener('mouseup', (e) => {
  if (measure !== null && Math.abs(timeAt(e) - measure) / span() * plotWidth() <= 2) setRange(0, 0);
  if (brush !== null && e.target === overview && Math.abs(overviewTime(e) - brush) <= end / 400) {
    setView(brush - span() / 2, brush + span() / 2);
  }
  if (drag && !drag.moved && e.target === chart) {
    mark(hovered === marked ? -1 : hovered);
  }
  drag = measure = brush = null;
  chart.classList.remove('dragging');
});
chart.addEventListener('dblclick', () => {
  if (hovered < 0) return;
  const width = Math.max(LEAST, bars.end[hovered] - bars.begin[hovered]);
  setView(bars.begin[hovered] - width * .1, bars.end[hovered] + width * .1);
});
// Over the names the wheel scrolls, as on any page; over the bars it zooms, with shift or sideways it moves.
box.addEventListener('wheel', (e) => {
  const at = e.clientX - box.getBoundingClientRect().left;
  if (at < LABELS) return;
  e.preventDefault();
  if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / plotWidth());
  else zoom(Math.exp(e.deltaY / 300), time(at));
}, {passive: false});
box.addEventListener('scroll', redraw);
new ResizeObserver(redraw).observe(box);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  readColours();
  redraw();
});

const scrollRows = (by) => { box.scrollTop += by; };
const KEYS = {
  w: () => zoom(.7), '+': () => zoom(.7), '=': () => zoom(.7), s: () => zoom(1 / .7), '-': () => zoom(1 / .7), '_': () => zoom(1 / .7),
  a: () => pan(-.15), ArrowLeft: () => pan(-.15), d: () => pan(.15), ArrowRight: () => pan(.15),
  ArrowUp: () => scrollRows(-3 * LANE), ArrowDown: () => scrollRows(3 * LANE),
  PageUp: () => scrollRows(-box.clientHeight), PageDown: () => scrollRows(box.clientHeight),
  f: fit, Home: fit, 0: () => setView(0, end),
  z: () => range && setView(range.from, range.to),
  '/': () => $('find').focus(), n: () => nextMatch(1), N: () => nextMatch(-1), Enter: () => nextMatch(1),
  '[': () => marked >= 0 && visit(bars.by[marked]), ']': () => marked >= 0 && visit(bars.out.subarray(bars.outs[marked], bars.outs[marked + 1])[0]),
  ',': () => marked >= 0 && visit(neighbour(marked, -1)), '.': () => marked >= 0 && visit(neighbour(marked, 1)),
  Escape: () => {
    mark(-1);
    setRange(0, 0);
  },
};
window.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const tag = e.target.tagName;
  if (tag === 'SELECT' || (tag === 'INPUT' && e.target.type !== 'checkbox')) return;
  // On what can be pressed Enter presses.
  if (e.key === 'Enter' && (tag === 'BUTTON' || tag === 'SUMMARY')) return;
  if (!KEYS[e.key]) return;
  e.preventDefault();
  KEYS[e.key]();
});
$('find').addEventListener('keydown', (e) => {
  if (e.key === 'Enter') nextMatch(e.shiftKey ? -1 : 1);
  if (e.key === 'Escape') {
    $('find').value = '';
    find('');
    $('find').blur();
  }
});
$('find').oninput = () => find($('find').value.trim());
$('zoom-in').onclick = () => zoom(.6);
$('zoom-out').onclick = () => zoom(1 / .6);
$('fit').onclick = fit;
$('arrows').onchange = $('critical').onchange = redraw;
$('counters').onchange = layOut;
$('where').ontoggle = redraw;
$('ctas').addEventListener('keydown', (e) => { if (e.key === 'Enter') $('ctas').blur(); });  // keys are the chart's again
$('ctas').onchange = () => {
  const chosen = parseCtas($('ctas').value);
  if (chosen.size) shown = chosen;
  layOut();
  find($('find').value.trim());
  tellRange();
};
