// Line charts of time series, as SVG.
import { h, setText, svg } from './dom.js';
import { clock } from './format.js';

const WIDTH = 600;
const HEIGHT = 160;
const GRID = [0.25, 0.5, 0.75];

/** The next number above of the form 1, 2, 2.5 or 5 times a power of ten, so that the scale is steady. */
function ceiling(value) {
  if (!(value > 0)) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 2.5, 5, 10].find((each) => each * power >= value * 0.9999);
}

/** One path; values that are null are gaps. */
function path(values, top) {
  let text = '';
  let pen = 'M';
  values.forEach((value, index) => {
    if (value === null || value === undefined) {
      pen = 'M';
      return;
    }
    const x = values.length < 2 ? 0 : (index / (values.length - 1)) * WIDTH;
    text += `${pen}${x.toFixed(1)} ${(HEIGHT - (Math.min(value, top) / top) * HEIGHT).toFixed(1)}`;
    pen = 'L';
  });
  return text;
}

/**
 * Makes a chart.
 *   title    above it
 *   format   value => text
 *   series   names, drawn in the colours of the classes line0, line1, ...
 *   top      the value at the top edge; by default what the values need
 * Returns {element, update(times, values)}: dates, and an array of numbers or nulls for each series.
 */
export function lineChart({ title, format, series, top }) {
  let times = [];
  let values = [];
  let scale = 1;
  const paths = series.map((name, index) => svg('path', { class: `line line${index}` }));
  const cross = svg('line', { class: 'cross', y1: 0, y2: HEIGHT, visibility: 'hidden' });
  const picture = svg('svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title },
    GRID.map((share) => svg('line', { class: 'grid', x1: 0, x2: WIDTH, y1: share * HEIGHT, y2: share * HEIGHT })),
    paths, cross);
  const legend = series.map((name, index) => {
    const value = h('b');
    return { value, element: h('span', null, h('i', { class: `key line${index}` }), `${name} `, value) };
  });
  const high = h('span', { class: 'high' });
  const from = h('span');
  const to = h('span');
  const element = h('figure', { class: 'chart' },
    h('figcaption', null, h('b', null, title), h('span', { class: 'legend' }, legend.map((each) => each.element))),
    h('div', { class: 'plot' }, picture, high),
    h('div', { class: 'times' }, from, to));

  function show(index) {
    series.forEach((name, each) => {
      const value = values[each]?.[index];
      setText(legend[each].value, value === null || value === undefined ? '–' : format(value));
    });
  }

  function last() {
    cross.setAttribute('visibility', 'hidden');
    setText(to, times.length ? clock(times.at(-1)) : '');
    show(times.length - 1);
  }

  picture.addEventListener('pointermove', (event) => {
    if (times.length > 1) {
      const box = picture.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      const index = Math.round(share * (times.length - 1));
      const x = (index / (times.length - 1)) * WIDTH;
      cross.setAttribute('x1', x);
      cross.setAttribute('x2', x);
      cross.setAttribute('visibility', 'visible');
      setText(to, clock(times[index]));
      show(index);
    }
  });
  picture.addEventListener('pointerleave', last);

  return {
    element,
    update(newTimes, newValues) {
      times = newTimes;
      values = newValues;
      scale = top ?? ceiling(Math.max(0, ...values.flat().filter((each) => each !== null)));
      paths.forEach((each, index) => each.setAttribute('d', path(values[index], scale)));
      setText(high, format(scale));
      setText(from, times.length ? clock(times[0]) : '');
      last();
      const now = series.map((name, index) => `${name} ${legend[index].value.textContent}`).join(', ');
      picture.setAttribute('aria-label', `${title}, now: ${now}`);
    },
  };
}
