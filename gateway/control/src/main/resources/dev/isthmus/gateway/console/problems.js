// What is wrong now: each problem with its cause, its last error and the next step.
import { badge, h, replaceIfChanged, setText } from './dom.js';
import { ago, clock, moment } from './format.js';

/** How many problems are shown at first. */
const FIRST = 8;
const KINDS = { critical: 'bad', warning: 'warn' };
const PAGES = { live: 'Failed calls', servers: 'Servers', models: 'Models', canary: 'Canary', configuration: 'Configuration', gateways: 'Gateways' };

/** The newest error of the server or model that a problem is about. */
function lastError({ subject }, errors) {
  return errors.servers
    .filter((each) => (subject.server === undefined || each.server === subject.server || each.server === '')
      && (subject.upstream === undefined || each.upstream === subject.upstream))
    .flatMap((each) => each.last.filter((error) => subject.model === undefined || error.route === subject.model))
    .sort((a, b) => b.time.localeCompare(a.time))[0];
}

/** The address of the charts of what a problem is about, the most exact first; null if it has none. */
function charts({ upstream, server, caller, model }) {
  const of = server && upstream ? { kind: 'server', of: upstream, name: server }
    : caller ? { kind: 'caller', name: caller }
      : model ? { kind: 'model', name: model } : null;
  return of ? `#/traffic?${new URLSearchParams(of)}` : null;
}

function problem(each, errors) {
  const error = each.subject.server || each.subject.model || each.subject.upstream ? lastError(each, errors) : undefined;
  const page = each.page.split('?')[0];
  return h('li', { class: `problem ${KINDS[each.severity]}`, 'data-kind': each.kind },
    h('p', { class: 'what' }, badge(KINDS[each.severity], each.severity), ' ', h('b', null, each.text),
      ' ', h('span', { class: 'quiet' }, `since ${moment(each.since)}, ${ago(each.since).replace(' ago', '')}`)),
    h('p', { class: 'cause' }, each.cause),
    error ? h('p', { class: 'last-error' }, `Last error, ${ago(error.time)}: ${error.code}: `, h('span', { class: 'mono' }, error.text)) : null,
    h('p', { class: 'next' }, h('a', { class: 'button', href: `#/${each.page}` }, PAGES[page] ?? 'Details'), ' ',
      charts(each.subject) ? [h('a', { class: 'button', href: charts(each.subject) }, 'Traffic'), ' '] : null, each.next_step,
      each.command ? [' ', h('code', null, each.command)] : null));
}

/** Makes the list. Returns {element, update(document, errors)}. */
export function problemList() {
  const heading = h('h2', null, 'What is wrong now');
  const list = h('div', { class: 'list' });
  const element = h('section', { class: 'wrong', 'aria-label': 'What is wrong now' }, heading, list);
  let all = false;
  let last;

  function show() {
    const { document, errors } = last;
    const { problems } = document;
    const shown = all ? problems : problems.slice(0, FIRST);
    const critical = problems.filter((each) => each.severity === 'critical').length;
    setText(heading, problems.length === 0 ? 'Nothing is wrong' : `What is wrong now: ${critical} critical, ${document.all} in all`);
    element.classList.toggle('calm', problems.length === 0);
    replaceIfChanged(list, [document.problems, all, errors, Math.floor(Date.now() / 10_000)], () => [
      problems.length === 0
        ? h('p', null, badge('good', 'good'), ` Models, servers, limits, ramps and certificates were checked at ${clock(new Date(document.time))}.`)
        : h('ul', { class: 'plain' }, shown.map((each) => problem(each, errors))),
      problems.length > shown.length
        ? h('button', { type: 'button', onclick: () => { all = true; show(); } }, `Show ${problems.length - shown.length} more`)
        : null,
      all && document.all > problems.length ? h('p', { class: 'quiet' }, `${document.all - problems.length} more are less urgent and not listed.`) : null,
    ].filter(Boolean));
  }

  return {
    element,
    update(document, errors) {
      last = { document, errors };
      show();
    },
  };
}
