// What is wrong now, the state of the gateway, and its traffic of the last minutes or hours.
import { get, lastErrors, poll } from './api.js';
import { lineChart } from './chart.js';
import { badge, h, replaceIfChanged, setText } from './dom.js';
import { ago, bytes, duration, errorKind, errorShare, number, percent, plural, rate } from './format.js';
import { problemList } from './problems.js';
import { eventList, rangeField } from './range.js';

const REFRESH = 2_500;

function card(title, about) {
  const figure = h('span', { class: 'figure' }, '–');
  const more = h('span', { class: 'quiet' }, about);
  return { figure, more, element: h('div', { class: 'card' }, h('span', { class: 'quiet' }, title), figure, more) };
}

function reloadText(reload) {
  if (!reload) {
    return 'none since the start';
  }
  return reload.applied ? `applied ${ago(reload.time)}` : `rejected ${ago(reload.time)}: ${reload.problems.join('; ')}`;
}

function facts(document) {
  const { servers, memory } = document;
  return h('dl', { class: 'facts' },
    h('dt', null, 'State'), h('dd', null, badge(document.ready ? 'good' : 'warn', document.state)),
    h('dt', null, 'Fleet'), h('dd', null, badge(servers.fleet_ready ? 'good' : 'bad', servers.fleet_ready ? 'ready' : 'not ready'),
      ` ${servers.ready} of ${plural(servers.all, 'server')} ready, ${plural(document.models, 'route')}`),
    h('dt', null, 'Generation'), h('dd', { id: 'generation' }, `${document.generation}, for ${duration(document.loaded_seconds_ago)}`),
    h('dt', null, 'Last reload'), h('dd', { class: document.last_reload?.applied === false ? 'bad' : null }, reloadText(document.last_reload)),
    h('dt', null, 'Memory of calls'), h('dd', null, `${bytes(memory.used)} of ${bytes(memory.limit)}, ${plural(memory.refused_calls, 'call')} refused`),
    h('dt', null, 'Version'), h('dd', null, document.version));
}

export function mount(page) {
  const cards = {
    rate: card('Calls', ' '),
    errors: card('Errors', ' '),
    p50: card('p50', 'successful calls'),
    p95: card('p95', 'without streams'),
    p99: card('p99', ' '),
    own: card('Gateway time', ' '),
    active: card('Active calls', 'now'),
    memory: card('Memory', ' '),
  };
  const charts = {
    rate: lineChart({ title: 'Calls and errors per second', format: rate, series: ['calls', 'server errors', 'client errors'] }),
    latency: lineChart({ title: 'Duration', format: duration, series: ['p50', 'p95', 'p99'] }),
    own: lineChart({ title: 'The gateway’s own share of the time', format: percent, series: ['share'], top: 1 }),
    memory: lineChart({ title: 'Memory of calls', format: bytes, series: ['used'] }),
  };
  const problems = problemList();
  const loading = h('p', { class: 'quiet' }, 'Loading');
  page.append(loading);
  const state = h('section', { class: 'state' });
  const range = rangeField(() => polling.now());
  const events = eventList();
  const contents = [
    problems.element,
    h('div', { class: 'cards' }, Object.values(cards).map((each) => each.element)),
    h('p', { class: 'filter' }, range.element, h('span', null, 'of all calls; ', h('a', { href: '#/traffic' }, 'of one model, server or caller'))),
    h('div', { class: 'charts' }, Object.values(charts).map((each) => each.element)),
    events.element,
    state,
  ];

  function show([document, found, errors]) {
    if (loading.isConnected) {
      // All at once, so that nothing moves.
      loading.replaceWith(...contents);
    }
    problems.update(found, errors);
    range.link(document.dashboards);
    const { traffic, memory } = document;
    const now = traffic.now;
    setText(cards.rate.figure, rate(now.rate));
    setText(cards.rate.more, `${number(now.calls)} since the start`);
    const errorsOfCalls = errorShare(now.server_errors, now.rate);
    setText(cards.errors.figure, percent(errorsOfCalls));
    cards.errors.figure.classList.toggle('bad', errorKind(errorsOfCalls) === 'bad');
    cards.errors.figure.classList.toggle('warn', errorKind(errorsOfCalls) === 'warn');
    setText(cards.errors.more, `of calls, by servers; ${percent(errorShare(now.client_errors, now.rate))} by clients`);
    setText(cards.p50.figure, duration(now.p50));
    setText(cards.p95.figure, duration(now.p95));
    setText(cards.p99.figure, duration(now.p99));
    setText(cards.own.figure, duration(now.own_seconds));
    setText(cards.own.more, `${percent(now.own_share)} of the time`);
    setText(cards.active.figure, number(document.active_calls));
    setText(cards.memory.figure, percent(memory.used / memory.limit));
    setText(cards.memory.more, `of ${bytes(memory.limit)} for calls`);
    const times = traffic.times.map((time) => new Date(time));
    const marks = events.update(found, range.minutes());
    charts.rate.update(times, [traffic.rate, traffic.server_errors, traffic.client_errors], marks);
    charts.latency.update(times, [traffic.p50, traffic.p95, traffic.p99], marks);
    charts.own.update(times, [traffic.own_share], marks);
    charts.memory.update(times, [traffic.memory], marks);
    replaceIfChanged(state, [document.state, document.ready, document.servers, document.generation, document.loaded_seconds_ago, document.last_reload, memory],
      () => facts(document));
  }
  const polling = poll(REFRESH, () => Promise.all([get(`/console/overview?minutes=${range.minutes()}`), get('/problems'), lastErrors()]), show);
  return polling;
}
