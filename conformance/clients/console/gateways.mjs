// Looks at several gateways on the console of one of them, in a headless Chromium, and prints a line per check.
// Usage: gateways.mjs ADMIN_URL ALONE_URL [SCREENSHOTS]; ConsoleGatewaysTest starts the gateways.
import { accessible, check, expect, finish, newPage, until } from './checks.mjs';

const [admin, alone, screenshots] = process.argv.slice(2);
/** What one of the gateways says its version is. It is harmless in pictures. */
const version = screenshots ? /version 0\.1\.0/ : /version <img src=x onerror=alert\(1\)>/;
const page = await newPage();
await page.goto(`${admin}/#/gateways`);
const rows = page.locator('.table').first().locator('tbody tr');

await check('the summary counts what is reached and what differs', () => until('summary', () => page.locator('.summary').textContent(),
  /^3 of 4 gateways reached at [0-9:]+, 1 with another configuration, 1 with another version, 1 ramp at different steps\.$/));

await check('the gateway that is not reached comes first, with the reason', async () => {
  expect('first row', await rows.nth(0).innerText(), /not reached/);
  expect('no zeros', await rows.nth(0).innerText(), /–/);
});

await check('the differences are in words', async () => {
  expect('rows', await page.locator('tbody').first().innerText(), version);
  expect('rows', await page.locator('tbody').first().innerText(), /configuration: [a-z_, ]*models/);
});

await check('texts of other gateways are texts', async () => {
  expect('images', await page.locator('main img').count(), 0);
});

await check('the sums are those of the gateways that were reached', async () => {
  await until('sums', () => page.locator('.sums').textContent(), /1,002 inferences with .* those that were not reached are left out\.$/);
  await until('models', () => page.locator('main').innerText(), /digits[\s\S]*1,002/);
});

await check('ramps that differ say where', async () => {
  expect('ramps', await page.locator('main').innerText(), /differs digits[\s\S]*step 2[\s\S]*at 1 gateway/);
});

await check('a gateway has a link to its own console, this one has none', async () => {
  await rows.nth(0).locator('.opener').click();
  expect('link', await page.getByRole('link', { name: 'Its own console' }).first().getAttribute('href'), /^http:\/\/127\.0\.0\.1:\d+\/$/);
});

await check('the page changes nothing', async () => {
  const buttons = await page.locator('main button:not(.opener):not(th button):not(.pages button)').count();
  expect('buttons', buttons, 0);
});

if (screenshots) {
  await page.screenshot({ path: `${screenshots}/console-gateways.png` });
}

await check('390 pixels', async () => {
  await page.setViewportSize({ width: 390, height: 900 });
  expect('width', await page.evaluate(() => document.documentElement.scrollWidth <= 390), true);
  await accessible(page, 'gateways');
});

await check('Overview says it, with the next step', async () => {
  await page.goto(`${admin}/#/overview`);
  await until('problems', () => page.locator('.wrong').innerText(), /cannot be reached[\s\S]*1 of 4 gateways has another configuration/);
  await page.locator('.problem[data-kind=gateway_unreachable]').getByRole('link', { name: 'Gateways' }).click();
  await page.waitForSelector('.page.gateways');
});

await check('a gateway without peers has no such page', async () => {
  await page.goto(`${alone}/#/overview`);
  await page.waitForSelector('.wrong');
  expect('links', await page.locator('nav a[href="#/gateways"]').count(), 0);
});

await finish();
