// Every server of every upstream: its health and the reason, its load, and its last error.
import { confirmed, get, lastErrors, notice, poll, post } from './api.js';
import { badge, errorCell, h, replaceIfChanged, setText } from './dom.js';
import { ago, duration, number, rate } from './format.js';
import { forbidden } from './session.js';
import { table } from './table.js';

const REFRESH = 2_000;
/** Rates are those since this many readings ago. */
const READINGS = 15;
/** How many models that are not ready are listed. */
const MOST_MODELS = 50;
/** From how many times the mean of its peers on a server is marked. */
const SLOW = 3;
const BREAKER = { closed: 'good', half_open: 'warn', open: 'bad' };

function health(server) {
  return server.drained ? 'drained' : server.ejected ? 'ejected' : server.ready ? 'ready' : 'not ready';
}

function models(server) {
  return `${server.models_ready} of ${server.models_all}`;
}

/** Only upstreams with hedging have them. */
function hedges(upstream) {
  return upstream.hedged === undefined ? '' : `, ${number(upstream.hedged)} hedged, ${number(upstream.hedges_won)} of them answered by the second server`;
}

/** Only upstreams with a queue have it. */
function waiting(upstream) {
  const { waiting: now, mean_wait: mean, queue_refused: refused } = upstream;
  return now === undefined ? '' : `, ${number(now)} waiting, ${duration(mean)} on average, ${number(refused)} refused by the queue`;
}

/** Takes a server out of service, or puts it into service again. */
async function serve(server) {
  const [title, action, text] = server.drained
    ? ['Enable', 'enable', 'It gets calls again.']
    : ['Drain', 'drain', 'It gets no new calls; sequences and open streams end there. Health checks go on.'];
  if (!(await confirmed(`${title} ${server.server}?`, text, title))) {
    return;
  }
  try {
    await post(`/servers/${encodeURIComponent(server.server)}/${action}`);
    notice(`${title}: done for ${server.server}.`, 'good');
  } catch (error) {
    notice(`${title}: ${error.message}`, 'bad');
  }
}

function details(server) {
  return h('div', null,
    server.dialect ? h('p', null, `Dialect: ${server.dialect} (${server.dialect_reason})`) : null,
    h('p', { class: 'buttons' }, h('button', { type: 'button', class: server.drained ? null : 'danger', disabled: forbidden('operate') !== '', onclick: () => serve(server) }, server.drained ? 'Enable' : 'Drain'), ` ${forbidden('operate')}`),
    h('p', null, h('a', { href: `#/traffic?${new URLSearchParams({ kind: 'server', of: server.upstream, name: server.server })}` }, 'Traffic')),
    h('p', null, server.models_all ? ['Models that are checked on it and ready: ', models(server), '. ', h('a', { href: `#/models?${new URLSearchParams({ search: server.server })}` }, 'Models')] : 'No configured model is checked on it.'),
    server.models.length
      ? h('ul', { class: 'plain' }, server.models.slice(0, MOST_MODELS).map((model) => h('li', null,
        `${model.name}${model.version ? ` version ${model.version}` : ''} `, badge('bad', 'not ready'))),
      server.models.length > MOST_MODELS ? h('li', null, `and ${server.models.length - MOST_MODELS} more`) : null)
      : null,
    server.errors.length
      ? [h('h3', null, 'Last errors'), h('ul', { class: 'plain' }, server.errors.map((error) => h('li', null,
        `${ago(error.time)}: ${error.code}, model ${error.model || 'none'}, request ${error.request_id || 'without id'}: `, h('span', { class: 'mono' }, error.text))))]
      : null);
}

export function mount(page) {
  const earlier = [];
  const summary = h('p', null, ' ');
  const upstreams = h('p', { class: 'upstreams' }, ' ');
  const hint = h('p', { class: 'quiet' }, ' ');
  const servers = table({
    name: 'Servers',
    filter: 'Filter servers',
    empty: 'No upstream has a server',
    key: (server) => `${server.upstream} ${server.server}`,
    worst: (server) => [Number(!server.ready || server.ejected), Math.ceil(100 * ((server.failing ?? 0) + (server.erring ?? 0)))],
    columns: [
      { title: 'Upstream', value: (server) => server.upstream },
      { title: 'Server', lead: true, value: (server) => server.server },
      { title: 'Health', lead: true, value: health, cell: (server) => badge(server.drained ? 'warn' : server.ready && !server.ejected ? 'good' : 'bad', health(server)) },
      { title: 'Reason', value: (server) => server.reason, wrap: true },
      { title: 'Models', value: models },
      { title: 'Ejections', numeric: true, value: (server) => server.ejections ?? 0, cell: (server) => number(server.ejections) },
      { title: 'Active', numeric: true, value: (server) => server.in_flight ?? 0, cell: (server) => (server.limit === undefined ? number(server.in_flight) : `${number(server.in_flight)} of ${number(server.limit)}`) },
      { title: 'Queue', numeric: true, value: (server) => server.queue ?? -1, cell: (server) => number(server.queue) },
      { title: 'Attempts', numeric: true, value: (server) => server.rate ?? 0, cell: (server) => rate(server.rate) },
      { title: 'Failed', lead: true, numeric: true, value: (server) => server.failing ?? 0, cell: (server) => errorCell(server.failing) },
      { title: '5xx', lead: true, numeric: true, value: (server) => server.erring ?? 0, cell: (server) => errorCell(server.erring) },
      { title: 'Mean', numeric: true, value: (server) => server.mean ?? 0, cell: (server) => (server.slow ? h('span', { class: 'warn', title: `${SLOW} times that of its peers, or more` }, duration(server.mean)) : duration(server.mean)) },
      { title: 'Last error', value: (server) => server.errors[0]?.text ?? '', cell: (server) => (server.errors.length ? `${ago(server.errors[0].time)}: ${server.errors[0].code}` : '–') },
    ],
    details,
  });
  page.append(summary, upstreams, servers.element, hint);

  /** Adds what the counters say since some readings ago. */
  function withRates(document) {
    const time = performance.now() / 1000;
    const counts = new Map(document.servers.map((each) => [`${each.upstream} ${each.server}`, each]));
    earlier.push({ time, counts });
    if (earlier.length > READINGS) {
      earlier.shift();
    }
    const before = earlier[0];
    return document.servers.map((each) => {
      const old = before.counts.get(`${each.upstream} ${each.server}`);
      const calls = each.calls - old?.calls;
      const known = time > before.time && calls >= 0;
      // The first reading has nothing before it: its shares and means are those since the gateway's start.
      const [all, from] = known ? [calls, old] : [each.calls, { failed: 0, server_errors: 0, seconds: 0 }];
      return {
        ...each,
        rate: known ? calls / (time - before.time) : undefined,
        failing: all > 0 ? (each.failed - from.failed) / all : undefined,
        erring: all > 0 ? (each.server_errors - from.server_errors) / all : undefined,
        mean: all > 0 ? (each.seconds - from.seconds) / all : undefined,
      };
    });
  }

  /** Adds whether a server takes far longer than the median of the other servers of its upstream. */
  function withPeers(all) {
    return all.map((each) => {
      const others = all.filter((other) => other !== each && other.upstream === each.upstream && other.mean > 0)
        .map((other) => other.mean).sort((a, b) => a - b);
      return { ...each, slow: others.length > 0 && each.mean >= SLOW * others[others.length >> 1] };
    });
  }

  return poll(REFRESH, () => Promise.all([get('/servers?models=not_ready'), lastErrors()]), ([document, failed]) => {
    const last = new Map(failed.servers.map((each) => [`${each.upstream} ${each.server}`, each.last]));
    setText(summary, document.ready ? 'Clients are told that the fleet is ready.' : `Clients are told that the fleet is not ready: ${document.reason}.`);
    replaceIfChanged(upstreams, document.upstreams, () => document.upstreams.map((each) => h('span', { class: 'upstream' },
      `${each.upstream}: ${number(each.in_flight)} of ${number(each.limit)} calls${waiting(each)}${hedges(each)}, breaker `, badge(BREAKER[each.breaker], each.breaker.replace('_', ' ')))));
    setText(hint, failed.allowed ? ' ' : failed.configured ? 'Log in to see the last errors of each server.' : 'Set admin.token_file to see recent errors.');
    servers.update(withPeers(withRates(document)).map((each) => ({ ...each, errors: last.get(`${each.upstream} ${each.server}`) ?? [] })));
  });
}
