// Who has changed what: operators, callers by management calls, and the gateway itself.
import { get, poll } from './api.js';
import { badge, h, setText } from './dom.js';
import { moment, plural } from './format.js';
import { setState, state } from './state.js';
import { table } from './table.js';

const REFRESH = 5_000;
const MOST = 500;
/** Whose changes are shown, operators' by default: callers make far more. */
const WHOSE = { operator: 'Operators', process: 'The gateway itself', caller: 'Callers of listeners', all: 'All' };
const OUTCOMES = { all: 'Done or not', done: 'Done', not_done: 'Not done' };
const KINDS = { operator: 'operator', caller: 'caller of a listener', process: 'the gateway itself' };

function who(entry) {
  return `${entry.who || 'somebody'}${entry.issuer ? ` (${entry.issuer})` : ''}`;
}

function details(entry) {
  const facts = [
    ['Who', `${who(entry)}: ${KINDS[entry.by] ?? entry.by}${entry.role ? `, role ${entry.role}` : ''}`],
    ['From', entry.from],
    ['Subject', entry.subject],
    ['Before', entry.before],
    ['After', entry.after],
    ['Not done because', entry.failure],
  ];
  return h('dl', { class: 'facts' }, facts.filter(([, text]) => text).flatMap(([name, text]) => [h('dt', null, name), h('dd', null, text)]));
}

function field(name, label, options, changed) {
  const given = state().get(name);
  return h('select', { 'aria-label': label, onchange: changed },
    Object.entries(options).map(([value, text]) => h('option', { value, selected: value === given }, text)));
}

export function mount(page) {
  const by = field('by', 'Whose changes', WHOSE, choose);
  const outcome = field('outcome', 'Outcome', OUTCOMES, choose);
  const summary = h('p', { class: 'quiet', role: 'status' }, ' ');
  const list = table({
    name: 'Changes',
    filter: 'Filter by operator, action or subject',
    empty: 'No such change since the start',
    key: (entry) => String(entry.number),
    columns: [
      { title: 'Time', value: (entry) => entry.time, cell: (entry) => moment(entry.time), lead: true },
      { title: 'Who', value: who },
      { title: 'From', value: (entry) => entry.from },
      { title: 'Action', value: (entry) => entry.action, lead: true },
      { title: 'Subject', value: (entry) => entry.subject, wrap: true },
      { title: 'Before', value: (entry) => entry.before, wrap: true },
      { title: 'After', value: (entry) => (entry.done ? entry.after : `not done: ${entry.failure}`), cell: (entry) => (entry.done ? entry.after : [badge('warn', 'not done'), ` ${entry.failure}`]), wrap: true },
    ],
    details,
  });
  page.append(h('p', { class: 'filter' }, by, outcome), summary, list.element);

  function choose() {
    setState({ by: by.value === 'operator' ? '' : by.value, outcome: outcome.value === 'all' ? '' : outcome.value });
    polling.now();
  }

  async function load() {
    const session = await get('/session');
    return session.session
      ? get(`/audit?${new URLSearchParams({ limit: MOST, by: by.value, outcome: outcome.value })}`)
      : { configured: session.token_configured || session.oidc };
  }

  function show(document) {
    list.update(document.entries ?? []);
    setText(summary, document.entries
      ? `${plural(document.all, 'change')} of all since the start. Of the chosen ones the last ${MOST} at most are shown.`
      : document.configured ? 'Log in to see changes.' : 'To see changes, set admin.token_file and log in.');
  }

  const polling = poll(REFRESH, load, show);
  return polling;
}
