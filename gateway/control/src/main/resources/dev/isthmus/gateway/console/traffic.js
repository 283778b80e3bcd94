// The traffic of one model, target, server or caller.
import { get, poll } from './api.js';
import { lineChart } from './chart.js';
import { h, replaceIfChanged, setText } from './dom.js';
import { duration, errorShare, percent, rate } from './format.js';
import { eventList, rangeField } from './range.js';
import { setState, state } from './state.js';

const REFRESH = 5_000;
/** What stands for all that are not among the busiest; no name is empty. */
const REST = '';

const durations = { title: 'Duration of successful calls', format: duration, series: ['p50', 'p95', 'p99'], of: (d) => [d.p50, d.p95, d.p99] };
const callErrors = {
  title: 'Errors, share of calls', format: percent, series: ['by servers', 'by clients'], lines: [1, 2], of: (d) => [shares(d.server_errors, d.rate), shares(d.client_errors, d.rate)],
};
const calls = { title: 'Calls and errors per second', format: rate, series: ['calls', 'server errors', 'client errors'], of: (d) => [d.rate, d.server_errors, d.client_errors] };

/** What can be chosen, and the charts of each. */
const KINDS = {
  model: { title: 'Model', charts: [calls, callErrors, durations], link: (name) => `#/models?${query({ search: name })}` },
  target: {
    title: 'Target or version', owner: 'of model', charts: [calls, callErrors, durations], link: (name, of) => `#/models?${query({ search: of, open: of })}`,
    hint: 'Durations of a target are measured while its route has a ramp.',
  },
  server: {
    title: 'Server', owner: 'of upstream', link: (name, of) => `#/servers?${query({ search: `${of} ${name}` })}`,
    charts: [
      { title: 'Attempts and errors per second', format: rate, series: ['attempts', '5xx', 'no response'], of: (d) => [d.rate, d.server_errors, d.no_response] },
      { title: 'Errors, share of attempts', format: percent, series: ['5xx', 'no response'], lines: [1, 2], of: (d) => [shares(d.server_errors, d.rate), shares(d.no_response, d.rate)] },
      { title: 'Mean time to the first response', format: duration, series: ['mean'], of: (d) => [d.mean] },
    ],
  },
  caller: {
    title: 'Caller',
    charts: [
      { title: 'Calls and errors per second', format: rate, series: ['calls', 'all errors', 'over a limit'], of: (d) => [d.rate, d.errors, d.limited] },
      { title: 'Errors, share of calls', format: percent, series: ['all errors', 'over a limit'], lines: [1, 2], of: (d) => [shares(d.errors, d.rate), shares(d.limited, d.rate)] },
      durations,
    ],
    hint: 'Only authenticated callers are known. Durations are those of inferences.',
  },
};

function query(fields) {
  return new URLSearchParams(fields);
}

/** The share of each value; unknown without calls. */
function shares(errors, all) {
  return errors.map((each, index) => errorShare(each, all[index]) ?? null);
}

export function mount(page) {
  const given = state();
  const kind = h('select', { 'aria-label': 'What', onchange: changeKind },
    Object.entries(KINDS).map(([each, { title }]) => h('option', { value: each, selected: each === given.get('kind') }, title)));
  const subject = h('select', { 'aria-label': 'Which', 'aria-keyshortcuts': '/', onchange: changeSubject });
  const range = rangeField(() => polling.now());
  const events = eventList();
  const about = h('p', { class: 'quiet', role: 'status' }, ' ');
  const area = h('div', { class: 'charts' });
  page.append(h('p', { class: 'filter subject' }, kind, subject, range.element), about, area, events.element);
  let wanted = given.has('name') ? { of: given.get('of') ?? '', name: given.get('name') } : undefined;
  let charts = [];
  makeCharts();

  function makeCharts() {
    charts = KINDS[kind.value].charts.map((each) => ({ of: each.of, chart: lineChart(each) }));
    area.replaceChildren(...charts.map(({ chart }) => chart.element));
    area.hidden = true;
  }

  function changeKind() {
    wanted = undefined;
    makeCharts();
    subject.replaceChildren();
    subject.shown = undefined;
    setState({ kind: kind.value, of: '', name: '' });
    polling.now();
  }

  function changeSubject() {
    wanted = JSON.parse(subject.value);
    setState({ kind: kind.value, of: wanted.of, name: wanted.name });
    area.hidden = true;
    polling.now();
  }

  function named({ of, name }) {
    return name === REST ? 'All others together' : of ? `${name} ${KINDS[kind.value].owner} ${of}` : name;
  }

  function ask({ of, name }) {
    return get(`/console/traffic?${query({ kind: kind.value, of, name, minutes: range.minutes() })}`);
  }

  async function load() {
    const asked = kind.value;
    let document = await ask(wanted ?? { of: '', name: REST });
    if (!wanted && document.subjects.length > 0) {
      [wanted] = document.subjects;
      document = await ask(wanted);
    }
    return { asked, chosen: wanted ?? { of: '', name: REST }, document, found: await get('/problems') };
  }

  function options(document, chosen) {
    const all = [...document.subjects, { of: '', name: REST }];
    if (!all.some((each) => each.of === chosen.of && each.name === chosen.name)) {
      all.unshift(chosen);
    }
    replaceIfChanged(subject, all, () => all.map((each) => h('option', { value: JSON.stringify(each) }, named(each))));
    subject.value = JSON.stringify({ of: chosen.of, name: chosen.name });
  }

  function describe(document, chosen) {
    const { title, link, hint } = KINDS[kind.value];
    if (document.subjects.length === 0) {
      return [`No ${title.toLowerCase()} has had a call since the start. `, hint];
    }
    if (!document.found) {
      return [`${named(chosen)} is not among the ${document.most_subjects} with the most calls: it is a part of all others. `, hint];
    }
    const more = link && chosen.name !== REST ? [h('a', { href: link(chosen.name, chosen.of) }, 'Details'), '. '] : [];
    return [...more, `Each value is that of ${duration(document.interval_seconds)}. `, hint];
  }

  function show({ asked, chosen, document, found }) {
    if (asked !== kind.value || (wanted && wanted !== chosen)) {
      // Another one was chosen meanwhile.
      setTimeout(polling.now);
      return;
    }
    options(document, chosen);
    range.link(document.dashboards);
    replaceIfChanged(about, [kind.value, chosen, document.found, document.subjects.length, document.interval_seconds],
      () => describe(document, chosen).filter(Boolean));
    const marks = events.update(found, range.minutes());
    const times = document.times.map((time) => new Date(time));
    area.hidden = !document.found;
    if (document.found) {
      charts.forEach(({ of, chart }) => chart.update(times, of(document), marks));
    }
  }

  setText(about, 'Loading');
  const polling = poll(REFRESH, load, show);
  return polling;
}
