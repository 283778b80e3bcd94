// The gateways of the deployment beside each other: which cannot be reached, which differ, their traffic together, ramps.
import { get, poll } from './api.js';
import { badge, errorCell, h, replaceIfChanged, section, setText } from './dom.js';
import { ago, clock, errorShare, number, percent, plural, rate } from './format.js';
import { table } from './table.js';

const REFRESH = 5_000;

/** How bad a gateway is: the state first, then what differs. */
function badness(gateway) {
  return [Number(!gateway.reached), Number(!gateway.ready), gateway.problems?.critical ?? 0,
    Number(gateway.differs_in?.length > 0), Number(gateway.other_version ?? false), gateway.problems?.warning ?? 0];
}

function title(gateway) {
  return gateway.self ? `${gateway.name === 'this gateway' ? '' : `${gateway.name}, `}this gateway` : gateway.name;
}

function state(gateway) {
  return !gateway.reached ? 'not reached' : gateway.ready ? 'serving' : 'not ready';
}

/** What is not as at most gateways, in words. */
function differences(gateway) {
  return [
    gateway.other_version ? `version ${gateway.version}` : '',
    gateway.differs_in?.length ? `configuration: ${gateway.differs_in.join(', ')}` : '',
  ].filter(Boolean).join('; ');
}

function problems(gateway) {
  return gateway.problems ? `${number(gateway.problems.critical)} critical, ${plural(gateway.problems.warning, 'warning')}` : '–';
}

function errors(counts) {
  return errorShare(counts.client_errors + counts.server_errors, counts.calls);
}

function details(gateway) {
  const facts = gateway.reached
    ? [['Addresses', gateway.addresses.join(', ')], ['Machine', gateway.host], ['State', gateway.state],
      ['Started', ago(gateway.started)],
      ['Configuration', `${gateway.configuration}, generation ${gateway.generation}, loaded ${ago(gateway.loaded)}`],
      ['Differs in', differences(gateway)],
      ['Inferences since its start', `${number(gateway.calls)}, ${number(gateway.client_errors)} errors of clients, ${number(gateway.server_errors)} of servers`]]
    : [['Addresses', gateway.addresses.join(', ')], ['Reason', gateway.failure]];
  return h('div', null,
    h('dl', { class: 'facts' }, facts.filter(([, text]) => text).flatMap(([name, text]) => [h('dt', null, name), h('dd', null, text)])),
    gateway.console && !gateway.self ? h('p', null, h('a', { href: gateway.console }, 'Its own console')) : null);
}

/** "A and 2 more" of the gateways at one step of a ramp. */
function step({ state: word, step: at, share, target }) {
  return `${target}: ${word.replace('_', ' ')}, step ${number(at)}, ${percent(share)}`;
}

function ramp(each) {
  const steps = Map.groupBy(each.gateways, step);
  return h('li', null, each.differs ? badge('warn', 'differs') : badge('good', 'equal'), ' ', h('b', null, each.model),
    h('ul', { class: 'plain' }, [...steps].map(([text, gateways]) => h('li', null,
      `${text} at ${plural(gateways.length, 'gateway')}${each.differs ? `: ${gateways.slice(0, 5).map((one) => one.gateway).join(', ')}${gateways.length > 5 ? ' and more' : ''}` : ''}`))));
}

function summaryText(document) {
  const parts = [`${document.reached} of ${plural(document.all, 'gateway')} reached at ${clock(new Date(document.time))}`];
  if (document.not_asked > 0) {
    parts.push(`${plural(document.not_asked, 'gateway')} too many to ask`);
  }
  parts.push(document.other_configuration ? `${document.other_configuration} with another configuration` : 'one configuration');
  parts.push(document.other_version ? `${document.other_version} with another version` : 'one version');
  if (document.other_ramps) {
    parts.push(`${plural(document.other_ramps, 'ramp')} at different steps`);
  }
  return `${parts.join(', ')}.`;
}

export function mount(page) {
  const summary = h('p', { class: 'summary' }, ' ');
  const sums = h('p', { class: 'sums' }, ' ');
  const gateways = table({
    name: 'Gateways',
    filter: 'Filter gateways',
    empty: 'No gateway has been asked yet',
    key: (gateway) => gateway.name,
    worst: badness,
    columns: [
      { title: 'Gateway', lead: true, value: title },
      { title: 'State', lead: true, value: state, cell: (gateway) => badge(gateway.reached && gateway.ready ? 'good' : 'bad', state(gateway)) },
      { title: 'Reason', value: (gateway) => (gateway.reached && gateway.ready ? '' : gateway.failure || gateway.state), wrap: true },
      { title: 'Differs', lead: true, value: differences, wrap: true, cell: (gateway) => (differences(gateway) ? h('span', { class: 'warn' }, differences(gateway)) : gateway.reached ? 'no' : '–') },
      { title: 'Version', value: (gateway) => gateway.version ?? '–' },
      { title: 'Loaded', value: (gateway) => gateway.loaded ?? '', cell: (gateway) => ago(gateway.loaded) },
      { title: 'Problems', value: problems },
      { title: 'Active', numeric: true, value: (gateway) => gateway.active_calls ?? -1, cell: (gateway) => number(gateway.active_calls) },
      { title: 'Rate', numeric: true, value: (gateway) => gateway.rate ?? -1, cell: (gateway) => rate(gateway.rate) },
      { title: 'Errors', numeric: true, value: (gateway) => errors(gateway) ?? -1, cell: (gateway) => errorCell(errors(gateway)) },
    ],
    details,
  });
  const ramps = h('div', null, ' ');
  const models = table({
    name: 'Models',
    empty: 'No model has been called',
    key: (model) => model.model,
    columns: [
      { title: 'Model', lead: true, value: (model) => model.model },
      { title: 'Inferences', numeric: true, value: (model) => model.calls, cell: (model) => number(model.calls) },
      { title: 'Errors of clients', numeric: true, value: (model) => model.client_errors, cell: (model) => number(model.client_errors) },
      { title: 'Errors of servers', numeric: true, value: (model) => model.server_errors, cell: (model) => number(model.server_errors) },
      { title: 'Errors', lead: true, numeric: true, value: errors, cell: (model) => errorCell(errors(model)) },
    ],
  });
  page.append(summary, sums, gateways.element, section('Ramps', ramps),
    section('Models', h('p', { class: 'quiet' }, 'Inferences since the start of each gateway, at all that were reached.'), models.element));

  return poll(REFRESH, () => get('/gateways'), (document) => {
    if (document.time === null) {
      setText(summary, 'The gateways are being asked.');
      return;
    }
    setText(summary, summaryText(document));
    setText(sums, `Together: ${rate(document.traffic.rate)}, ${plural(document.traffic.active_calls, 'active call')}, ${plural(document.traffic.calls, 'inference')} with ${percent(errors(document.traffic) ?? 0)} errors since their starts${document.reached < document.all ? '; those that were not reached are left out' : ''}.`);
    gateways.update(document.gateways);
    replaceIfChanged(ramps, document.ramps, () => (document.ramps.length
      ? h('ul', { class: 'plain' }, document.ramps.map(ramp))
      : h('p', null, 'No gateway has a ramp.')));
    models.update(document.models);
  });
}
