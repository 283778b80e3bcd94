// Uses the console in a headless Chromium, page by page, and prints a line per check.
// Usage: run.mjs ADMIN_URL GUARDED_ADMIN_URL TOKEN [SCREENSHOTS]; ConsoleTest starts the gateways.
import { join } from 'node:path';
import { accessible, check, expect, finish, newPage, until } from './checks.mjs';

const [admin, guarded, token, screenshots] = process.argv.slice(2);

async function open(url, options) {
  const page = await newPage(options);
  await page.goto(url);
  return page;
}

async function visit(page, name) {
  await page.click(`nav a[href="#/${name}"]`);
  await page.waitForSelector(`.page.${name} h1`);
  await page.waitForFunction(() => document.querySelector('.page').childElementCount > 1);
}

async function fits(page, name) {
  const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(`width of ${name} at ${width}`, content <= width ? 'fits' : `${content} pixels`, 'fits');
  const narrow = await page.$$eval('td.empty', (cells) => cells.filter((cell) => cell.offsetWidth < 200).length);
  expect(`texts of empty tables of ${name} in a narrow column at ${width}`, narrow, 0);
}

async function picture(page, name) {
  if (screenshots) {
    await page.screenshot({ path: join(screenshots, `console-${name}.png`), animations: 'disabled' });
  }
}

const page = await open(admin, { colorScheme: 'light' });
const names = await page.$$eval('nav a', (links) => links.map((link) => link.hash.slice(2)));

await check('overview: figures after calls', async () => {
  const card = (title) => () => page.locator('.cards .card', { hasText: title }).first().innerText();
  await until('calls', card('Calls'), /[1-9][\d,.]*\/s/);
  await until('p99', card('p99'), /ms|s/);
  await until('gateway time', card('Gateway time'), /\d (µs|ms|s)\s/);
  expect('generation', await page.locator('#generation').innerText(), /^1, for /);
  expect('state', await page.locator('.state').innerText(), /serving/);
  await until('chart', () => page.locator('.chart path.line0').first().getAttribute('d'), /^M.*L/);
  if (screenshots) {
    await page.waitForTimeout(150_000);
  }
  await picture(page, 'overview');
});

await check('models: hundreds, search, targets, drift', async () => {
  await visit(page, 'models');
  await until('rows', () => page.locator('.count').innerText(), /^30\d$/);
  await page.fill('input[type=search]', 'batch-017');
  expect('found', await page.locator('.count').innerText(), /^1 of 30\d$/);
  await page.fill('input[type=search]', 'nothing like it');
  expect('without a match', await page.locator('tbody').innerText(), /No row matches/);
  await page.fill('input[type=search]', 'score');
  await until('drift', () => page.locator('tbody tr').first().innerText(), /[1-9] differences/);
  await page.click('button[aria-label="Details of score"]');
  const details = page.locator('tr.below');
  expect('targets', await details.innerText(), /stable[\s\S]*90 %[\s\S]*next[\s\S]*10 %/);
  await until('real share', () => details.locator('tbody tr').first().innerText(), /stable[\s\S]*9\d[.\d]* %|100 %|8\d[.\d]* %/);
  // The other way round if the second server was ready first, until they are asked again after some 30 s.
  await until('difference', () => details.innerText(), /stable \S+, input 'features': shape\s+- \[-1,4\][^\n]*\s+\+ \[-1,3\]/, 60_000);
  await picture(page, 'models');
  await page.fill('input[type=search]', '');
  await page.getByRole('button', { name: 'Model', exact: true }).click();
  expect('order', await page.locator('th[aria-sort]').getAttribute('aria-sort'), 'ascending');
});

await check('servers: one is down, and why', async () => {
  await visit(page, 'servers');
  const row = page.locator('tbody tr', { hasText: 'down' });
  await until('down', () => row.innerText(), /not ready[\s\S]*not reachable/);
  await until('up', () => page.locator('tbody tr', { hasText: 'stable' }).first().innerText(), /ready/);
  expect('breakers', await page.locator('.upstreams').innerText(), /stable: \d+ of 1,000 calls, breaker closed/);
  await until('hint', () => page.locator('.servers').innerText(), /Log in to see the last errors/);
  await until('rates', () => page.locator('tbody tr', { hasText: 'stable' }).first().innerText(), /[1-9][\d.]*\/s/);
  await picture(page, 'servers');
});

await check('traffic: of the busiest model', async () => {
  await visit(page, 'traffic');
  await until('subject', () => page.getByLabel('Which').locator('option:checked').innerText(), /^score$/);
  await until('line', () => page.locator('.chart path.line0').first().getAttribute('d'), /^M.*L/);
  expect('address', page.url(), /#\/traffic$/);
  await picture(page, 'traffic');
});

await check('canary: login, then pause, resume and roll back with confirmation', async () => {
  await visit(page, 'canary');
  const ramp = page.locator('.ramp', { hasText: 'score' });
  await until('ramp', () => ramp.innerText(), /running[\s\S]*10 %/);
  await until('shadow', () => page.locator('.shadow').innerText(), /different[\s\S]*Output probability/);
  await picture(page, 'canary');
  await ramp.locator('[data-action=pause]').click();
  await page.click('#confirm-yes');
  await page.waitForSelector('#login-dialog[open]');
  await page.fill('#token', 'wrong');
  await page.press('#token', 'Enter');
  await until('wrong token', () => page.locator('#login-error').innerText(), /wrong/);
  await page.fill('#token', token);
  await page.press('#token', 'Enter');
  await page.waitForSelector('#login-dialog', { state: 'hidden' });
  await ramp.locator('[data-action=pause]').click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect('cancelled', await ramp.innerText(), /running/);
  for (const [action, state] of [['pause', /paused/], ['resume', /running/], ['rollback', /rolled back[\s\S]*by the operator/], ['restart', /running/]]) {
    await ramp.locator(`[data-action=${action}]`).click();
    await page.click('#confirm-yes');
    await until(action, () => ramp.innerText(), state);
  }
});

await check('servers: last errors after the login', async () => {
  await visit(page, 'servers');
  await until('error', () => page.locator('tbody tr', { hasText: 'down' }).innerText(), /ago: UNAVAILABLE/);
});

await check('session: scripts cannot read the cookie; it survives a reload, and ends', async () => {
  const [cookie] = await page.context().cookies();
  expect('cookie', `${cookie.httpOnly} ${cookie.sameSite} ${cookie.path}`, 'true Strict /');
  expect('for scripts', await page.evaluate(() => document.cookie), '');
  await page.reload();
  // What the page asked for before the end is refused after it, which is no reason to ask for a token.
  const errors = /\/debug\/errors/;
  const ended = page.waitForResponse(/\/session\/end$/);
  const refused = page.waitForResponse((response) => response.status() === 401);
  await page.route(errors, (route) => ended.then(() => route.continue()));
  await page.waitForRequest(errors);
  await page.getByRole('button', { name: 'Log out' }).click();
  await refused;
  await page.locator('#login', { hasText: 'Log in' }).waitFor();
  expect('dialog', await page.locator('#login-dialog').isVisible(), false);
  await page.unroute(errors);
  expect('cookies', (await page.context().cookies()).length, 0);
});

await check('keyboard: skip link, navigation, sorting, details, dialog', async () => {
  await page.goto(`${admin}/#/models`);
  await page.reload();
  await page.waitForSelector('tbody .opener');
  await page.keyboard.press('Tab');
  expect('first', await page.evaluate(() => document.activeElement.textContent), 'Skip to the page');
  await page.keyboard.press('Enter');
  expect('skipped', await page.evaluate(() => document.activeElement.id), 'main');
  await page.keyboard.press('Tab');
  await page.keyboard.type('score');
  expect('filtered', await page.locator('.count').innerText(), /^1 of/);
  await page.locator('.opener').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('tr.below');
  await page.locator('#login').focus();
  await page.keyboard.press('Enter');
  expect('dialog', await page.evaluate(() => document.activeElement.id), 'token');
  await page.keyboard.press('Escape');
  expect('back', await page.evaluate(() => document.activeElement.id), 'login');
  await page.locator('nav a').nth(2).focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('.page.servers');
});

for (const colorScheme of ['light', 'dark']) {
  await check(`accessible, ${colorScheme}; 390 and 2560 pixels wide`, async () => {
    const each = await open(admin, { colorScheme });
    for (const name of names) {
      await visit(each, name);
      await each.waitForFunction(() => !document.querySelector('.page tbody:empty'));
      await accessible(each, `${name}, ${colorScheme}`);
      for (const width of [390, 2560]) {
        await each.setViewportSize({ width, height: 900 });
        await fits(each, name);
      }
      await each.setViewportSize({ width: 1280, height: 800 });
    }
    if (colorScheme === 'dark') {
      await visit(each, 'overview');
      expect('dark', await each.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(20, 23, 28)');
      await each.click('#theme');
      expect('light', await each.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(246, 247, 249)');
      await each.reload();
      expect('kept', await each.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(246, 247, 249)');
    }
    await each.context().close();
  });
}

await check('layout: nothing moves once it is there', async () => {
  const each = await open(admin);
  await each.evaluate(() => {
    window.shifts = 0;
    window.moved = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        window.shifts += entry.hadRecentInput ? 0 : entry.value;
        window.moved.push(...entry.sources.map((source) => source.node?.parentElement?.outerHTML.slice(0, 200)));
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
  await until('loaded', () => each.locator('.cards').innerText(), /\d\/s/);
  const [shifts, moved, paint] = await each.evaluate(() => [window.shifts, window.moved, performance.getEntriesByName('first-contentful-paint')[0]?.startTime]);
  expect('layout shift', shifts < 0.01 ? 'none' : `${shifts} of ${moved.join('; ')}`, 'none');
  console.log(`      first contentful paint after ${Math.round(paint)} ms`);
  await each.context().close();
});

await check('requests: at most one round a second, none of a page that is not visible', async () => {
  const each = await open(`${admin}/#/servers`);
  const rounds = () => each.evaluate(() =>
    performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/servers?')).map((entry) => entry.startTime));
  await until('rounds', async () => String((await rounds()).length), /^[3-9]/);
  const times = await rounds();
  expect('pause', times.slice(1).every((time, index) => time - times[index] >= 1_000) ? 'a second' : String(times), 'a second');
  await each.clock.install();
  await each.evaluate(() => Object.defineProperty(document, 'hidden', { value: true }));
  await each.reload();
  await each.evaluate(() => Object.defineProperty(document, 'hidden', { value: true }));
  await each.waitForLoadState('networkidle');
  const seen = (await rounds()).length;
  await each.clock.runFor(120_000);
  await each.waitForLoadState('networkidle');
  expect('while hidden', String((await rounds()).length - seen), '0');
  await each.context().close();
});

await check('another address: nothing without the login', async () => {
  const each = await open(guarded);
  await each.waitForSelector('#login-dialog[open]');
  expect('before', await each.locator('main').innerText(), /^(?![\s\S]*serving)/);
  await accessible(each, 'the login');
  await each.fill('#token', token);
  await each.press('#token', 'Enter');
  await until('after', () => each.locator('.state').innerText(), /serving/);
  await each.context().close();
});

await finish();
