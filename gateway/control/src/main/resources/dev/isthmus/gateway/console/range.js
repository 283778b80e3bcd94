// The range of charts: how long it is, and what has happened in it.
import { h, replaceIfChanged } from './dom.js';
import { clock } from './format.js';
import { setState, state } from './state.js';

/** Ranges of charts, in minutes. */
const RANGES = { 15: '15 minutes', 60: '1 hour', 180: '3 hours', 360: '6 hours' };

/**
 * A field for the range, which is in the address, and a link to dashboards, which have longer ones. Returns {element,
 * minutes(), link(url)}.
 */
export function rangeField(changed) {
  const field = h('select', { 'aria-label': 'Range of the charts', onchange: change },
    Object.entries(RANGES).map(([minutes, text]) => h('option', { value: minutes, selected: minutes === state().get('minutes') }, text)));

  function change() {
    setState({ minutes: field.value === '15' ? '' : field.value });
    changed();
  }

  const dashboards = h('span');
  return {
    element: h('span', null, h('label', null, 'Last ', field), dashboards),
    minutes: () => Number(field.value),
    link: (url) => replaceIfChanged(dashboards, url ?? '', () => (/^https?:/.test(url ?? '') ? [' ', h('a', { href: url }, 'Dashboards')] : [])),
  };
}

/** A list of events: reloads, ramps, servers. Returns {element, update(document, minutes)}; update returns those of the range. */
export function eventList() {
  const element = h('ul', { class: 'plain events', 'aria-label': 'Events' });
  return {
    element,
    update({ time, events }, minutes) {
      const from = Date.parse(time) - 60_000 * minutes;
      const shown = events.filter((event) => Date.parse(event.time) >= from);
      replaceIfChanged(element, shown, () => shown.map((event) => h('li', null,
        h('i', { class: `key mark ${event.kind}` }), ` ${clock(new Date(event.time))} ${event.text}`)).reverse());
      return shown;
    },
  };
}
