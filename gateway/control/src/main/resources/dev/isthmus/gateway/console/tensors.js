// Outputs of models as tables and images.
import { h } from './dom.js';

const MOST_ROWS = 200;
const MOST_COLUMNS = 64;
const MOST_PIXELS = 1 << 22;

/** A tensor as a table: two dimensions as rows and columns, all others as a list with indexes. */
export function table(output) {
  const data = output.data ?? [];
  const shape = output.shape;
  const wide = shape.length >= 2 ? shape[shape.length - 1] : 1;
  const columns = Math.min(wide, MOST_COLUMNS);
  const rows = wide === 0 ? 0 : Math.min(Math.floor(data.length / wide), MOST_ROWS);
  const cut = rows * columns < data.length;
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Table of ${output.name}` },
    h('table', { class: 'tensor' },
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Index'), Array.from({ length: columns }, (_, column) => h('th', { scope: 'col', class: 'number' }, wide === 1 ? 'Value' : String(column))))),
      h('tbody', null, Array.from({ length: rows }, (_, row) => h('tr', null,
        h('th', { scope: 'row' }, index(row, shape.length >= 2 ? shape.slice(0, -1) : shape)),
        Array.from({ length: columns }, (_ignored, column) => h('td', { class: 'number' }, text(data[row * wide + column]))))))),
    cut ? h('p', { class: 'quiet' }, `The first ${rows} rows and ${columns} columns of ${data.length} elements.`) : null);
}

function text(value) {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function index(row, shape) {
  const all = [];
  let rest = row;
  for (let at = shape.length - 1; at >= 0; at--) {
    all.unshift(shape[at] ? rest % shape[at] : 0);
    rest = shape[at] ? Math.floor(rest / shape[at]) : 0;
  }
  return all.join(', ') || '0';
}

/** A tensor as an image; null if it is none. */
export function image(output) {
  const data = output.data ?? [];
  if (output.datatype === 'BYTES') {
    return encoded(output, data[0]);
  }
  const shape = [...output.shape];
  while (shape.length > 2 && shape[0] === 1) {
    shape.shift();
  }
  const [height, width, channels, planar] = layout(shape);
  if (!height || height * width > MOST_PIXELS || height < 2 || width < 2) {
    return null;
  }
  const values = data.map(Number);
  let least = 0;
  let most = 255;
  if (output.datatype !== 'UINT8') {
    const finite = values.filter(Number.isFinite);
    least = finite.reduce((a, b) => Math.min(a, b), Infinity);
    most = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  }
  const scale = most > least ? 255 / (most - least) : 0;
  const pixels = new ImageData(width, height);
  for (let at = 0; at < height * width; at++) {
    const of = (channel) => (values[planar ? channel * height * width + at : at * channels + channel] - least) * scale;
    const colour = channels >= 3 ? [of(0), of(1), of(2)] : [of(0), of(0), of(0)];
    pixels.data.set([...colour, channels === 4 ? of(3) : 255], at * 4);
  }
  const canvas = h('canvas', { width, height, role: 'img', 'aria-label': `Image of ${output.name}, ${width} by ${height}` });
  canvas.getContext('2d').putImageData(pixels, 0, 0);
  return canvas;
}

/** Height, width, channels, and whether these come first. */
function layout(shape) {
  const channels = [1, 3, 4];
  if (shape.length === 2) {
    return [shape[0], shape[1], 1, false];
  }
  if (shape.length === 3 && channels.includes(shape[2])) {
    return [shape[0], shape[1], shape[2], false];
  }
  return shape.length === 3 && channels.includes(shape[0]) ? [shape[1], shape[2], shape[0], true] : [];
}

/** A PNG or JPEG in base64. */
function encoded(output, value) {
  const type = /^iVBORw0KGgo/.test(value) ? 'image/png' : /^\/9j\//.test(value) ? 'image/jpeg' : null;
  return type && h('img', { src: `data:${type};base64,${value}`, alt: `Image of ${output.name}` });
}
