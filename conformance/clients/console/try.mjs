// The page "Try it" in a real browser: the form, the commands, which are pasted into a shell, the answer, the timeline.
// Usage: try.mjs ADMIN_URL TOKEN PYTHON [SCREENSHOTS]; try.sh calls it. grpcurl is in the PATH, PYTHON has tritonclient.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, browser } from './checks.mjs';

const [admin, token, python, screenshots] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'isthmus-try-'));
const complaints = [];

function check(what, holds) {
  console.log(`${holds ? 'passed' : 'FAILED'}: ${what}`);
  if (!holds) {
    complaints.push(what);
  }
}

/** Runs a command of the page as an operator would. */
function pasted(tool, text) {
  try {
    if (tool === 'python') {
      writeFileSync(join(folder, 'program.py'), text);
      return execFileSync(python, [join(folder, 'program.py')], { encoding: 'utf8' });
    }
    return execFileSync('bash', ['-c', text], { encoding: 'utf8' });
  } catch (failure) {
    return `${failure.message}\n${failure.stdout}\n${failure.stderr}`;
  }
}

async function accessible(page, what) {
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    const { violations } = await page.evaluate('axe.run()');
    check(`${what}, ${scheme}: no violation of WCAG that axe finds`, violations.length === 0);
    violations.forEach((each) => console.log(each.id, each.help, each.nodes.map((node) => node.html).join('\n')));
  }
}

try {
  const context = await browser.newContext({ bypassCSP: false, viewport: { width: 1280, height: 1000 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (error) => complaints.push(`error of the page: ${error}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('status of 4')) {
      complaints.push(`error in the console: ${message.text()}`);
    }
  });
  await page.goto(`${admin}/#/try?model=simple`);
  const command = (tool) => page.locator(`.command.${tool} pre`);
  await command('curl').waitFor();
  check('the example is there before a login', (await command('curl').innerText()).includes('/v2/models/simple/infer'));
  check('the example works', pasted('curl', await command('curl').innerText()).includes('"OUTPUT0"'));

  await page.getByRole('button', { name: 'Log in' }).first().click();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('dialog').getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor();

  const linked = await (await browser.newContext()).newPage();
  await linked.goto(`${admin}/#/try?model=simple&token=${encodeURIComponent(token)}`);
  await linked.getByRole('button', { name: 'Log out' }).waitFor();
  check('the token does not stay in the address', linked.url().endsWith('#/try?model=simple'));
  await linked.getByRole('button', { name: 'Send' }).click();
  await linked.locator('.result .answer', { hasText: 'OK' }).waitFor();
  await linked.context().close();

  const ones = Array(16).fill(1).join(', ');
  const counted = Array.from({ length: 16 }, (_, index) => index).join(', ');
  await page.getByLabel('Data, as JSON; empty: zeros').nth(0).fill(`[${ones}]`);
  await page.getByLabel('Data, as JSON; empty: zeros').nth(1).fill(counted);
  for (const [form, label, tools, sign] of [['json', 'REST, JSON', ['curl', 'python'], '13,14,15'], ['binary', 'REST, binary data', ['curl', 'python'], 'binary_data_size'], ['grpc', 'gRPC', ['grpcurl', 'python'], '13,14,15']]) {
    if (form === 'json') {
      await page.getByLabel('Data, as JSON; empty: zeros').nth(1).blur();
    } else {
      await page.getByLabel(label, { exact: true }).check();
    }
    await command(tools[0]).filter({ hasText: sign }).waitFor();
    for (const tool of tools) {
      const text = await command(tool).innerText();
      const output = pasted(tool, text);
      check(`${form}: ${tool} works`, output.includes('OUTPUT0') && (tool === 'grpcurl' || /16/.test(output)));
      if (!output.includes('OUTPUT0')) {
        console.log(text, output);
      }
    }
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.result .answer').waitFor();
    await page.locator('.result dd', { hasText: form === 'grpc' ? ', grpc' : ', rest' }).waitFor();
    const row = await page.getByRole('table').first().locator('tbody tr').first().innerText();
    check(`${form}: the table has the sums`, row.trim().split(/\s+/).slice(1).join(',') === Array.from({ length: 16 }, (_, index) => index + 1).join(','));
    check(`${form}: the timeline has phases`, (await page.locator('svg.phases rect').count()) === 3);
  }
  check('the route is explained', (await page.locator('.explain').innerText()).includes("default upstream 'local' serves it"));
  await page.getByLabel('JSON', { exact: true }).check();
  check('the answer as JSON', (await page.locator('.outputs pre').innerText()).includes('{"name":"OUTPUT0"'));
  await page.getByLabel('Image', { exact: true }).check();
  check('what is no image says so', (await page.locator('.outputs').innerText()).includes('Not an image'));
  await page.getByLabel('Table', { exact: true }).check();
  const pixels = await page.evaluate(async () => {
    const { image } = await import('/console/files/tensors.js');
    const of = (datatype, shape, data) => {
      const canvas = image({ name: 'x', datatype, shape, data });
      return canvas && [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data].join();
    };
    return {
      interleaved: of('UINT8', [1, 2, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
      planar: of('UINT8', [3, 2, 2], [1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12]),
      grey: of('FP32', [2, 2], [-1, 0, 1, 'NaN']),
      none: of('FP32', [1, 16], [0]),
      png: image({ name: 'x', datatype: 'BYTES', shape: [1], data: ['iVBORw0KGgo='] }).src,
    };
  });
  const colours = '1,2,3,255,4,5,6,255,7,8,9,255,10,11,12,255';
  check('images: interleaved channels', pixels.interleaved === colours);
  check('images: planes', pixels.planar === colours);
  check('images: floats from their least to their greatest', pixels.grey.startsWith('0,0,0,255,128,128,128,255,255,255,255,255,'));
  check('images: a vector is none', pixels.none === null);
  check('images: PNG', pixels.png === 'data:image/png;base64,iVBORw0KGgo=');
  await page.evaluate(axe);
  await accessible(page, 'an answer');
  for (const width of [390, 2560, 1280]) {
    await page.setViewportSize({ width, height: 1000 });
    check(`fits ${width} pixels`, await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  }
  if (screenshots) {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.screenshot({ path: join(screenshots, 'console-try.png'), fullPage: true });
  }

  await page.getByText('Credentials and headers').click();
  await page.getByLabel('Authorization header (not stored)').fill('Bearer secret-of-the-test');
  await page.getByLabel('Authorization header (not stored)').blur();
  await page.waitForFunction(() => document.querySelector('.command.grpcurl pre').textContent.includes('AUTHORIZATION'));
  check('no command has the credential', !(await page.locator('.commands').innerText()).includes('secret-of-the-test'));

  await page.getByLabel('Data, as JSON; empty: zeros').nth(0).fill('[1, "<img src=x onerror=alert(1)>"]');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.status', { hasText: 'INPUT0' }).waitFor();
  check('a bad value is refused with its reason', true);
  await page.getByLabel('Model').fill('stranger');
  await page.getByRole('button', { name: 'Read metadata' }).click();
  await page.locator('p.quiet', { hasText: 'stranger' }).waitFor();
  check('an unknown model is told', await page.getByRole('button', { name: 'Send' }).isDisabled());
  await accessible(page, 'an unknown model');
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(complaints.length === 0 ? 'all passed' : complaints.join('\n'));
process.exitCode = complaints.length === 0 ? 0 : 1;
