// --- drawing -----------------------------------------------------------------------------------------------------------
const FEW_ARROWS = 160, MOST_ARROWS = 1500;
let picture = null;  // the overview without its frame
let pending = false;
let ink = {};
const patterns = new Map();

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['text', 'faint', 'line', 'band', 'run', 'critical', 'back', 'work', 'range']) {
    ink[name] = style.getPropertyValue('--' + name).trim();
  }
  patterns.clear();
  picture = null;
}
const colourOf = (tone) => tone >= tones.slotWait ? SLOTS[tone - tones.slotWait] : tone >= tones.slot ? SLOTS[tone - tones.slot] :
  [ink.run, ink.faint, ink.work, TENSOR][tone];
const waits = (tone) => tone === tones.wait || tone >= tones.slotWait;

// At most once a frame, however often something changes.
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(flush);
}
function flush() {
  if (!pending) return;
  pending = false;
  draw();
}

function canvas(element, width, tall) {
  const scale = window.devicePixelRatio || 1;
  if (element.width !== Math.round(width * scale) || element.height !== Math.round(tall * scale)) {
    element.width = Math.round(width * scale);
    element.height = Math.round(tall * scale);
    element.style.width = width + 'px';  // the page is wider by the scroll bar
    element.style.height = tall + 'px';
  }
  const g = element.getContext('2d');
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, tall);
  g.font = '11px system-ui, "DejaVu Sans", sans-serif';
  g.textBaseline = 'middle';
  return g;
}

// Waits are hatched, everything else is filled.
function paint(g, tone) {
  const colour = colourOf(tone);
  if (!waits(tone)) return colour;
  if (!patterns.has(tone)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const p = tile.getContext('2d');
    p.globalAlpha = .22;
    p.fillStyle = p.strokeStyle = colour;
    p.fillRect(0, 0, 6, 6);
    p.globalAlpha = .45;
    p.lineWidth = 1.2;
    p.beginPath();
    p.moveTo(-1, 7); p.lineTo(7, -1);
    p.moveTo(-1, 1); p.lineTo(1, -1);
    p.moveTo(5, 7); p.lineTo(7, 5);
    p.stroke();
    patterns.set(tone, g.createPattern(tile, 'repeat'));
  }
  return patterns.get(tone);
}

// As much of a name as there is room for: all of it, without its phase, its beginning with an ellipsis, or nothing.
const widths = new Map();
function widthOf(g, name) {
  if (!widths.has(name)) widths.set(name, g.measureText(name).width);
  return widths.get(name);
}
function fitted(g, name, room) {
  if (widthOf(g, name) <= room) return name;
  const plain = name.replace(/ phase -?\d+$/, ''), wide = widthOf(g, plain);
  if (wide <= room) return plain;
  const letters = Math.floor(plain.length * room / wide) - 1;
  return letters < 3 ? '' : plain.slice(0, letters) + '…';
}

// One row of bars between two times; where there are more of them than pixels, slices of time.
function drawRow(g, row, from, to, at, pixel, top, tall, named) {
  const list = row.bars, first = firstAfter(list, from);
  const last = firstThat(list.length, (i) => bars.begin[list[i]] > to);
  if (last - first > (to - from) / pixel) {
    const level = Math.max(0, Math.floor(Math.log2(pixel))), width = 2 ** level, {tone, cover} = mip(row, level);
    const stop = Math.min(tone.length, Math.ceil(to / width));
    for (let s = Math.max(0, Math.floor(from / width)); s < stop;) {
      let next = s + 1;
      while (next < stop && tone[next] === tone[s] && Math.abs(cover[next] - cover[s]) < 32) ++next;
      if (cover[s]) {
        g.globalAlpha = .3 + .7 * cover[s] / 255;
        g.fillStyle = paint(g, tone[s]);
        g.fillRect(at(s * width), top, at(next * width) - at(s * width), tall);
        drawn.slices += named;
      }
      s = next;
    }
    g.globalAlpha = 1;
    return;
  }
  for (let i = first; i < last; ++i) {
    const bar = list[i], left = at(bars.begin[bar]), width = at(bars.end[bar]) - left, tone = toneOf(bar);
    g.fillStyle = paint(g, tone);
    g.fillRect(left, top, Math.max(width, .6), tall);
    drawn.bars += named;
    if (named && width > 24 && tall >= 11) {
      const start = Math.max(left, LABELS) + 4, name = fitted(g, labelOf(bar).short, left + width - 3 - start);
      if (name) {
        g.fillStyle = waits(tone) || tone === tones.run ? ink.text : '#ffffff';
        g.fillText(name, start, top + tall / 2 + .5);
      }
    }
  }
}

function frame(g, bar, width) {
  const at = bar >= 0 && yOf(bar);
  if (!at) return;
  g.strokeStyle = ink.text;
  g.lineWidth = width;
  g.strokeRect(x(bars.begin[bar]), at.top, Math.max(x(bars.end[bar]) - x(bars.begin[bar]), 1.5), at.height);
}

function draw() {
  const started = performance.now();
  const width = box.clientWidth, tall = box.clientHeight, scroll = box.scrollTop;
  drawn.bars = drawn.slices = drawn.arrows = 0;
  const g = canvas(chart, width, tall);
  chart.style.marginBottom = -tall + 'px';
  g.translate(0, -scroll);
  const inSight = rowsBetween(scroll, scroll + tall);
  for (const row of inSight) {
    if (row.kind !== 'head' && row.kind !== 'run') continue;
    g.fillStyle = ink.band;
    g.fillRect(0, row.top, width, row.height);
  }
  g.save();
  g.beginPath();
  g.rect(LABELS, scroll, width - LABELS, tall);
  g.clip();
  g.fillStyle = ink.line;
  for (const t of ticks()) g.fillRect(Math.round(x(t)), scroll, 1, tall);
  g.font = '10.5px system-ui, "DejaVu Sans", sans-serif';
  for (const row of inSight) {
    if (row.kind === 'counter') drawCounter(g, row);
    if (row.kind !== 'lane') continue;
    const lane = lanes[row.lane], step = thin(lane);
    lane.rows.forEach((list, i) => drawRow(g, list, view.from, view.to, x, span() / plotWidth(),
      row.top + (row.engine ? 2 + i * step : 3), row.engine ? step - 1 : LANE - 6, true));
  }
  if (matching) drawMatches(g, inSight);
  if ($('critical').checked) drawCritical(g);
  drawArrows(g, inSight);
  frame(g, hovered, 1.2);
  frame(g, marked, 2);
  if (range) {
    g.fillStyle = ink.range;
    g.globalAlpha = .16;
    g.fillRect(x(range.from), scroll, x(range.to) - x(range.from), tall);
    g.globalAlpha = 1;
    for (const t of [range.from, range.to]) g.fillRect(x(t) - .5, scroll, 1, tall);
  }
  g.restore();
  drawRuler();
  drawOverview();
  drawn.milliseconds = performance.now() - started;
}

// Where matches would fall on each other, the first is framed and those within a pixel of it are skipped.
function drawMatches(g, inSight) {
  const pixel = span() / plotWidth();
  g.strokeStyle = ink.text;
  g.lineWidth = 1.2;
  g.beginPath();
  for (const row of inSight) {
    if (row.kind !== 'lane') continue;
    for (const {bars: list} of lanes[row.lane].rows) {
      for (let i = firstAfter(list, view.from); i < list.length && bars.begin[list[i]] <= view.to;) {
        const bar = list[i];
        if (!matching[bars.label[bar]]) {
          ++i;
          continue;
        }
        const at = yOf(bar), left = x(bars.begin[bar]);
        g.rect(left, at.top, Math.max(x(bars.end[bar]) - left, 1), at.height);
        const next = Math.max(bars.end[bar], bars.begin[bar] + pixel);
        i = Math.max(i + 1, firstThat(list.length, (k) => bars.begin[list[k]] >= next));
      }
    }
  }
  g.stroke();
}

function drawCounter(g, row) {
  const {most, times, values} = row.counter;
  const base = row.top + row.height - 3, unit = (row.height - 8) / Math.max(1, most);
  const first = Math.max(0, firstThat(times.length, (i) => times[i] > view.from) - 1);
  const tone = row.text.startsWith('tensor') || row.text.startsWith('MFMA') ? TENSOR : SLOTS[0];
  g.beginPath();
  g.moveTo(x(view.from), base);
  let value = times[first] <= view.from ? values[first] : 0, last = -1;
  for (let i = first; i < times.length && times[i] <= view.to; ++i) {
    const at = x(Math.max(times[i], view.from));
    // Within a pixel only the highest and the last change are drawn.
    if (at - last > .5 || values[i] > value) {
      g.lineTo(at, base - value * unit);
      g.lineTo(at, base - values[i] * unit);
      last = at;
    }
    value = values[i];
  }
  const right = x(Math.min(view.to, end));
  g.lineTo(right, base - value * unit);
  g.lineTo(right, base);
  g.closePath();
  g.globalAlpha = .25;
  g.fillStyle = g.strokeStyle = tone;
  g.fill();
  g.globalAlpha = 1;
  g.lineWidth = 1;
  g.stroke();
  const label = `max ${most}`;
  g.globalAlpha = .75;
  g.fillStyle = ink.back;
  g.fillRect(x(view.from) + 1, row.top + 3, g.measureText(label).width + 6, 13);
  g.globalAlpha = 1;
  g.fillStyle = ink.faint;
  g.fillText(label, x(view.from) + 4, row.top + 9);
}

function drawCritical(g) {
  g.strokeStyle = ink.critical;
  for (const run of data.runs) {
    const path = run.path;
    const first = firstThat(path.length, (s) => path[s].end >= view.from);
    const stop = firstThat(path.length, (s) => path[s].begin > view.to);
    // Where the path changes lanes every few pixels, lines between the lanes would hide everything.
    let changes = 0;
    for (let i = first + 1; i < stop; ++i) changes += bars.lane[path[i].bar] !== bars.lane[path[i - 1].bar];
    const jumps = changes < plotWidth() / 7;
    let before = null, last = -10;
    g.lineWidth = jumps ? 2.2 : 1.5;
    g.beginPath();
    for (let i = first; i < stop; ++i) {
      const step = path[i], at = yOf(step.bar), y = at && at.top + at.height, right = x(step.end);
      if (at && (right - last > .5 || y !== before)) {
        if (before !== null && jumps) {
          g.moveTo(x(step.begin), before);
          g.lineTo(x(step.begin), y);
        } else {
          g.moveTo(x(step.begin), y);
        }
        g.lineTo(right, y);
        last = right;
      }
      before = y;
    }
    g.stroke();
  }
}

function drawArrows(g, inSight) {
  const mode = $('arrows').value, focus = hovered >= 0 ? hovered : marked;
  const arrows = new Map();  // by the bar they lead to: at most one arrow leads to a bar
  const add = (to) => { if (bars.by[to] >= 0 && yOf(to) && yOf(bars.by[to])) arrows.set(to, bars.by[to]); };
  const most = mode === 'all' ? MOST_ARROWS : mode === 'auto' ? FEW_ARROWS : 0;
  for (const row of inSight) {
    if (row.kind !== 'lane' || arrows.size > most || !most) continue;
    for (const {bars: list} of lanes[row.lane].rows) {
      for (let i = firstAfter(list, view.from); i < list.length && bars.begin[list[i]] <= view.to && arrows.size <= most; ++i) {
        add(list[i]);
        for (let o = bars.outs[list[i]]; o < bars.outs[list[i] + 1]; ++o) add(bars.out[o]);
      }
    }
  }
  if (mode === 'auto' && arrows.size > FEW_ARROWS) arrows.clear();
  if (focus >= 0) {
    add(focus);
    for (let o = bars.outs[focus]; o < bars.outs[focus + 1]; ++o) add(bars.out[o]);
  }
  for (const [to, from] of arrows) {
    const a = yOf(from), b = yOf(to), near = from === focus || to === focus;
    const x0 = x(bars.end[from]), y0 = a.top + a.height / 2, x1 = x(bars.end[to]), y1 = b.top + b.height / 2;
    ++drawn.arrows;
    g.strokeStyle = g.fillStyle = near ? ink.text : ink.faint;
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
  return times;
}

function drawRuler() {
  const g = canvas(ruler, box.clientWidth, 24);
  g.fillStyle = ink.faint;
  g.fillText('time since the launch', 10, 13);
  g.save();
  g.beginPath();
  g.rect(LABELS, 0, plotWidth(), 24);
  g.clip();
  for (const t of ticks()) {
    g.fillRect(Math.round(x(t)), 16, 1, 8);
    g.fillText(text(t), x(t) + 4, 12);
  }
  if (range) {
    const left = x(range.from), right = x(range.to), label = text(range.to - range.from);
    g.fillStyle = ink.range;
    g.fillRect(left, 0, right - left, 24);
    const wide = g.measureText(label).width;
    const at = Math.max(LABELS + 4, Math.min(box.clientWidth - wide - 4, (Math.max(left, LABELS) + Math.min(right, box.clientWidth)) / 2 - wide / 2));
    g.fillRect(at - 5, 1, wide + 10, 22);
    g.fillStyle = '#ffffff';
    g.fillText(label, at, 12);
  }
  g.restore();
}

function drawOverview() {
  const width = box.clientWidth, tall = 46, g = canvas(overview, width, tall);
  const at = (t) => LABELS + t / end * plotWidth(), scale = window.devicePixelRatio || 1;
  if (!picture || picture.width !== overview.width) {
    picture = document.createElement('canvas');
    picture.width = overview.width;
    picture.height = overview.height;
    const p = picture.getContext('2d');
    p.scale(scale, scale);
    const every = [];
    for (const row of rows) if (row.kind === 'lane') every.push(...lanes[row.lane].rows.slice(0, 4));
    // No more rows than there is room for: those in between are left out.
    const count = Math.min(every.length, 40);
    for (let i = 0; i < count; ++i) {
      drawRow(p, every[Math.floor(i * every.length / count)], 0, end, at, end / plotWidth(), 3 + i * 40 / count,
        Math.max(.6, 40 / count - .3), false);
    }
  }
  g.fillStyle = ink.faint;
  g.fillText('the whole launch', 10, 24);
  g.drawImage(picture, 0, 0, width, tall);
  g.globalAlpha = .16;
  g.fillStyle = ink.text;
  g.fillRect(LABELS, 0, at(view.from) - LABELS, tall);
  g.fillRect(at(view.to), 0, width - at(view.to), tall);
  g.globalAlpha = 1;
  g.strokeStyle = ink.critical;
  g.strokeRect(at(view.from), .5, Math.max(2, at(view.to) - at(view.from) - .5), tall - 1);
}
