// The calls that have just ended. The gateway keeps none while no page is open.
import { ApiError, get, poll } from './api.js';
import { badge, h, setText } from './dom.js';
import { bytes, number } from './format.js';
import { setState, state } from './state.js';
import { table } from './table.js';

const REFRESH = 1_000;
const MOST = 500;
const FAILED = 500;
/** From how many times the median of its model's calls on a duration is coloured. */
const SLOW = 3;
const VERY_SLOW = 10;

function outcomeOf(call) {
  const kind = call.code === 'OK' ? 'good' : call.code === 'CANCELLED' || call.status < FAILED ? 'warn' : 'bad';
  return badge(kind, call.code === 'OK' ? 'OK' : `${call.status} ${call.code}`);
}

function millis(value) {
  return value === undefined ? '–' : `${number(value)} ms`;
}

/** Adds to each call how many times the median duration of its model's listed calls it took. */
function withSlowness(calls) {
  const durations = new Map();
  for (const call of calls) {
    durations.set(call.model, [...durations.get(call.model) ?? [], call.duration_ms ?? 0]);
  }
  const medians = new Map([...durations].map(([model, all]) => [model, all.sort((a, b) => a - b)[all.length >> 1]]));
  return calls.map((call) => ({ ...call, slowness: (call.duration_ms ?? 0) / medians.get(call.model) }));
}

function durationCell(call) {
  const kind = call.slowness >= VERY_SLOW ? 'bad' : call.slowness >= SLOW ? 'warn' : null;
  return kind ? h('span', { class: kind, title: `${number(call.slowness)} times the median of this model's calls here` }, millis(call.duration_ms)) : millis(call.duration_ms);
}

function versioned(name, version) {
  return version ? `${name} version ${version}` : name;
}

function details(call) {
  const facts = [
    ['Cause', call.cause],
    ['Reason', call.reason],
    ['Operation', `${call.operation} over ${call.protocol}, listener ${call.listener}`],
    ['Caller', call.caller],
    ['Requested', versioned(call.model, call.version)],
    ['Route', call.route],
    ['Sent to', call.upstream ? `target ${call.target}, upstream ${call.upstream}, model ${versioned(call.served_model, call.served_version)}` : 'no server'],
    ['Attempts', call.retries.length ? `${call.attempts}; repeated because: ${call.retries.join(', ')}` : String(call.attempts)],
    ['Last server', call.server],
    ['Reading the request', millis(call.request_ms)],
    ['Until the response', millis(call.upstream_ms)],
    ['Writing the response', millis(call.response_ms)],
    ['Bytes', `${bytes(call.request_bytes)} received, ${bytes(call.response_bytes)} sent`],
    ['Request id', call.request_id],
    ['Trace', call.trace_id],
  ];
  return h('dl', { class: 'facts' }, facts
    .filter(([, text]) => text).flatMap(([name, text]) => [h('dt', null, name), h('dd', null, text)]));
}

export function mount(page) {
  const view = crypto.getRandomValues(new Uint32Array(4)).reduce((text, each) => text + each.toString(16).padStart(8, '0'), '');
  const given = state();
  const model = h('input', { type: 'search', 'aria-label': 'Model', placeholder: 'Model', 'aria-keyshortcuts': '/', value: given.get('model') ?? '' });
  const server = h('input', { type: 'search', 'aria-label': 'Upstream or server', placeholder: 'Upstream or server', value: given.get('server') ?? '' });
  const outcome = h('select', { 'aria-label': 'Status' }, h('option', { value: 'all' }, 'All calls'), h('option', { value: 'failed', selected: given.get('outcome') === 'failed' }, 'Failed calls'));
  const slower = h('input', { type: 'number', min: '0', max: '3600000', 'aria-label': 'Slower than, in milliseconds', placeholder: 'Slower than ms', value: given.get('slower_than_ms') ?? '' });
  const id = h('input', { type: 'search', 'aria-label': 'Request id', placeholder: 'Request id', value: given.get('id') ?? '' });
  const found = h('section', { class: 'found', 'aria-label': 'The call with this request id' });
  const pause = h('button', { type: 'button', 'aria-pressed': 'false', onclick: togglePause }, 'Pause');
  const summary = h('p', { class: 'quiet' }, ' ');
  const list = table({
    name: 'Calls',
    empty: 'No call has ended since this page was opened',
    key: (call) => `call ${call.number}`,
    details,
    columns: [
      { title: 'Time', value: (call) => call.time.slice(11, 23) },
      { title: 'Status', value: (call) => call.code, cell: outcomeOf },
      { title: 'Operation', value: (call) => call.operation },
      { title: 'Model', value: (call) => call.model || call.route },
      { title: 'Caller', value: (call) => call.caller },
      { title: 'Upstream', value: (call) => call.upstream },
      { title: 'Server', value: (call) => call.server },
      { title: 'Attempts', value: (call) => call.attempts, numeric: true },
      { title: 'Duration', value: (call) => call.duration_ms ?? 0, cell: durationCell, numeric: true },
    ],
  });
  let calls = [];
  let after = 0;
  let paused = false;
  let allowed = false;
  let ends;

  function togglePause() {
    paused = !paused;
    pause.setAttribute('aria-pressed', paused);
    setText(pause, paused ? 'Continue' : 'Pause');
    if (!paused) {
      ends.now();
    }
  }

  function filtered(event) {
    event.preventDefault();
    const before = state();
    const filter = {
      model: model.value,
      server: server.value,
      outcome: outcome.value === 'all' ? '' : outcome.value,
      slower_than_ms: slower.value,
    };
    setState({ ...filter, id: id.value.trim() });
    find();
    if (Object.entries(filter).some(([name, value]) => (before.get(name) ?? '') !== value)) {
      calls = [];
      list.update(calls);
      setText(summary, paused ? 'Continue to see the calls that match.' : ' ');
      ends.now();
    }
  }

  /** Shows the call of the field Request id, while it is kept. */
  async function find() {
    const wanted = id.value.trim();
    if (!wanted) {
      found.replaceChildren();
      return;
    }
    let shown;
    try {
      const call = await get(`/debug/calls/${encodeURIComponent(wanted)}`);
      shown = [h('h2', null, 'Call ', h('span', { class: 'mono' }, wanted), ' ', outcomeOf(call)), details(call)];
    } catch (error) {
      if (!(error instanceof ApiError)) {
        throw error;
      }
      shown = [h('p', { class: 'bad', role: 'alert' }, error.message)];
    }
    if (wanted === id.value.trim()) {
      found.replaceChildren(...shown);
    }
  }

  /** Calls need the token, as all diagnosis does. */
  async function load() {
    if (paused) {
      return null;
    }
    if (!allowed) {
      const session = await get('/session');
      if (!session.session) {
        return { configured: session.token_configured || session.oidc };
      }
      allowed = true;
    }
    const query = new URLSearchParams({ view, after, model: model.value, server: server.value, outcome: outcome.value });
    if (slower.value) {
      query.set('slower_than_ms', slower.value);
    }
    try {
      return await get(`/debug/calls?${query}`);
    } catch (error) {
      allowed = false;
      throw error;
    }
  }

  function show(document) {
    if (document === null) {
      return;
    }
    if (!document.calls) {
      setText(summary, document.configured
        ? 'Log in to see calls.'
        : 'To see calls, set admin.token_file and log in.');
      return;
    }
    if (document.last_number < after) {
      // Another process: it counts from 1 again.
      after = 0;
      return;
    }
    after = Math.max(after, document.calls[0]?.number ?? 0);
    calls = [...document.calls, ...calls].slice(0, MOST);
    list.update(withSlowness(calls));
    const skipped = document.matching_calls - document.kept_calls;
    setText(summary, `${number(document.matching_calls)} calls since the page or filter was opened`
      + (skipped > 0 ? `; ${number(skipped)} of them came too fast and are not listed` : ''));
  }

  page.append(
    h('form', { class: 'filter', onsubmit: filtered, onchange: filtered }, model, server, outcome, slower, id, pause),
    found,
    summary,
    list.element,
  );
  list.update(calls);
  ends = poll(REFRESH, load, show);
  find();
  window.addEventListener('isthmus-session', find);
  return () => {
    window.removeEventListener('isthmus-session', find);
    ends();
  };
}
