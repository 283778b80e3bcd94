// Elements. Texts of clients and servers become text nodes and nothing else.
import { errorKind, percent } from './format.js';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
    } else if (value === true) {
      element.setAttribute(name, '');
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

/** An HTML element: h('a', {href: '#/models', onclick: go}, 'Models'). Children are elements and strings. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/** Sets a text only if it differs, so that selections and screen readers are not disturbed. */
export function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** A state as a word with a colour: kind is good, warn, bad or none. */
export function badge(kind, text) {
  return h('span', { class: `badge ${kind}` }, text);
}

/** A share of errors, coloured by how bad it is. */
export function errorCell(share) {
  return share > 0 ? h('span', { class: errorKind(share) }, percent(share)) : percent(share);
}

/** A part of a page with a heading. */
export function section(title, ...children) {
  return h('section', null, h('h2', null, title), ...children);
}

/** Replaces the children of an element if what they show has changed. Keeps the focus elsewhere. */
export function replaceIfChanged(element, shown, make) {
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  if (element.shown !== text) {
    element.shown = text;
    element.replaceChildren(...[make()].flat(Infinity));
  }
}
