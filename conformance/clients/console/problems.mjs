// An operator's path from opening the console to the model, the server and the cause of a failure, in a headless
// Chromium. Prints the clicks and the time of each path. A path may take three clicks.
// Usage: problems.mjs ADMIN_URL TOKEN [SCREENSHOTS]; ConsoleProblemsTest starts the gateway. Of it
//   model 'replicas' has two servers, one of which answers 500; model 'stuck' has one that does not answer;
//   model 'ranker' has a canary that fails, and was rolled back; a listener's certificate has expired;
//   caller 'batch' calls model 'limited' too often; a model's name is HTML.
import { join } from 'node:path';
import { accessible, check, expect, finish, newPage, until } from './checks.mjs';

const [admin, token, screenshots] = process.argv.slice(2);
const MOST_CLICKS = 3;
const HOSTILE = '<img src=x onerror=alert(1)>';

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
    console.log(`      ${clicks} clicks, ${((Date.now() - begun) / 1000).toFixed(1)} s`);
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
  await click(problem(page, `Server ${server} of upstream 'pair' fails 100 %`).getByRole('link'));
  const row = page.locator('.page.servers tbody tr').first();
  await until('row', () => row.innerText(), new RegExp(`pair[\\s\\S]*${server.replaceAll('.', '\\.')}[\\s\\S]*INTERNAL`));
  expect('rows', await page.locator('.count').innerText(), /^1 of/);
});

await path('a server that does not answer: server, cause, models', async (page, click) => {
  const server = problem(page, "the only one of upstream 'hung'");
  await until('cause', () => server.innerText(), /critical[\s\S]*did not respond within[\s\S]*'stuck'/);
  await click(server.getByRole('link'));
  await until('row', () => page.locator('.page.servers tbody tr').first().innerText(), /hung[\s\S]*not ready[\s\S]*did not respond/);
});

await path('a canary that was rolled back: model, target, reason, button', async (page, click) => {
  const ramp = await listed(page, click, "The ramp of model 'ranker' was rolled back");
  await until('reason', () => ramp.innerText(), /target 'canary' gets no calls[\s\S]*Reason: [\s\S]*%/);
  await click(ramp.getByRole('link'));
  await page.waitForFunction(() => document.activeElement?.dataset.action === 'restart');
  expect('ramp', await page.locator('.ramp', { hasText: 'ranker' }).innerText(), /rolled back/);
});

await path('an expired certificate: file, since when, what to do', async (page, click) => {
  const certificate = await listed(page, click, 'has expired');
  await until('certificate', () => certificate.innerText(), /CN=gateway[\s\S]*gateway\.pem has expired[\s\S]*valid until \d{4}-[\s\S]*Replace the file[\s\S]*openssl x509/);
});

await path('a caller over its limit: caller, model, limit', async (page, click) => {
  const limit = await listed(page, click, "Caller 'batch' is over the rate limit of model 'limited'");
  await until('limit', () => limit.innerText(), /warning[\s\S]*5 requests per second for each caller[\s\S]*'batch' \(\d+ of/);
  await click(limit.getByRole('link'));
  await until('calls', () => page.locator('.page.live tbody tr').first().innerText(), /429 RESOURCE_EXHAUSTED[\s\S]*limited/);
  expect('address', page.url(), /#\/live\?model=limited&outcome=failed$/);
});

await check('names of models are text, whatever they are', async () => {
  for (const page of ['overview', 'models', 'servers', 'live']) {
    await session.goto(`${admin}/#/${page}`);
    await session.waitForSelector(`.page.${page} h1`);
    if (page !== 'servers') {
      await until(page, () => session.locator('main').innerText(), new RegExp(HOSTILE.replaceAll(/[()]/g, '\\$&')));
    }
    expect(`elements on ${page}`, await session.locator('main img').count(), 0);
  }
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
  for (const page of ['overview', 'servers', 'models']) {
    await session.goto(`${admin}/#/${page}`);
    await session.waitForSelector(`.page.${page} ${page === 'overview' ? '.problem' : 'tbody .opener'}`);
    expect(`width of ${page}`, await session.evaluate(() => document.documentElement.scrollWidth <= 390), true);
    if (page !== 'overview') {
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
    models: Array.from({ length: 200 }, (__, model) => ({ name: `model-${number(model)}`, version: '', ready: true })),
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
  await devtools.send('Performance.enable');
  let readings = 0;
  await page.route(/\/console\/models|\/servers$/, (route) => {
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
  }
  await page.close();
});

await finish();
