// Every route: its targets and servers, its traffic, and where servers describe a model differently.
import { get, poll } from './api.js';
import { badge, errorCell, h, setText, svg } from './dom.js';
import { bytes, duration, errorShare, number, percent, plural, rate } from './format.js';
import { table } from './table.js';

const REFRESH = 5_000;

/** Servers on which the model is ready, of all that targets have. */
function readiness(model) {
  const replicas = model.targets.flatMap((target) => target.replicas);
  const ready = replicas.filter((replica) => replica.server_ready && replica.ready !== false).length;
  const unchecked = replicas.filter((replica) => replica.server_ready && replica.ready === null).length;
  return { ready, unchecked, all: replicas.length };
}

/** The share of its servers on which it is not ready. */
function missing(model) {
  const { ready: good, all } = readiness(model);
  return all === 0 ? 0 : (all - good) / all;
}

/** The share of its calls that failed because of servers or the gateway. */
function failing(model) {
  return errorShare(model.traffic.server_errors, model.traffic.rate);
}

function ready(model) {
  const { ready: good, unchecked, all } = readiness(model);
  if (all === 0) {
    return badge('none', 'no server known');
  }
  if (unchecked > 0 && unchecked === good) {
    return badge('none', `not checked on ${unchecked} of ${all}`);
  }
  return badge(good === all ? 'good' : good > 0 ? 'warn' : 'bad', `${good} of ${all}`);
}

function bar(share, label) {
  return svg('svg', { class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    svg('rect', { class: 'ground', width: 100, height: 10 }),
    svg('rect', { class: 'part', width: (100 * share).toFixed(2), height: 10 }));
}

function replica(each) {
  if (!each.server_ready) {
    return h('li', null, `${each.server} `, badge('bad', 'server not ready'));
  }
  return h('li', null, `${each.server} `,
    each.ready === null ? badge('none', 'not checked') : each.ready ? badge('good', 'ready') : badge('bad', 'model not ready'));
}

/** A link to charts. */
function charts(kind, of, name) {
  return h('a', { href: `#/traffic?${new URLSearchParams({ kind, of, name })}` }, 'Traffic');
}

function target(model, each) {
  const name = [each.model, each.version && `version ${each.version}`].filter(Boolean).join(', ');
  return h('tr', null,
    h('td', null, each.name, ' ', charts('target', model.name, each.name)),
    h('td', null, each.upstream, name ? h('div', { class: 'quiet' }, name) : null),
    h('td', { class: 'number' }, percent(each.share)),
    h('td', { class: 'number' }, percent(each.real_share), bar(each.real_share ?? 0, `real share ${percent(each.real_share)}`)),
    h('td', null, each.replicas.length ? h('ul', { class: 'plain' }, each.replicas.map(replica)) : 'none known'));
}

function drift(differences) {
  return h('div', { class: 'drift' },
    h('h3', null, 'Servers that describe it differently'),
    differences.map((each) => h('div', { class: 'diff' },
      h('p', null, `${each.upstream} ${each.server}, ${each.subject || 'model'}: ${each.kind.toLowerCase().replaceAll('_', ' ')}`),
      h('pre', null,
        each.merged ? h('del', null, `- ${each.merged}   (the others)`) : null,
        each.said ? h('ins', null, `+ ${each.said}   (this server)`) : null))));
}

/** What became of requests that do not match the model's metadata, and why they do not. */
function validation({ mode, invalid }) {
  if (mode === 'off') {
    return 'not compared';
  }
  const reasons = Object.entries(invalid).map(([reason, count]) => `${count} ${reason.replaceAll('_', ' ')}`).join(', ');
  return `${reasons || 'none'} (${mode === 'strict' ? 'refused' : 'counted and sent'})`;
}

/** Only models with a cache have it. */
function cache(figures) {
  const { hits, joined, misses, bypassed, entries, bytes: size, evictions } = figures;
  return `${percent(errorShare(hits + joined, hits + joined + misses))} answered without a call of their own: ${number(hits)} hits, ${number(joined)} joined to an equal request, `
    + `${number(misses)} misses; ${number(bypassed)} sent without the cache; ${plural(entries, 'response')} kept (${bytes(size)}), ${number(evictions)} evicted`;
}

/** Only models with batching have it. */
function batching(figures) {
  const { joined, calls, alone, not_joinable: other, waits, wait_seconds: seconds, limit } = figures;
  return `${calls ? `${number(joined / calls)} requests a joined call` : 'no joined call'}: ${number(joined)} requests joined in ${plural(calls, 'call')}, ${number(alone)} sent alone, `
    + `${number(other)} not joinable; ${waits ? `${duration(seconds / waits)} waited on average` : 'none waited'}; at most ${number(limit)} joined now`;
}

function details(model) {
  const labels = Object.entries(model.labels).map(([label, version]) => `${label} = ${version}`).join(', ');
  return h('div', null,
    h('dl', { class: 'facts' },
      h('dt', null, 'Versions on servers'), h('dd', null, model.versions.length ? model.versions.map((each) => `${each.version || 'without'} (${each.state.toLowerCase()})`).join(', ') : 'none listed'),
      h('dt', null, 'Requests that do not match its metadata'), h('dd', null, validation(model.validation)),
      model.cache ? [h('dt', null, 'Response cache'), h('dd', null, cache(model.cache))] : null,
      model.batching ? [h('dt', null, 'Batching'), h('dd', null, batching(model.batching))] : null,
      model.aliases.length ? [h('dt', null, 'Aliases'), h('dd', null, model.aliases.join(', '))] : null,
      labels ? [h('dt', null, 'Labels'), h('dd', null, labels)] : null),
    model.targets.length
      ? h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Targets of ${model.name}` },
        h('table', { 'aria-label': `Targets of ${model.name}` },
          h('thead', null, h('tr', null, ['Target', 'Upstream', 'Share', 'Real share', 'Servers'].map((title) => h('th', { scope: 'col' }, title)))),
          h('tbody', null, model.targets.map((each) => target(model, each)))))
      : h('p', { class: 'quiet' }, 'Calls to models without a configured route.'),
    h('p', null, charts('model', '', model.name),
      model.name.includes('*') ? null : [' ', h('a', { href: `#/try?${new URLSearchParams({ model: model.name })}` }, 'Try it')]),
    model.drift.length ? drift(model.drift) : null);
}

/** What is shown of how many, if the gateway has left models out. */
function cut(document) {
  const shown = document.models.length;
  return shown < document.matching
    ? ` ${shown} of ${document.matching} models are shown, those with the most errors, then calls; search for others.`
    : '';
}

export function mount(page) {
  const summary = h('p', { class: 'quiet' }, ' ');
  const models = table({
    name: 'Models',
    filter: 'Filter models, targets, servers',
    empty: 'No model is configured or discovered',
    key: (model) => model.name,
    worst: (model) => [Math.ceil(100 * (failing(model) ?? 0)), missing(model), model.drift.length],
    text: (model) => [model.name, model.kind, ...model.aliases, model.drift.length ? 'drift' : '',
      ...model.targets.flatMap((each) => [each.name, each.upstream, each.model, each.version, ...each.replicas.map((one) => one.server)])].join(' '),
    columns: [
      { title: 'Model', lead: true, value: (model) => model.name },
      { title: 'Kind', value: (model) => model.kind },
      { title: 'Targets', value: (model) => model.targets.map((each) => each.name).join(', '), wrap: true },
      { title: 'Ready', lead: true, value: (model) => readiness(model).ready, cell: ready },
      { title: 'Drift', value: (model) => model.drift.length, cell: (model) => (model.drift.length ? badge('warn', plural(model.drift.length, 'difference')) : 'none') },
      { title: 'Calls', numeric: true, value: (model) => model.traffic.rate ?? 0, cell: (model) => rate(model.traffic.rate) },
      { title: 'Errors', lead: true, numeric: true, value: (model) => failing(model) ?? 0, cell: (model) => errorCell(failing(model)) },
      { title: 'p50', numeric: true, value: (model) => model.traffic.p50 ?? 0, cell: (model) => duration(model.traffic.p50) },
      { title: 'p95', numeric: true, value: (model) => model.traffic.p95 ?? 0, cell: (model) => duration(model.traffic.p95) },
      { title: 'p99', numeric: true, value: (model) => model.traffic.p99 ?? 0, cell: (model) => duration(model.traffic.p99) },
    ],
    details,
  });
  page.append(summary, models.element);
  let complete = true;
  let searched = '';
  const load = () => {
    searched = complete ? '' : models.search();
    return get(`/console/models?${new URLSearchParams({ search: searched })}`);
  };
  const loading = poll(REFRESH, load,
    (document) => {
      setText(summary, `Rates, durations and real shares are those of the last ${duration(document.window_seconds)}.${cut(document)}`);
      models.update(document.models);
      complete = document.all <= document.models.length;
      if (!complete && models.search() !== searched) {
        setTimeout(loading.now);
      }
    });
  // With more models than are loaded at once, the gateway searches.
  models.element.addEventListener('input', () => complete || loading.now());
  return loading;
}
