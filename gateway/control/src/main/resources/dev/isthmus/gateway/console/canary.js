// Ramps: their steps, what their guards see, and their buttons. Shadows: how their responses differ.
import { confirmed, get, notice, poll, post } from './api.js';
import { badge, h, replaceIfChanged, svg } from './dom.js';
import { ago, duration, number, percent, plural } from './format.js';
import { forbidden } from './session.js';
import { state } from './state.js';

const REFRESH = 2_000;
const STATES = { running: 'good', paused: 'warn', complete: 'good', rolled_back: 'bad' };
const ACTIONS = {
  pause: { title: 'Pause', states: ['running'], text: 'Its share stays as it is until it is resumed. The guard stays active.' },
  resume: { title: 'Resume', states: ['paused'], text: 'It goes on with its steps.' },
  rollback: { title: 'Roll back', states: ['running', 'paused', 'complete'], danger: true, text: 'The target gets no calls until the ramp is restarted.' },
  restart: { title: 'Restart', states: ['paused', 'complete', 'rolled_back'], text: 'It begins again with its first step.' },
};

/** The steps as stairs: those that were taken, and the present one, are filled. */
function stairs(ramp) {
  const width = 100 / ramp.steps.length;
  const taken = ramp.state === 'rolled_back' ? 0 : ramp.step;
  const text = `Step ${ramp.step} of ${ramp.steps.length}, share ${percent(ramp.share)}: steps ${ramp.steps.map(percent).join(', ')}`;
  return h('div', { class: 'stairs' },
    svg('svg', { viewBox: '0 0 100 40', preserveAspectRatio: 'none', role: 'img', 'aria-label': text },
      ramp.steps.map((share, index) => {
        const height = Math.max(1, 40 * share);
        const kind = index < taken - 1 ? 'past' : index === taken - 1 ? `present ${ramp.state}` : 'future';
        return svg('rect', { class: `step ${kind}`, x: index * width + 0.4, width: width - 0.8, y: 40 - height, height });
      })),
    h('ol', { class: 'shares' }, ramp.steps.map((share, index) => h('li', index === taken - 1 ? { 'aria-current': 'step' } : null, percent(share)))));
}

/** A value against its limit: the limit is at two thirds of the width. */
function gauge(title, value, limit, format, about) {
  const known = typeof value === 'number';
  const infinite = value === 'infinite';
  const bounded = typeof limit === 'number' && limit > 0;
  const share = infinite ? 1 : known && bounded ? Math.min(1, (value / limit) * (2 / 3)) : 0;
  const over = infinite || (known && bounded && value > limit);
  const text = `${infinite ? 'not comparable' : known ? format(value) : '–'}${bounded ? `, limit ${format(limit)}` : ', no limit'}`;
  return h('div', { class: 'gauge' },
    h('div', null, h('b', null, title), ` ${text}`),
    svg('svg', { class: 'bar', viewBox: '0 0 90 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${title} ${text}` },
      svg('rect', { class: 'ground', width: 90, height: 10 }),
      svg('rect', { class: over ? 'over' : 'part', width: (90 * share).toFixed(2), height: 10 }),
      bounded ? svg('line', { class: 'limit', x1: 60, x2: 60, y1: 0, y2: 10 }) : null),
    h('div', { class: 'quiet' }, about));
}

function guard({ guard: figures }) {
  const { error_rate: errors, p95_seconds: p95, difference } = figures;
  const ratio = p95.others > 0 && p95.target > 0 ? p95.target / p95.others : undefined;
  return h('div', { class: 'gauges' },
    gauge('Failed calls', figures.calls > 0 ? errors.target : undefined, errors.limit, percent, `others ${percent(errors.others)}; evaluated after ${number(figures.minimum_calls)} calls; ${number(figures.calls)} so far`),
    gauge('p95 vs other targets', ratio, p95.limit_ratio, (value) => `×${number(value)}`, `${duration(p95.target || undefined)}, others ${duration(p95.others || undefined)}`),
    gauge('Difference of the shadow', difference.target, difference.limit ?? undefined, number, difference.limit === null ? 'needs max_difference and a shadow of this name' : 'largest in this step'));
}

function ramp(each, act) {
  const step = each.state === 'running'
    ? `Step ${each.step} of ${each.steps.length} for ${duration(each.step_seconds)} of at least ${duration(each.interval_seconds)}, ${number(each.step_answered)} of ${plural(each.minimum_requests, 'call')} answered.`
    : `Changed ${ago(each.changed)}.`;
  return h('section', { class: 'ramp', 'aria-label': `Ramp of ${each.model}` },
    h('h3', null, `${each.model} → ${each.target} `, badge(STATES[each.state], each.state.replace('_', ' ')), ` ${percent(each.share)}`),
    each.reason ? h('p', { class: 'bad' }, each.reason) : null,
    each.held ? h('p', { class: 'warn' }, `Held: ${each.held}.`) : null,
    h('p', { class: 'quiet step-text' }, step),
    stairs(each),
    guard(each),
    forbidden('operate') ? h('p', { class: 'quiet' }, forbidden('operate')) : null,
    h('p', { class: 'buttons' }, Object.entries(ACTIONS).map(([action, { title, states, danger }]) =>
      h('button', {
        type: 'button', class: danger ? 'danger' : null, disabled: !states.includes(each.state) || forbidden('operate') !== '',
        'data-action': action, onclick: () => act(each.model, each.target, action),
      }, title))));
}

function distribution(output) {
  const most = Math.max(...output.distribution.map((range) => range.count), 1);
  const label = (range, index) => (index === 0 ? '0' : range.at_most === 'infinite' ? `> ${output.distribution.at(-2).at_most}` : `≤ ${range.at_most}`);
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Differences of ${output.output}` }, h('table', { class: 'distribution' },
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Largest difference'), h('th', { scope: 'col', class: 'number' }, 'Responses'), h('th', { scope: 'col' }, 'Share'))),
    h('tbody', null, output.distribution.map((range, index) => h('tr', null,
      h('td', null, label(range, index)),
      h('td', { class: 'number' }, number(range.count)),
      h('td', null, svg('svg', { class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
        svg('rect', { class: 'ground', width: 100, height: 10 }),
        svg('rect', { class: 'part', width: ((100 * range.count) / most).toFixed(2), height: 10 }))))))));
}

function outputs(each) {
  return h('table', { 'aria-label': `Outputs of ${each.shadow}` },
    h('thead', null, h('tr', null, ['Output', 'Compared', 'Worst difference', 'Mean cosine', 'Same argmax', 'Equal elements'].map((title) => h('th', { scope: 'col' }, title)))),
    h('tbody', null, each.outputs.map((output) => h('tr', null,
      h('td', null, output.output),
      h('td', null, number(output.compared)),
      h('td', null, output.worst_difference === 'infinite' ? 'not comparable' : number(output.worst_difference)),
      h('td', null, number(output.mean_cosine)),
      h('td', null, percent(output.mean_argmax_agreement)),
      h('td', null, percent(output.mean_equal_share))))));
}

function shadow(each) {
  const { requests, comparisons } = each;
  const worst = each.worst_difference === 'infinite' ? 'not comparable' : number(each.worst_difference);
  return h('section', { class: 'shadow', 'aria-label': `Shadow ${each.shadow} of ${each.model}` },
    h('h3', null, `${each.model} ⇢ ${each.shadow} `,
      badge(comparisons.different > 0 ? 'warn' : comparisons.equal > 0 ? 'good' : 'none', `${number(comparisons.different)} different, ${number(comparisons.equal)} equal`)),
    h('p', { class: 'quiet' }, `Copies: ${Object.entries(requests).map(([outcome, count]) => `${number(count)} ${outcome.replace('_', ' ')}`).join(', ')}. Worst difference of the last five minutes: ${worst}.`),
    each.outputs.length ? h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Outputs of ${each.shadow}` }, outputs(each)) : null,
    each.outputs.filter((output) => output.distribution.length).slice(0, 4).map((output) => [h('h4', null, `Output ${output.output}`), distribution(output)]),
    each.examples.length ? [h('h4', null, 'Last differences'), h('ul', { class: 'plain' }, each.examples.map((example) => h('li', null,
      `${duration(example.seconds_ago)} ago: ${example.output ? `output ${example.output}` : 'the response'}, ${example.reason.replaceAll('_', ' ')}${typeof example.difference === 'number' && example.difference > 0 ? ` of ${number(example.difference)}` : ''} `, example.request_id ? h('a', { href: `#/live?${new URLSearchParams({ id: example.request_id })}` }, 'Call') : null)))] : null);
}

export function mount(page) {
  const ramps = h('div', { class: 'ramps' });
  const shadows = h('div', { class: 'shadows' });
  page.append(h('h2', null, 'Ramps'), ramps, h('h2', null, 'Shadows'), shadows);

  async function act(model, target, action) {
    const { title, text } = ACTIONS[action];
    if (!(await confirmed(`${title} the ramp of ${model}?`, `Target ${target}. ${text}`, title))) {
      return;
    }
    try {
      await post(`/ramps/${encodeURIComponent(model)}/${action}`);
      notice(`${title}: done for ${model}.`, 'good');
      end.now();
    } catch (error) {
      notice(`${title}: ${error.message}`, 'bad');
    }
  }

  /** Keeps the focus on the button that had it. */
  function refill(element, shown, make) {
    const focused = document.activeElement?.closest?.('[data-action]');
    const index = focused && element.contains(focused) ? [...element.querySelectorAll('button')].indexOf(focused) : -1;
    replaceIfChanged(element, shown, make);
    if (index >= 0 && !document.contains(focused)) {
      element.querySelectorAll('button')[index]?.focus();
    }
  }

  let wanted = state().get('search');
  const end = poll(REFRESH, () => Promise.all([get('/ramps'), get('/shadows')]), ([allRamps, allShadows]) => {
    refill(ramps, [allRamps, forbidden('operate')], () => (allRamps.length ? allRamps.map((each) => ramp(each, act)) : h('p', { class: 'quiet' }, 'No model has a ramp.')));
    if (wanted) {
      const found = [...ramps.children].find((each) => each.getAttribute('aria-label') === `Ramp of ${wanted}`);
      found?.scrollIntoView({ block: 'nearest' });
      found?.querySelector('button:not(:disabled)')?.focus({ preventScroll: true });
      wanted = null;
    }
    refill(shadows, allShadows, () => (allShadows.length ? allShadows.map(shadow) : h('p', { class: 'quiet' }, 'No model has a shadow.')));
  });
  window.addEventListener('isthmus-role', end.now);
  return () => {
    window.removeEventListener('isthmus-role', end.now);
    end();
  };
}
