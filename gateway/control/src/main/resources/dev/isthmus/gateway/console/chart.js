// Line charts of time series, as SVG. All charts of a page have one crosshair.
import { h, setText, svg } from './dom.js';
import { clock } from './format.js';

const WIDTH = 600;
const HEIGHT = 160;
/** Where the gridlines are, from the top; the last one is zero. */
const GRID = [0, 0.25, 0.5, 0.75, 1];
/** The charts that share the crosshair. */
const charts = new Set();

/** The next number above of the form 1, 2, 2.5 or 5 times a power of ten, so that the scale is steady. */
function ceiling(value) {
  if (!(value > 0)) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 2.5, 5, 10].find((each) => each * power >= value * 0.9999);
}

/** Where the values are, from 0 to WIDTH. */
function positions(times) {
  const from = times[0]?.getTime();
  const length = Math.max(1, (times.at(-1)?.getTime() ?? 0) - from);
  return times.map((time) => ((time.getTime() - from) / length) * WIDTH);
}

/** One path; values that are null are gaps. */
function path(values, places, top) {
  let text = '';
  let pen = 'M';
  values.forEach((value, index) => {
    if (value === null || value === undefined) {
      pen = 'M';
      return;
    }
    text += `${pen}${places[index].toFixed(1)} ${(HEIGHT - (Math.min(value, top) / top) * HEIGHT).toFixed(1)}`;
    pen = 'L';
  });
  return text;
}

/** Shows the values of all charts at a time; those of now for null. */
function point(time) {
  for (const chart of charts) {
    if (chart.element.isConnected) {
      chart.point(time);
    } else {
      charts.delete(chart);
    }
  }
}

/**
 * Makes a chart.
 *   title    above it
 *   format   value => text with its unit
 *   series   names, drawn in the colours of the classes line0, line1, ...
 *   lines    the numbers of these classes; by default 0, 1, ...
 *   top      the value at the top edge; by default what the values need
 * Returns {element, update(times, values, events)}: dates, an array of numbers or nulls for each series, and
 * [{time, kind, text}], which are marked. Values that never change are a line of text.
 */
export function lineChart({ title, format, series, top, lines = series.map((name, index) => index) }) {
  let times = [];
  let values = [];
  let places = [];
  let flat = false;
  const paths = series.map((name, index) => svg('path', { class: `line line${lines[index]}` }));
  const marks = svg('g');
  const cross = svg('line', { class: 'cross', y1: 0, y2: HEIGHT, visibility: 'hidden' });
  const picture = svg('svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title },
    GRID.map((share) => svg('line', { class: share === 1 ? 'grid zero' : 'grid', x1: 0, x2: WIDTH, y1: share * HEIGHT, y2: share * HEIGHT })),
    marks, paths, cross);
  const legend = series.map((name, index) => {
    const value = h('b');
    return { value, element: h('span', null, h('i', { class: `key line${lines[index]}` }), ` ${name} `, value) };
  });
  const scale = GRID.map(() => h('span'));
  const axis = [h('span'), h('span'), h('span')];
  const at = h('span', { class: 'at quiet' });
  const element = h('figure', { class: 'chart' },
    h('figcaption', null, h('b', null, title), ' ', at, h('span', { class: 'legend' }, legend.map((each) => each.element))),
    h('div', { class: 'plot' }, h('div', { class: 'scale', 'aria-hidden': 'true' }, scale), picture),
    h('div', { class: 'times' }, axis));

  function show(index) {
    series.forEach((name, each) => {
      const value = values[each]?.[index];
      setText(legend[each].value, value === null || value === undefined ? '–' : format(value));
    });
  }

  const chart = {
    element,
    point(time) {
      const index = time === null ? -1 : times.findIndex((each) => each.getTime() >= time);
      cross.setAttribute('visibility', index < 0 ? 'hidden' : 'visible');
      setText(at, index >= 0 && !flat ? `at ${clock(times[index])}` : flat && times.length ? 'unchanged' : '');
      if (index >= 0) {
        cross.setAttribute('x1', places[index]);
        cross.setAttribute('x2', places[index]);
      }
      show(index < 0 ? times.length - 1 : index);
    },
  };

  picture.addEventListener('pointermove', (event) => {
    if (times.length > 1) {
      const box = picture.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      const nearest = places.reduce((best, place, index) =>
        (Math.abs(place - share * WIDTH) < Math.abs(places[best] - share * WIDTH) ? index : best), 0);
      point(times[nearest].getTime());
    }
  });
  picture.addEventListener('pointerleave', () => point(null));

  function mark(events) {
    const from = times[0]?.getTime();
    const length = times.at(-1)?.getTime() - from;
    marks.replaceChildren(...events
      .map((event) => ({ ...event, share: (Date.parse(event.time) - from) / length }))
      .filter((event) => event.share >= 0 && event.share <= 1)
      .map(({ kind, text, time, share }) => svg('line', { class: `mark ${kind}`, x1: share * WIDTH, x2: share * WIDTH, y1: 0, y2: HEIGHT },
        svg('title', null, `${clock(new Date(time))} ${text}`))));
  }

  return {
    element,
    update(newTimes, newValues, events = []) {
      charts.add(chart);
      times = newTimes;
      values = newValues;
      places = positions(times);
      const known = values.flat().filter((each) => each !== null && each !== undefined);
      const most = Math.max(0, ...known);
      flat = known.every((each) => each === known[0]);
      element.classList.toggle('flat', flat);
      const highest = top ?? ceiling(most);
      paths.forEach((each, index) => each.setAttribute('d', path(values[index], places, highest)));
      scale.forEach((each, index) => setText(each, format(highest * (1 - GRID[index]))));
      const middle = times[Math.floor((times.length - 1) / 2)];
      [times[0], middle, times.at(-1)].forEach((time, index) => setText(axis[index], time ? clock(time) : ''));
      mark(events);
      chart.point(null);
      const now = series.map((name, index) => `${name} ${legend[index].value.textContent}`).join(', ');
      picture.setAttribute('aria-label', `${title}, now: ${now}`);
    },
  };
}
