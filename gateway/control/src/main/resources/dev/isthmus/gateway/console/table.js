// A table that is sorted and filtered in the browser, in pages of 100 rows, and updated in place: rows that are out of
// sight when they are seen.
import { h, replaceIfChanged, setText } from './dom.js';
import { setState, state } from './state.js';

/** How many rows a page has. The browser lays out a table as a whole, whenever one of its cells changes. */
const ROWS = 100;

/**
 * Makes a table.
 *   name      its label for screen readers
 *   columns   [{title, value: row => text or number, cell: row => what is shown (default: the value), numeric, wrap,
 *             lead: whether it comes first where rows are cards}]
 *   worst     row => numbers, by which the rows are sorted until a heading is chosen, the largest first
 *   key       row => what identifies it
 *   filter    placeholder of the field that filters rows; none without it
 *   text      row => what the filter searches (default: all values)
 *   empty     shown without rows
 *   details   row => element that is shown below the row when it is opened; null for a row without
 * Filter, order and open rows are in the address, if it has a filter.
 * Returns {element, search(), update(rows)}.
 */
export function table({ name, columns, key, filter, text, empty = 'None', details, worst }) {
  let rows = [];
  const given = filter ? state() : new URLSearchParams();
  let sorted = columns.findIndex((column) => column.title === given.get('sort'));
  let descending = given.get('order') === 'descending';
  const open = new Set(given.getAll('open'));
  const shown = new Map();
  const heads = columns.map((column, index) =>
    h('th', { scope: 'col', class: column.numeric ? 'number' : null },
      h('button', { type: 'button', onclick: () => sort(index) }, column.title)));
  const body = h('tbody');
  const count = h('span', { class: 'count', role: 'status' });
  const field = filter
    ? h('input', { type: 'search', placeholder: filter, 'aria-label': filter, 'aria-keyshortcuts': '/', value: given.get('search') ?? '', oninput: changed })
    : null;
  const scroller = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': name },
    h('table', { 'aria-label': name }, h('thead', null, h('tr', null, details ? h('td') : null, heads)), body));
  let first = 0;
  const range = h('span', { class: 'quiet' });
  const previous = h('button', { type: 'button', onclick: () => turn(-ROWS) }, 'Previous rows');
  const next = h('button', { type: 'button', onclick: () => turn(ROWS) }, 'Next rows');
  const pages = h('p', { class: 'filter pages', hidden: true }, previous, next, range);
  const element = h('div', { class: 'table' }, field ? h('p', { class: 'filter' }, field, count) : null, scroller, pages);

  function turn(rowsOn) {
    first += rowsOn;
    render();
    scroller.scrollIntoView({ block: 'start' });
    if (document.activeElement === document.body || document.activeElement.disabled) {
      scroller.focus({ preventScroll: true });
    }
  }

  function sort(index) {
    descending = sorted === index ? !descending : Boolean(columns[index].numeric);
    sorted = index;
    showOrder();
    changed();
  }

  function showOrder() {
    heads.forEach((head, each) => {
      if (each === sorted) {
        head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      } else {
        head.removeAttribute('aria-sort');
      }
    });
  }

  /** The operator has changed which rows are shown. */
  function changed() {
    if (filter) {
      setState({
        search: field.value,
        sort: columns[sorted]?.title,
        order: sorted >= 0 && descending ? 'descending' : '',
        open: [...open],
      });
    }
    first = 0;
    render();
  }

  /** The rows, the worst first. */
  function byBadness(all) {
    return all.map((row) => ({ row, badness: worst(row) }))
      .sort((a, b) => {
        const index = a.badness.findIndex((value, each) => value !== b.badness[each]);
        return index < 0 ? 0 : b.badness[index] - a.badness[index];
      })
      .map(({ row }) => row);
  }

  function compare(a, b) {
    const one = columns[sorted].value(a);
    const two = columns[sorted].value(b);
    const order = typeof one === 'number' && typeof two === 'number'
      ? one - two
      : String(one ?? '').localeCompare(String(two ?? ''), 'en', { numeric: true });
    return descending ? -order : order;
  }

  function matches(row) {
    const words = field ? field.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    if (words.length === 0) {
      return true;
    }
    const all = (text ? text(row) : columns.map((column) => column.value(row)).join(' ')).toLowerCase();
    return words.every((word) => all.includes(word));
  }

  const sight = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
    target.known.visible = isIntersecting;
    if (isIntersecting) {
      fill(target.known);
    }
  }), { rootMargin: '200px' });

  function line(row) {
    const id = key(row);
    let known = shown.get(id);
    if (!known) {
      const cells = columns.map((column) => h('td', {
        class: [column.numeric ? 'number' : column.wrap ? 'wrap' : '', column.lead ? 'lead' : ''].join(' '),
        'data-title': column.title,
      }));
      const opener = details
        ? h('button', { type: 'button', class: 'opener', 'aria-expanded': 'false', 'aria-label': `Details of ${id}`, onclick: () => toggle(id) }, '▸')
        : null;
      known = { cells, opener, line: h('tr', null, opener ? h('td', { class: 'lead' }, opener) : null, cells), below: null, row, visible: true };
      known.line.known = known;
      shown.set(id, known);
      sight.observe(known.line);
    }
    known.row = row;
    if (known.visible) {
      fill(known);
    }
    return known;
  }

  function fill(known) {
    const { row } = known;
    columns.forEach((column, index) => {
      const cell = column.cell ? column.cell(row) : String(column.value(row) ?? '');
      replaceIfChanged(known.cells[index], typeof cell === 'string' ? cell : [cell].flat().map((e) => e.outerHTML ?? e), () => cell);
    });
  }

  function toggle(id) {
    if (!open.delete(id)) {
      open.add(id);
    }
    if (filter) {
      setState({ open: [...open] });
    }
    render();
  }

  function below(row, known) {
    const content = details(row);
    known.below ??= h('tr', { class: 'below' }, h('td', { colspan: columns.length + 1 }));
    replaceIfChanged(known.below.firstChild, [content].flat().map((e) => e.outerHTML ?? e), () => content);
    return known.below;
  }

  /** Makes these the lines of the table. Those that stay where they are keep their focus. */
  function place(lines) {
    let at = body.firstChild;
    for (const each of lines) {
      if (each === at) {
        at = at.nextSibling;
      } else {
        body.insertBefore(each, at);
      }
    }
    while (at) {
      const after = at.nextSibling;
      at.remove();
      at = after;
    }
  }

  function render() {
    let visible = rows.filter(matches);
    if (sorted >= 0) {
      visible.sort(compare);
    } else if (worst) {
      visible = byBadness(visible);
    }
    first = Math.max(0, Math.min(first, ROWS * (Math.ceil(visible.length / ROWS) - 1)));
    const lines = [];
    for (const row of visible.slice(first, first + ROWS)) {
      const known = line(row);
      lines.push(known.line);
      if (known.opener) {
        const opened = open.has(key(row));
        known.opener.setAttribute('aria-expanded', opened);
        setText(known.opener, opened ? '▾' : '▸');
        if (opened) {
          lines.push(below(row, known));
        }
      }
    }
    if (lines.length === 0) {
      lines.push(h('tr', null, h('td', { colspan: columns.length + 1, class: 'empty' }, rows.length ? 'No row matches' : empty)));
    }
    place(lines);
    pages.hidden = visible.length <= ROWS;
    previous.disabled = first === 0;
    next.disabled = first + ROWS >= visible.length;
    setText(range, `${first + 1} to ${Math.min(first + ROWS, visible.length)} of ${visible.length}`);
    setText(count, visible.length === rows.length ? String(rows.length) : `${visible.length} of ${rows.length}`);
  }

  showOrder();
  return {
    element,
    search: () => field?.value ?? '',
    update(all) {
      rows = all;
      const keys = new Set(all.map(key));
      for (const id of shown.keys()) {
        if (!keys.has(id)) {
          sight.unobserve(shown.get(id).line);
          shown.delete(id);
          open.delete(id);
        }
      }
      render();
    },
  };
}
