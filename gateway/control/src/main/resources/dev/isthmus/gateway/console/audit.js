// Who has changed what: operators, callers by management calls, and the gateway itself.
import { get, poll } from './api.js';
import { badge, h, setText } from './dom.js';
import { moment, plural } from './format.js';
import { table } from './table.js';

const REFRESH = 5_000;
const MOST = 500;
const KINDS = { operator: 'operator', caller: 'caller of a listener', process: 'the gateway itself' };

function who(entry) {
  return entry.who || 'somebody';
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

export function mount(page) {
  const summary = h('p', { class: 'quiet', role: 'status' }, ' ');
  const list = table({
    name: 'Changes',
    filter: 'Filter by operator, action or subject',
    empty: 'None since the start',
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
  page.append(summary, list.element);

  async function load() {
    const session = await get('/session');
    return session.session ? get(`/audit?limit=${MOST}`) : { configured: session.token_configured || session.oidc };
  }

  function show(document) {
    list.update(document.entries ?? []);
    setText(summary, document.entries
      ? `${plural(document.all, 'change')} since the start, the last ${MOST} at most.`
      : document.configured ? 'Log in to see changes.' : 'To see changes, set admin.token_file and log in.');
  }

  list.update([]);
  return poll(REFRESH, load, show);
}
