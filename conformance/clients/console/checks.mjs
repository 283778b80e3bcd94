// What the browser tests of the console have in common: the browser, its pages, and checks that print a line each.
//   CHROMIUM   the browser; default chromium
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const LIMIT = 30_000;
/** What the browser says of a refused request, and of one that a check has stopped; the page shows both. */
const REFUSED = /Failed to load resource: (the server responded with a status of (401|403)|net::ERR_FAILED)/;
/** What it says of a call or a ramp that is not there; the page shows it. */
const MISSING = /status of 404/;
const MISSING_PLACE = /\/(debug\/calls|ramps)\//;
const program = execFileSync('which', [process.env.CHROMIUM ?? 'chromium'], { encoding: 'utf8' }).trim();
const complaints = [];
let failed = 0;

/** The text of axe-core, to evaluate in a page: the page's policy forbids it as a script element. */
export const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const browser = await chromium.launch({
  executablePath: program,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});

/** An empty page in a context of its own; what it logs as an error is a complaint. */
export async function newPage(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(LIMIT);
  const page = await context.newPage();
  page.on('console', (message) => {
    const missing = MISSING.test(message.text()) && MISSING_PLACE.test(message.location().url);
    if (['error', 'warning'].includes(message.type()) && !missing && !REFUSED.test(message.text())) {
      complaints.push(`${page.url()}: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error}`));
  return page;
}

export async function check(name, run) {
  try {
    await run();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`WRONG ${name}: ${error.message}`);
  }
}

export function expect(what, actual, expected) {
  const right = expected instanceof RegExp ? expected.test(actual) : actual === expected;
  if (!right) {
    throw new Error(`${what}: ${expected} is expected, got '${actual}'`);
  }
}

export async function until(what, read, expected, limit = LIMIT) {
  const end = Date.now() + limit;
  for (;;) {
    const actual = await read();
    if (expected.test(actual)) {
      return;
    }
    if (Date.now() > end) {
      throw new Error(`${what}: ${expected} is expected, got '${actual}'`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Expects that axe finds no serious violation on the page as it is. */
export async function accessible(page, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ['violations'] }));
  const serious = violations.filter((each) => ['serious', 'critical'].includes(each.impact));
  expect(`violations on ${name}`, serious.map((each) => `${each.id}: ${each.nodes[0].html}`).join('; '), '');
}

/** Checks what the browser has logged, closes it and ends the process: with 0 if all checks have passed. */
export async function finish() {
  await check('no error in the log of the browser', async () => expect('messages', complaints.join('\n'), ''));
  await browser.close();
  console.log(failed === 0 ? 'all passed' : `${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}
