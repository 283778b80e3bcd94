// Uses the pages Configuration, Live and Audit in a headless Chromium, and prints a line per check.
// Usage: operations.mjs ADMIN_URL TOKEN READ_TOKEN [SCREENSHOTS]; OperationsTest starts the gateway: from a file, whose last reload
// changed the timeout of the model 'fraud' to 20s, and whose last version has the unknown key 'modles' in its first
// line. Its models 'fraud', which fails, and 'simple' are called all the time.
import { join } from 'node:path';
import { accessible, check, expect, finish, newPage, until } from './checks.mjs';

const [admin, token, readToken, screenshots] = process.argv.slice(2);
const page = await newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });

async function accessibleInBoth(name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, name);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

async function fits(name) {
  await page.setViewportSize({ width: 390, height: 900 });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(`width of ${name} at 390`, width <= 390 ? 'fits' : `${width} pixels`, 'fits');
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function picture(name) {
  if (screenshots) {
    await page.screenshot({ path: join(screenshots, `console-${name}.png`), animations: 'disabled', fullPage: true });
  }
}

const OTHER = `listeners: [{port: 0}]
admin: {port: 1, token_file: token}
health: {warm_up: 0s}
answers: {errors: passed}
local: {embedded_models: true}
models:
  simple: {upstream: local, timeout: 5s}
  digits: {upstream: local}
`;
const result = page.locator('.result');
async function compare(text) {
  await page.fill('#what-if', text);
  await page.getByRole('button', { name: 'Compare' }).click();
}

await page.goto(`${admin}/#/configuration`);

await check('configuration: what is set, the last reload, the rejected file', async () => {
  await page.waitForSelector('.lines tbody tr');
  expect('set', await page.locator('.lines tr.set', { hasText: 'timeout: 20s' }).count(), 1);
  expect('default', await page.locator('.lines tr:not(.set)', { hasText: 'max_body_size: 64MiB' }).count(), 1);
  expect('last reload', await page.locator('section', { hasText: 'Last reload' }).first().innerText(), /model 'fraud': timeout: none -> 20s/);
  expect('rejected', await page.locator('section', { hasText: 'Last rejected file' }).first().innerText(), /line 1, column 1: unknown key 'modles'/);
  const other = page.locator('.lines tr', { hasText: 'max_body_size: 64MiB' });
  expect('hidden', await other.isVisible(), false);
  await page.getByLabel('Search keys and values').fill('max_body_SIZE');
  expect('found', await page.locator('.lines tbody tr:visible').allInnerTexts().then((rows) => rows.map((row) => row.trim().split(/\s/)[0]).join(' ')), /^limits: max_body_size:/);
  await page.getByLabel('Search keys and values').fill('');
  await page.uncheck('#only-set');
  expect('shown', await other.isVisible(), true);
});

await check('configuration: what another file would change', async () => {
  await compare('models: {}');
  await page.waitForSelector('#login-dialog[open]');
  await page.fill('#token', token);
  await page.press('#token', 'Enter');
  await page.waitForSelector('#login-dialog', { state: 'hidden' });
  await compare('models: {"<b>": {upstream: nowhere}}');
  await until('refused', () => result.innerText(), /would reject it[\s\S]*line 1, column \d+: model '<b>'.*'nowhere'/);

  await compare(OTHER);
  await until('accepted', () => result.innerText(), /would accept it[\s\S]*model 'digits': added[\s\S]*timeout: none -> 5s[\s\S]*restart only[\s\S]*admin: port: 0 -> 1/);
  await accessibleInBoth('a comparison');
  await fits('a comparison');
  await picture('configuration');
});

await check('live: calls appear, failed ones open, filters hold', async () => {
  await page.click('nav a[href="#/live"]');
  const rows = page.locator('.page.live tbody tr');
  await until('calls', () => rows.first().innerText(), /simple/);
  expect('columns', await page.locator('.page.live thead').innerText(), /Model[\s\S]*Caller[\s\S]*Upstream/);
  await page.selectOption('select', 'failed');
  await page.getByLabel('Model').fill('fraud');
  await page.getByLabel('Model').press('Enter');
  await until('failed calls', () => rows.first().innerText(), /503 UNAVAILABLE[\s\S]*fraud/);
  expect('others', await rows.filter({ hasText: 'simple' }).count(), 0);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('.opener').first().click();
  expect('details', await page.locator('tr.below').innerText(), /Reason[\s\S]*not reachable[\s\S]*upstream down[\s\S]*Request id/);
  await picture('live');
  const id = (await page.locator('tr.below dt', { hasText: 'Request id' }).locator('xpath=following-sibling::dd[1]').innerText()).trim();
  await page.getByRole('searchbox', { name: 'Request id' }).fill(id);
  await page.getByRole('searchbox', { name: 'Request id' }).press('Enter');
  await until('found', () => page.locator('.found').innerText(), /^Call [\s\S]*503 UNAVAILABLE[\s\S]*upstream down[\s\S]*Request id/);
  expect('address', await page.evaluate(() => location.hash), new RegExp(`[?&]id=${id}`));
  await accessibleInBoth('an opened call');
  expect('rows of the list', await rows.first().innerText(), /503 UNAVAILABLE/);
  await fits('an opened call');
  await page.getByRole('searchbox', { name: 'Request id' }).fill('<b>unknown</b>');
  await page.getByRole('searchbox', { name: 'Request id' }).press('Enter');
  await until('not found', () => page.locator('.found').innerText(), /'<b>unknown<\/b>' is not kept/);
});

await check('live: a page that is left asks for nothing', async () => {
  await page.click('nav a[href="#/configuration"]');
  await page.waitForSelector('.page.configuration h1');
  const asked = () => page.evaluate(() => performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/debug/calls')).length);
  const before = await asked();
  await page.waitForLoadState('networkidle');
  expect('requests', (await asked()) - before, 0);
});

/** Sends a request as the page would, with its session. */
async function change(path) {
  return page.evaluate((where) => fetch(where, { method: 'POST', headers: { 'X-Isthmus-Console': 'active' } }).then((answer) => answer.status), path);
}

await check('audit: who has changed what, hostile names as text, a change that was refused', async () => {
  expect('unknown ramp', await change(`/ramps/${encodeURIComponent('<img src=x onerror=alert(1)>')}/pause`), 404);
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  const rows = page.locator('.page.audit tbody tr');
  await until('entries', () => rows.first().innerText(), /admin[\s\S]*127\.0\.0\.1[\s\S]*ramp[\s\S]*not done/);
  await page.getByPlaceholder('Filter by operator').fill('onerror');
  expect('found', await rows.count(), 1);
  expect('address', await page.evaluate(() => location.hash), /^#\/audit\?search=onerror/);
  await page.locator('.opener').first().click();
  expect('details', await page.locator('tr.below').innerText(), /role admin[\s\S]*<img src=x onerror=alert\(1\)>/);
  expect('elements', await page.locator('main img').count(), 0);
  await accessibleInBoth('the audit log');
  await fits('the audit log');
  await picture('audit');
});

await check("audit: operators' changes first; those of others by choice, in the address", async () => {
  await page.getByPlaceholder('Filter by operator').fill('');
  const rows = page.locator('.page.audit tbody tr');
  expect('whose', await page.getByLabel('Whose changes').inputValue(), 'operator');
  await page.getByLabel('Whose changes').selectOption('caller');
  await until('callers', () => page.locator('.page.audit tbody').innerText(), /No such change/);
  expect('address', await page.evaluate(() => location.hash), /[?&]by=caller/);
  await page.getByLabel('Whose changes').selectOption('operator');
  await page.getByLabel('Outcome').selectOption('not_done');
  await until('not done', () => rows.first().innerText(), /not done/);
  await page.getByLabel('Outcome').selectOption('all');
});

await check('roles: what the role does not allow is disabled, says why, and is refused', async () => {
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.fill('#token', readToken);
  await page.press('#token', 'Enter');
  await page.waitForSelector('#login-dialog', { state: 'hidden' });
  await until('who', () => page.locator('#who').innerText(), /^viewer \(read\)$/);
  await until('audit', () => page.locator('.page.audit tbody').innerText(), /onerror/);
  await page.click('nav a[href="#/configuration"]');
  const button = page.getByRole('button', { name: 'Compare' });
  await button.waitFor();
  expect('enabled', await button.isEnabled(), false);
  expect('why', await page.locator('main form .buttons').innerText(), /needs the role admin; yours is read/);
  await page.click('nav a[href="#/try"]');
  await until('try', () => page.locator('.page.try .buttons').first().innerText(), /needs the role operate; yours is read/);
  await accessibleInBoth('a role that may only read');
  await fits('a role that may only read');
  expect('reload', await change('/reload'), 403);
});

await finish();
