// One request to a model: a form made from its metadata, the request as commands, the answer, and what became of the call.
import { ApiError, get, notice, post } from './api.js';
import { badge, h, section, svg } from './dom.js';
import { bytes, duration, number } from './format.js';
import { guarded } from './session.js';
import { image, table } from './tensors.js';

const FORMS = [['json', 'REST, JSON'], ['binary', 'REST, binary data'], ['grpc', 'gRPC']];
const TYPES = ['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FP16', 'BF16', 'FP32', 'FP64', 'BYTES'];
const NAMES = { curl: 'curl', grpcurl: 'grpcurl', python: 'Python' };
/** Examples of more elements are not written out: an empty field means zeros. */
const MOST_WRITTEN = 256;

function query(name) {
  return new URLSearchParams(location.hash.split('?')[1] ?? '').get(name) ?? '';
}

/** Values to begin with: small, and different, so that a response to them says something. */
function examples(datatype, count) {
  const at = {
    BOOL: (index) => String(index % 2 === 0), BYTES: (index) => `"${index % 10}"`,
    FP16: fraction, BF16: fraction, FP32: fraction, FP64: fraction,
  }[datatype] ?? ((index) => String(index % 10));
  return `[${Array.from({ length: count }, (_, index) => at(index)).join(', ')}]`;
}

function fraction(index) {
  return ((index % 10) / 10).toFixed(1);
}

/** The fields of one input; fixed if the metadata name it. */
function fields(input, changed) {
  const count = input.shape.reduce((product, extent) => product * extent, 1);
  const name = h('input', { value: input.name, onchange: changed });
  const datatype = h('select', { onchange: changed }, TYPES.map((type) => h('option', { selected: type === input.datatype }, type)));
  const shape = h('input', { value: input.shape.join(', '), onchange: changed });
  const data = h('textarea', { rows: '3', spellcheck: 'false', placeholder: 'zeros', onchange: changed },
    count <= MOST_WRITTEN ? examples(input.datatype, count) : '');
  const element = h('fieldset', { class: 'input' },
    h('legend', null, input.declared ? `${input.name}: ${input.datatype} [${input.declared.join(', ')}]` : 'Input'),
    input.declared ? null : h('label', null, 'Name ', name),
    input.declared ? null : h('label', null, 'Datatype ', datatype),
    h('label', null, 'Shape ', shape),
    h('label', { class: 'data' }, 'Data, as JSON; empty: zeros', data));
  return {
    element,
    value: () => ({
      name: name.value,
      datatype: input.declared ? input.datatype : datatype.value,
      shape: shape.value.split(/[^-0-9.]+/).filter(Boolean).map(Number),
      data: data.value,
    }),
  };
}

/** What the gateway waited for in each phase, one after the other; a call that fails may not reach all. */
const PHASES = { request_ms: 'request received', upstream_ms: 'response awaited', response_ms: 'response written' };

function timeline(call) {
  const total = Math.max(call.duration_ms, 1e-6);
  const phases = Object.entries(PHASES).filter(([key]) => key in call).map(([key, name]) => ({ name, ms: call[key] }));
  let from = 0;
  const parts = phases.map((phase, index) => {
    const part = svg('rect', { class: `phase${index}`, x: (from / total) * 100, y: 0, width: Math.max(0.3, (phase.ms / total) * 100), height: 10 });
    from += phase.ms;
    return part;
  });
  return [
    svg('svg', { class: 'phases', viewBox: '0 0 100 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': phases.map((phase) => `${phase.name}: ${duration(phase.ms / 1e3)}`).join(', ') }, parts),
    h('ul', { class: 'plain' }, phases.map((phase, index) => h('li', null, h('i', { class: `key phase${index}` }), ` ${phase.name}: ${duration(phase.ms / 1e3)}`))),
  ];
}

function facts(pairs) {
  return h('dl', { class: 'facts' }, pairs.filter(([, value]) => value !== '' && value !== undefined).flatMap(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

function whatHappened(answer) {
  const call = answer.timeline;
  if (!call) {
    return [h('p', null, 'The call did not reach the gateway.')];
  }
  return [
    timeline(call),
    facts([
      ['Result', call.code === 'OK' ? 'OK' : `${call.code}: ${call.reason}`],
      ['Total', duration(call.duration_ms / 1e3)],
      ['Listener', `${call.listener}, ${call.protocol}`],
      ['Caller', call.caller],
      ['Route', call.route],
      ['Upstream', call.upstream],
      ['Server', call.server],
      ['Model there', call.served_model && `${call.served_model}${call.served_version ? ` version ${call.served_version}` : ''}`],
      ['Attempts', number(call.attempts)],
      ['Retried because of', call.retries.join(', ')],
      ['Request, response', `${bytes(call.request_bytes)}, ${bytes(call.response_bytes)}`],
      ['Request id', answer.request_id],
    ]),
  ];
}

/** The response with one line for each output. */
function json({ outputs = [], ...head }) {
  const lines = Object.entries(head).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  return ['{', ...lines, '  "outputs": [', outputs.map((output) => `    ${JSON.stringify(output)}`).join(',\n'), '  ]', '}'].join('\n');
}

function shown(output, view) {
  const picture = view === 'image' ? image(output) : null;
  return h('div', { class: 'output' },
    h('h3', null, `${output.name}: ${output.datatype} [${output.shape.join(', ')}]`),
    output.omitted ? h('p', { class: 'quiet' }, `Not shown: ${output.omitted}`)
      : view === 'image' ? picture ?? h('p', { class: 'quiet' }, 'Not an image: needs [height, width] with 1, 3 or 4 channels, or a text with a PNG or JPEG in base64.')
        : table(output));
}

export function mount(page) {
  let inputs = [];
  let model = '';
  let asked = 0;
  let ready = false;
  const names = h('datalist', { id: 'try-models' });
  const name = h('input', { list: 'try-models', required: true, autocomplete: 'off' });
  const version = h('input', { placeholder: 'any' });
  const forms = FORMS.map(([value, text], index) => h('label', null, h('input', { type: 'radio', name: 'form', value, checked: index === 0, onchange: changed }), ` ${text}`));
  const authorization = h('input', { type: 'password', autocomplete: 'off', placeholder: 'Bearer …', onchange: changed });
  const others = h('textarea', { rows: '2', spellcheck: 'false', placeholder: 'name: value', onchange: changed });
  const tensors = h('div', { class: 'inputs' });
  const about = h('p', { class: 'quiet' }, 'Choose a model.');
  const add = h('button', { type: 'button', hidden: true, onclick: () => { append({ name: '', datatype: 'FP32', shape: [1] }); changed(); } }, 'Add an input');
  const send = h('button', { type: 'submit', class: 'primary', disabled: true }, 'Send');
  const sending = guarded(send, 'operate');
  const status = h('span', { role: 'status', class: 'status' });
  const commands = h('div', { class: 'commands' });
  const result = h('div', { class: 'result' });

  const form = h('form', { onsubmit: submit },
    h('p', { class: 'row' },
      h('label', null, 'Model ', name), h('label', null, 'Version ', version),
      h('button', { type: 'button', onclick: load }, 'Read metadata')),
    about, tensors, add,
    h('fieldset', null, h('legend', null, 'Sent as'), forms),
    h('details', null, h('summary', null, 'Credentials and headers'),
      h('p', null, h('label', null, 'Authorization header (not stored) ', authorization)),
      h('p', null, h('label', null, 'Other header fields, one on each line', others))),
    h('p', { class: 'buttons' }, send, sending.element, status));
  page.append(names, section('Request', form), section('As a command', commands), result);
  name.addEventListener('change', load);

  function append(input) {
    const made = fields(input, changed);
    inputs.push(made);
    tensors.append(made.element);
  }

  function headers() {
    const all = Object.fromEntries(others.value.split('\n').filter((line) => line.includes(':'))
      .map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]));
    return authorization.value ? { ...all, authorization: authorization.value } : all;
  }

  function request() {
    return {
      model,
      version: version.value.trim(),
      form: form.querySelector('input[name=form]:checked').value,
      headers: headers(),
      inputs: inputs.map((input) => input.value()),
    };
  }

  async function list() {
    try {
      const [index, config] = await Promise.all([get('/index'), get('/config')]);
      const all = new Set([...index.models.map((each) => each.name), ...Object.keys(config.config.models ?? {}).filter((each) => !each.includes('*'))]);
      names.replaceChildren(...[...all].sort().map((each) => h('option', { value: each })));
      const [first] = index.models.filter((each) => each.state === 'READY').map((each) => each.name).sort();
      if (first && !name.value) {
        name.value = first;
        load();
      }
    } catch (error) {
      if (!(error instanceof ApiError)) {
        throw error;
      }
      notice(error.message, 'bad');
    }
  }

  async function load() {
    const mine = ++asked;
    model = name.value.trim();
    ready = false;
    sending.update(true);
    inputs = [];
    tensors.replaceChildren();
    commands.replaceChildren();
    if (!model) {
      return;
    }
    try {
      const found = await get(`/console/try?${new URLSearchParams({ model, version: version.value.trim(), host: location.hostname })}`);
      if (mine !== asked) {
        return;
      }
      about.textContent = [found.platform && `Platform ${found.platform}.`, found.versions.length ? `Versions ${found.versions.join(', ')}.` : '', found.obstacle && `No example: ${found.obstacle}.`].filter(Boolean).join(' ') || ' ';
      found.inputs.forEach(append);
      add.hidden = found.inputs.length > 0;
      if (!add.hidden) {
        append({ name: '', datatype: 'FP32', shape: [1] });
      }
      ready = true;
      sending.update(false);
      show(found.commands?.[request().form]);
      notice('');
    } catch (error) {
      failed(error, (text) => { about.textContent = text; });
    }
  }

  function failed(error, tell) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
    tell(error.message);
  }

  function show(made) {
    commands.replaceChildren(...Object.entries(made ?? {}).map(([tool, text]) => h('div', { class: `command ${tool}` },
      h('h3', null, NAMES[tool], ' ', h('button', { type: 'button', 'aria-label': `Copy the command for ${NAMES[tool]}`, onclick: () => navigator.clipboard.writeText(text) }, 'Copy')),
      h('pre', { tabindex: '0' }, text))));
  }

  async function changed() {
    if (!ready) {
      return;
    }
    const mine = ++asked;
    try {
      const made = await post(`/console/try/commands?${new URLSearchParams({ host: location.hostname })}`, request());
      if (mine === asked) {
        status.textContent = '';
        show(made);
      }
    } catch (error) {
      failed(error, (text) => { status.textContent = text; });
    }
  }

  async function submit(event) {
    event.preventDefault();
    sending.update(true);
    status.textContent = 'Waiting for the response';
    result.replaceChildren();
    try {
      const answer = await post('/console/try', request());
      status.textContent = '';
      present(answer);
    } catch (error) {
      failed(error, (text) => { status.textContent = text; });
    } finally {
      sending.update(!ready);
    }
  }

  function present(answer) {
    const outputs = h('div', { class: 'outputs' });
    const view = (kind) => outputs.replaceChildren(...(kind === 'json'
      ? [h('pre', { tabindex: '0' }, json(answer.response))]
      : (answer.response.outputs ?? []).map((output) => shown(output, kind))));
    const views = h('fieldset', { class: 'views' }, h('legend', null, 'Shown as'),
      [['table', 'Table'], ['image', 'Image'], ['json', 'JSON']].map(([kind, text], index) =>
        h('label', null, h('input', { type: 'radio', name: 'view', value: kind, checked: index === 0, onchange: () => view(kind) }), ` ${text}`)));
    if (answer.response) {
      view('table');
    }
    const good = answer.status === 200;
    result.replaceChildren(
      section('Answer',
        h('p', { class: 'answer' }, badge(good ? 'good' : 'bad', good ? 'OK' : `${answer.status} ${answer.code}`), ` through ${answer.listener}; ${duration(answer.milliseconds / 1e3)} client time, including connect`),
        good ? [views, outputs] : h('p', { class: 'bad', role: 'alert' }, answer.error)),
      section('Timeline of the call', ...whatHappened(answer)),
      section('Routing decision', h('ul', { class: 'plain explain' }, answer.explain.map((line) => h('li', null, line)))));
  }

  list();
  if (query('model')) {
    name.value = query('model');
    version.value = query('version');
    load();
  }
  return sending.end;
}
