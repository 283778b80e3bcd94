// An operator's path from opening the console to the model, the server and the cause of a failure, in a headless
// Chromium. Prints the clicks and the time of each path. A path may take three clicks.
// Usage: problems.mjs ADMIN_URL TOKEN [SCREENSHOTS]; ConsoleProblemsTest starts the gateway. Of it
//   model 'replicas' has two servers, one of which answers 500; model 'stuck' has one that does not answer;
//   model 'ranker' has a canary that fails, and was rolled back; a listener's certificate has expired;
//   model 'shared' has a cache and batching, and its upstream 'good' a queue;
//   caller 'batch' calls model 'limited' too often; a model's name is HTML, and that of a caller.
import { join } from 'node:path';
import { accessible, check, expect, finish, newPage, until } from './checks.mjs';

const [admin, token, screenshots] = process.argv.slice(2);
const MOST_CLICKS = 3;
/** What a path may take; it is printed and not checked, as a busy machine takes longer. */
const MOST_SECONDS = 10;
const HOSTILE = '<img src=x onerror=alert(1)>';
const HOSTILE_CALLER = '<img/src=x/onerror=alert(1)>';

const session = await newPage({ colorScheme: 'light' });
await session.goto(admin);
await session.getByRole('button', { name: 'Log in' }).click();
await session.fill('#token', token);
await session.press('#token', 'Enter');
await session.waitForSelector('#login-dialog', { state: 'hidden' });

/** Follows one path in a new window of the session: walk(page, click). */
async function path(name, walk) {
  await check(name, async () => {
    const page = await session.context().newPage();
    const begun = Date.now();
    let clicks = 0;
    const click = async (target) => {
      clicks++;
      await target.click();
    };
    await page.goto(admin);
    await walk(page, click);
    const seconds = (Date.now() - begun) / 1000;
    console.log(`      ${clicks} clicks, ${seconds.toFixed(1)} s${seconds > MOST_SECONDS ? `, more than ${MOST_SECONDS} s` : ''}`);
    expect('clicks', clicks <= MOST_CLICKS ? 'few' : String(clicks), 'few');
    await page.close();
  });
}

const problem = (page, text) => page.locator('.problem', { hasText: text }).first();

/** The same, if it is not among the first. */
async function listed(page, click, text) {
  const found = problem(page, text);
  const more = page.getByRole('button', { name: /^Show \d+ more$/ });
  await found.or(more).first().waitFor();
  if (!(await found.isVisible())) {
    await click(more);
  }
  return found;
}

await check('overview: all that is wrong is listed, the critical first', async () => {
  await session.reload();
  await until('title', () => session.title(), /^\([1-9]\d*\) Overview - Isthmus$/);
  const kinds = () => session.$$eval('.problem', (all) => all.map((each) => each.dataset.kind).join(' '));
  await until('more', async () => {
    await session.getByRole('button', { name: /^Show \d+ more$/ }).click({ timeout: 100 }).catch(() => {});
    return kinds();
  }, /(?=.*upstream_down)(?=.*model_failing)(?=.*server_failing)(?=.*ramp_rolled_back)(?=.*certificate)(?=.*limit_reached)/);
  const severities = await session.$$eval('.problem .badge', (all) => all.map((each) => each.textContent));
  expect('order', severities.join(' '), /^(critical ?)+(warning ?)+$/);
  await accessible(session, 'problems, light');
  await session.emulateMedia({ colorScheme: 'dark' });
  await accessible(session, 'problems, dark');
  await session.emulateMedia({ colorScheme: 'light' });
  if (screenshots) {
    await session.screenshot({ path: join(screenshots, 'console-problems.png'), animations: 'disabled', fullPage: true });
  }
});

await path('a replica that answers 500: model, server, cause, error', async (page, click) => {
  const model = problem(page, "Model 'replicas' fails");
  await until('model', () => model.innerText(), /critical[\s\S]*Server \S+ of upstream 'pair' answers with 5xx: 100 % of [\d,]+ attempts; 1 of 2 servers\.[\s\S]*INTERNAL/);
  const [, server] = /Server (\S+) of/.exec(await model.innerText());
  await until('error', () => model.innerText(), /Last error,[\s\S]*ago: INTERNAL: [\s\S]*cannot allocate memory/);
  await click(problem(page, `Server ${server} of upstream 'pair' fails 100 %`).getByRole('link', { name: 'Servers' }));
  const row = page.locator('.page.servers tbody tr').first();
  await until('row', () => row.innerText(), new RegExp(`pair[\\s\\S]*${server.replaceAll('.', '\\.')}[\\s\\S]*INTERNAL`));
  expect('rows', await page.locator('.count').innerText(), /^1 of/);
});

await path('a server that does not answer: server, cause, models', async (page, click) => {
  const server = problem(page, "the only one of upstream 'hung'");
  await until('cause', () => server.innerText(), /critical[\s\S]*did not respond within[\s\S]*'stuck'/);
  await click(server.getByRole('link', { name: 'Servers' }));
  await until('row', () => page.locator('.page.servers tbody tr').first().innerText(), /hung[\s\S]*not ready[\s\S]*did not respond/);
});

await path('a canary that was rolled back: model, target, reason, button', async (page, click) => {
  const ramp = await listed(page, click, "The ramp of model 'ranker' was rolled back");
  await until('reason', () => ramp.innerText(), /target 'canary' gets no calls[\s\S]*Reason: [\s\S]*%/);
  await click(ramp.getByRole('link', { name: 'Canary' }));
  await page.waitForFunction(() => document.activeElement?.dataset.action === 'restart');
  expect('ramp', await page.locator('.ramp', { hasText: 'ranker' }).innerText(), /rolled back/);
});

await path('an expired certificate: file, since when, what to do', async (page, click) => {
  const certificate = await listed(page, click, 'has expired');
  await until('certificate', () => certificate.innerText(), /CN=gateway[\s\S]*gateway\.pem has expired[\s\S]*valid until \d{4}-[\s\S]*Replace the file[\s\S]*openssl x509/);
});

await path('a caller over its limit: caller, model, limit', async (page, click) => {
  const limit = await listed(page, click, "Caller 'batch' is over the rate limit of model 'limited'");
  await until('limit', () => limit.innerText(), /warning[\s\S]*1 requests? per second for each caller[\s\S]*'batch' \(\d+ of/);
  await click(limit.getByRole('link', { name: 'Failed calls' }));
  await until('calls', () => page.locator('.page.live tbody tr').first().innerText(), /429 RESOURCE_EXHAUSTED[\s\S]*limited/);
  expect('address', page.url(), /#\/live\?model=limited&outcome=failed$/);
});

await check('names of models are text, whatever they are', async () => {
  // The newest calls of all models may cover less time than one call of this model takes: its own are asked for.
  const filters = { live: `?${new URLSearchParams({ model: HOSTILE })}` };
  for (const page of ['overview', 'models', 'servers', 'traffic', 'live']) {
    await session.goto(`${admin}/#/${page}${filters[page] ?? ''}`);
    await session.waitForSelector(`.page.${page} h1`);
    if (page !== 'servers') {
      await until(page, () => session.locator('main').innerText(), new RegExp(HOSTILE.replaceAll(/[()]/g, '\\$&')));
    }
    expect(`elements on ${page}`, await session.locator('main img').count(), 0);
  }
  await session.goto(`${admin}/#/traffic?${new URLSearchParams({ kind: 'caller', name: HOSTILE_CALLER })}`);
  await until('caller', () => session.locator('.chart').first().locator('.legend').innerText(), /calls [1-9\d.]+\/s/);
  expect('option', await session.getByLabel('Which').locator('option:checked').innerText(), HOSTILE_CALLER);
  expect('elements', await session.locator('main img').count(), 0);
});

await check('cache, batching and queue: a row where they are configured', async () => {
  await session.goto(`${admin}/#/models?search=shared&open=shared`);
  await until('cache', () => session.locator('tr.below').first().innerText(), /Response cache\s[1-9][\d.]* % answered without a call of their own: [1-9][\d,]* hits, [\s\S]*1 response kept/);
  await until('batching', () => session.locator('tr.below').first().innerText(), /Batching\s[\s\S]*[1-9]\d* sent alone[\s\S]*at most \d+ joined now/);
  await session.goto(`${admin}/#/models?search=stuck&open=stuck`);
  await until('details', () => session.locator('tr.below').first().innerText(), /Requests that do not match/);
  expect('without', await session.locator('tr.below').first().innerText(), /^(?![\s\S]*(Response cache|Batching))/);
  await session.goto(`${admin}/#/servers`);
  await until('queue', () => session.locator('.upstreams').innerText(), /good: \d+ of 1,000 calls, 0 waiting, \S+( \S+)? on average, 0 refused by the queue, breaker/);
  expect('of one', await session.locator('.upstream', { hasText: 'refused by the queue' }).count(), 1);
});

await check('tables: worst first; filter, order and open rows are in the address', async () => {
  await session.goto(`${admin}/#/models`);
  await session.waitForSelector('.page.models tbody .opener');
  expect('first', await session.locator('.page.models tbody tr').first().innerText(), /stuck|onerror/);
  await session.getByRole('button', { name: 'Calls', exact: true }).click();
  await session.keyboard.press('/');
  await session.keyboard.press('Escape');
  await session.fill('input[type=search]', 'replicas');
  await session.click('button[aria-label="Details of replicas"]');
  expect('address', session.url(), /#\/models\?search=replicas&sort=Calls&order=descending&open=replicas$/);
  await session.reload();
  await session.waitForSelector('tr.below');
  expect('rows', await session.locator('.count').innerText(), /^1 of/);
});

await check('keyboard: / goes to the filter, g and a letter to a page', async () => {
  await session.locator('#theme').focus();
  await session.keyboard.press('g');
  await session.keyboard.press('s');
  await session.waitForSelector('.page.servers tbody .opener');
  await session.keyboard.press('/');
  expect('focus', await session.evaluate(() => document.activeElement.type), 'search');
});

await check('390 pixels: rows are cards, readiness and errors first', async () => {
  await session.setViewportSize({ width: 390, height: 900 });
  for (const page of ['overview', 'servers', 'models', 'traffic']) {
    await session.goto(`${admin}/#/${page}`);
    await session.waitForSelector(`.page.${page} ${{ overview: '.problem', traffic: '.chart' }[page] ?? 'tbody .opener'}`);
    expect(`width of ${page}`, await session.evaluate(() => document.documentElement.scrollWidth <= 390), true);
    if (page === 'servers' || page === 'models') {
      const [lead, other] = await session.evaluate(() => ['td.lead[data-title]', 'td:not(.lead)']
        .map((each) => document.querySelector(`tbody tr ${each}`).getBoundingClientRect().top));
      expect(`first on ${page}`, lead < other, true);
    }
    if (screenshots) {
      await session.screenshot({ path: join(screenshots, `narrow-${page}.png`), animations: 'disabled' });
    }
  }
  await session.setViewportSize({ width: 1280, height: 800 });
});

await check('a lost connection is said, not shown as zeros', async () => {
  await session.goto(`${admin}/#/overview`);
  const calls = session.locator('.cards .figure').first();
  await until('calls', () => calls.innerText(), /[1-9].*\/s/);
  await session.route(/console\/overview|problems|session/, (route) => route.abort());
  await until('notice', () => session.locator('#notice').innerText(), /The gateway does not respond\. What is shown is from \d\d:\d\d:\d\d\./);
  expect('marked', await session.locator('body.stale').count(), 1);
  expect('calls', await calls.innerText(), /[1-9].*\/s/);
  await session.unroute(/console\/overview|problems|session/);
  await session.locator('body:not(.stale)').waitFor();
  await until('notice', () => session.locator('#notice').innerText(), /^$/);
});

await check('charts: labels from zero, one crosshair, events, the range in the address', async () => {
  await session.goto(`${admin}/#/overview`);
  const charts = session.locator('.chart:not(.flat)');
  await until('charts', async () => String(await charts.count()), /^[3-9]/);
  expect('labels', (await charts.first().locator('.scale span').allInnerTexts()).join(' '), /^[1-9]\S*\/s( \S+\/s){3} 0\/s$/);
  await charts.first().locator('.plot svg').hover({ position: { x: 100, y: 50 } });
  const times = await charts.locator('.at').allInnerTexts();
  expect('crosshair', times[0], /^at \d\d:\d\d:\d\d$/);
  expect('of all charts', new Set(times).size, 1);
  await until('events', () => session.locator('.events').innerText(), /ramp of model 'ranker' rolled back/);
  await session.getByLabel('Range of the charts').selectOption('60');
  await session.waitForResponse((response) => response.url().endsWith('/console/overview?minutes=60'));
  expect('address', session.url(), /#\/overview\?minutes=60$/);
  await accessible(session, 'charts');
  if (screenshots) {
    await session.getByLabel('Range of the charts').selectOption('15');
    await session.screenshot({ path: join(screenshots, 'console-charts.png'), animations: 'disabled', fullPage: true });
  }
});

/** The page Traffic of what an address names; its charts have values. */
async function traffic(fields, chart) {
  await session.goto(`${admin}/#/traffic?${new URLSearchParams(fields)}`);
  await until(`charts of ${fields.name}`, () => session.locator('.chart', { hasText: chart }).locator('.legend').innerText(), /\d/);
}

await check('traffic: of a model, a target, a server and a caller; range, crosshair, events', async () => {
  await session.goto(admin);
  const links = () => session.getByRole('link', { name: 'Traffic', exact: true });
  await problem(session, "Model 'replicas' fails").getByRole('link', { name: 'Traffic' }).click();
  await until('rate', () => session.locator('.chart').first().locator('.legend').innerText(), /calls [1-9\d.]+\/s/);
  expect('address', session.url(), /#\/traffic\?kind=model&name=replicas$/);
  await until('share', () => session.locator('.chart', { hasText: 'share of calls' }).locator('.legend').innerText(), /by servers [1-9]\d[.\d]* %/);
  await until('line', () => session.locator('.chart path.line0').first().getAttribute('d'), /^M.*L/);
  const charts = session.locator('.chart:not(.flat)');
  await charts.first().locator('.plot svg').hover({ position: { x: 100, y: 50 } });
  expect('crosshair', new Set(await charts.locator('.at').allInnerTexts()).size, 1);
  await accessible(session, 'traffic, light');
  await session.emulateMedia({ colorScheme: 'dark' });
  await accessible(session, 'traffic, dark');
  await session.emulateMedia({ colorScheme: 'light' });
  await traffic({ kind: 'target', of: 'ranker', name: 'canary' }, 'Calls and errors per second');
  const pair = problem(session, "of upstream 'pair' fails 100 %");
  await session.goto(admin);
  await pair.getByRole('link', { name: 'Traffic' }).click();
  await until('server', () => session.locator('.chart', { hasText: 'share of attempts' }).locator('.legend').innerText(), /5xx 100 %/);
  await traffic({ kind: 'caller', name: 'batch' }, 'Calls and errors per second');
  await until('limited', () => session.locator('.chart', { hasText: 'share of calls' }).locator('.legend').innerText(), /over a limit [1-9]/);
  await until('durations', () => session.locator('.chart', { hasText: 'Duration of successful calls' }).locator('.legend').innerText(), /p50 \d[\s\S]*p99 \d/);
  await session.getByLabel('Which').selectOption({ label: 'web' });
  await until('address', async () => session.url(), /kind=caller&name=web$/);
  await session.getByLabel('Range of the charts').selectOption('60');
  await session.waitForResponse((response) => response.url().endsWith('kind=caller&of=&name=web&minutes=60'));
  expect('range', session.url(), /minutes=60$/);
  await session.getByLabel('What', { exact: true }).selectOption('server');
  await until('first', async () => session.url(), /kind=server/);
  await until('options', async () => String(await session.getByLabel('Which').locator('option').count()), /^[3-9]/);
  await traffic({ kind: 'model', name: 'replicas' }, 'Calls and errors per second');
  await session.goto(`${admin}/#/traffic?kind=model&name=nowhere`);
  await until('unknown', () => session.locator('.page.traffic [role=status]').innerText(), /nowhere is not among the 50 with the most calls/);
  expect('links', await links().count() >= 1, true);
  expect('dashboards', await session.getByRole('link', { name: 'Dashboards' }).getAttribute('href'), 'https://grafana.example/d/isthmus');
});

/** Fields of documents that have names and texts of clients, servers and operators. */
const TEXTS = new Set(['server', 'upstream', 'name', 'caller', 'principal', 'reason', 'text', 'cause', 'next_step', 'command', 'model', 'served_model',
  'route', 'target', 'who', 'subject', 'before', 'after', 'failure', 'request_id', 'said', 'merged', 'label', 'of']);

/** The document with a hostile text in each of these fields. */
function hostile(document, field) {
  if (Array.isArray(document)) {
    return document.map((each) => hostile(each, field));
  }
  if (document !== null && typeof document === 'object') {
    return Object.fromEntries(Object.entries(document).map(([name, value]) => [name, hostile(value, name)]));
  }
  return typeof document === 'string' && TEXTS.has(field) ? `${HOSTILE}${document}` : document;
}

await check('texts of servers, callers, upstreams and operators are text on each page', async () => {
  const page = await session.context().newPage();
  const broken = [];
  page.on('pageerror', (error) => broken.push(String(error)));
  page.on('dialog', (dialog) => broken.push(dialog.message()));
  await page.route(/\/(problems|servers\?.*|console\/models.*|console\/overview.*|console\/traffic.*|debug\/(errors|calls)\?.*|audit\?.*|ramps|shadows)$/, async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: hostile(await response.json(), '') });
  });
  for (const name of ['overview', 'models', 'servers', 'traffic', 'canary', 'live', 'audit']) {
    await page.goto(`${admin}/#/${name}`);
    await until(name, () => page.locator('main').innerHTML(), /&lt;img src=x onerror=alert\(1\)&gt;/);
    // At once: rows of the page Live move every second.
    await page.evaluate(() => [...document.querySelectorAll('.opener')].slice(0, 3).forEach((opener) => opener.click()));
    expect(`elements on ${name}`, await page.locator('main img').count(), 0);
  }
  expect('faults', broken.join('; '), '');
  await page.close();
});

/** What a gateway with 20,000 models and 200 servers answers: the page shows at most 500 models. */
function largeFleet() {
  const number = (index) => String(index).padStart(5, '0');
  const models = Array.from({ length: 500 }, (_, index) => ({
    name: `model-${number(index)}`, kind: 'model', aliases: [], labels: {}, versions: [], drift: [],
    targets: [{ name: 'u', upstream: 'u', model: '', version: '', share: 1, calls: index, real_share: 1,
      replicas: [0, 1, 2].map((each) => ({ server: `10.0.0.${each}:8000`, server_ready: true, ready: index % 7 > 0 })) }],
    traffic: { rate: Math.random() * 100, client_errors: 0, server_errors: index % 5 ? 0 : Math.random(), p50: 0.01, p95: 0.02, p99: 0.03 },
  }));
  const servers = Array.from({ length: 200 }, (_, index) => ({
    upstream: `u${index % 20}`, server: `10.0.${index % 20}.${index}:8000`, ready: index % 10 > 0, reason: index % 10 ? '' : 'is not reachable', ejected: false,
    in_flight: index, ejections: 0, calls: Math.floor(Math.random() * 1e6), failed: index, server_errors: 0, seconds: Math.random() * 1e4,
    models_all: 400, models_ready: 390, models: Array.from({ length: 10 }, (__, model) => ({ name: `model-${number(model)}`, version: '', ready: false })),
  }));
  const upstreams = Array.from({ length: 20 }, (_, index) => ({ upstream: `u${index}`, breaker: 'closed', in_flight: 1, limit: 1000 }));
  return {
    '/console/models': { window_seconds: 60, all: 20_000, matching: 20_000, models },
    '/servers': { ready: true, reason: '', missing: [], servers, upstreams },
  };
}

/** The CPU time of the page's thread, in milliseconds. */
async function busy(devtools) {
  const { metrics } = await devtools.send('Performance.getMetrics');
  return 1000 * metrics.find((each) => each.name === 'TaskDuration').value;
}

await check('20,000 models and 200 servers: the page scrolls; the CPU time of a reading is printed', async () => {
  const page = await session.context().newPage();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  let readings = 0;
  await page.route(/\/console\/models|\/servers\?/, (route) => {
    readings++;
    return route.fulfill({ json: largeFleet()[new URL(route.request().url()).pathname] });
  });
  for (const [name, rows] of [['models', '500'], ['servers', '200']]) {
    await page.goto(`${admin}/#/${name}`);
    await until('rows', () => page.locator('.count').innerText(), new RegExp(`^${rows}$`));
    const [before, from] = [await busy(devtools), readings];
    await until('readings', async () => String(readings - from), /^[3-9]/);
    await page.mouse.wheel(0, 5_000);
    await page.waitForFunction(() => window.scrollY > 1_000);
    console.log(`      ${name}: ${((await busy(devtools) - before) / (readings - from)).toFixed(0)} ms of CPU a reading`);
    expect('lines', await page.locator('tbody tr').count(), 100);
    await page.getByRole('button', { name: 'Next rows' }).click();
    await until('next rows', () => page.locator('.pages .quiet').innerText(), new RegExp(`^101 to 200 of ${rows}$`));
    await page.fill('input[type=search]', name === 'models' ? 'model-00499' : '10.0.19.199');
    await until('found', async () => String(await page.locator('tbody tr').count()), /^1$/);
    expect('pages', await page.getByRole('button', { name: 'Next rows' }).isVisible(), false);
  }
  await page.close();
});

await finish();
