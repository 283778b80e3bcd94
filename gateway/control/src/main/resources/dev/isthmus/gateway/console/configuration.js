// The configuration in effect, how the last reloads ended, and what another file would change.
import { get, poll, post } from './api.js';
import { h, replaceIfChanged, section, setText } from './dom.js';
import { ago } from './format.js';
import { guarded } from './session.js';

const REFRESH = 5_000;

function changes(list, none) {
  return list.length === 0
    ? h('p', { class: 'quiet' }, none)
    : h('ul', null, list.map((each) => h('li', null, h('code', null, each))));
}

function problems(list) {
  return h('ul', { class: 'problems' }, list.map((each) =>
    h('li', null, each.line > 0 ? h('b', null, `${each.file} line ${each.line}, column ${each.column}: `) : null, each.message)));
}

function applied(reload) {
  return reload === null
    ? h('p', { class: 'quiet' }, 'None since the start.')
    : [
        h('p', null, `Applied ${ago(reload.time)}.`),
        changes(reload.changes, 'It changed nothing.'),
        ...reload.warnings.map((each) => h('p', { class: 'warn' }, each)),
      ];
}

function rejected(reload, last) {
  if (reload === null) {
    return h('p', { class: 'quiet' }, 'None since the start.');
  }
  const corrected = last !== null && last.time > reload.time;
  return [
    h('p', { class: corrected ? 'quiet' : 'bad' }, `Rejected ${ago(reload.time)}; ${corrected ? 'a later file was applied.' : 'the configuration below stays in effect.'}`),
    problems(reload.problems),
  ];
}

function compared(result) {
  if (result.problems.length > 0) {
    return [h('p', { class: 'bad' }, 'The gateway would reject it:'), problems(result.problems)];
  }
  return [
    h('p', { class: 'good' }, 'The gateway would accept it.'),
    h('h3', null, 'Changed by a reload'),
    changes(result.changes, 'Nothing.'),
    result.effects.length > 0 ? [h('h3', null, 'What a reload does'), changes(result.effects, '')] : null,
    result.after_restart.length > 0 ? [h('h3', null, 'Changed by a restart only'), changes(result.after_restart, '')] : null,
  ].flat();
}

function line(each) {
  return h('tr', { class: each.set ? 'set' : null }, h('td', null, h('code', null, each.text)), h('td', null, each.set ? 'set' : 'default'));
}

export function mount(page) {
  const last = h('div');
  const refused = h('div');
  const effective = h('tbody');
  const caption = h('p', { class: 'quiet' }, ' ');
  const onlySet = h('input', { type: 'checkbox', id: 'only-set', checked: true, onchange: choose });
  const search = h('input', { type: 'search', placeholder: 'Search keys and values', 'aria-label': 'Search keys and values', 'aria-keyshortcuts': '/', oninput: choose });
  const lines = h('table', { class: 'lines', 'aria-label': 'Configuration in effect' },
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Key and value'), h('th', { scope: 'col' }, 'From'))), effective);
  const text = h('textarea', { id: 'what-if', rows: '10', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off' });
  const result = h('div', { role: 'status', class: 'result' });
  const button = h('button', { type: 'submit', class: 'primary' }, 'Compare');
  const comparing = guarded(button, 'admin');

  /** Shows the lines that the file sets, or all; or those with the searched text and the keys that they are below. */
  function choose() {
    const wanted = search.value.trim().toLowerCase();
    let below = 0;
    for (const row of [...effective.children].reverse()) {
      const text = row.firstChild.textContent;
      const depth = text.search(/\S/);
      const found = wanted ? text.toLowerCase().includes(wanted) : !onlySet.checked || row.classList.contains('set');
      row.hidden = !found && depth >= below;
      below = row.hidden ? below : depth;
    }
  }

  async function compare(event) {
    event.preventDefault();
    try {
      const answer = await post('/console/configuration/compare', { text: text.value });
      result.replaceChildren(...compared(answer).filter(Boolean));
    } catch (error) {
      result.replaceChildren(h('p', { class: 'bad' }, error.message));
    }
  }

  page.append(
    section('Last reload', last),
    section('Last rejected file', refused),
    section('What would another file change?',
      h('form', { onsubmit: compare },
        h('p', null, h('label', { for: 'what-if' }, 'A changed configuration file. It is checked and compared with what runs; nothing is applied.')),
        text,
        h('p', { class: 'buttons' }, button, comparing.element)),
      result),
    section('In effect',
      caption,
      h('p', { class: 'filter' }, search, h('span', null, onlySet, ' ', h('label', { for: 'only-set' }, 'Only what the file sets'))),
      h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Configuration' }, lines)),
  );
  const end = poll(REFRESH, () => get('/console/configuration'), (document) => {
    replaceIfChanged(last, [document.applied, document.applied && ago(document.applied.time)], () => applied(document.applied));
    replaceIfChanged(refused, [document.rejected, document.applied?.time, document.rejected && ago(document.rejected.time)], () => rejected(document.rejected, document.applied));
    setText(caption, document.from_file
      ? `Configuration ${document.generation}, with all defaults. Files with keys and tokens are named, never shown.`
      : `Configuration ${document.generation}. It is not from a file.`);
    replaceIfChanged(effective, document.lines, () => document.lines.map(line));
    choose();
  });
  return () => {
    comparing.end();
    end();
  };
}
