// Opens the page of page.js in a headless Chromium, from an origin that the gateways allow and from one that they do
// not, and prints a line per check. Usage: run.mjs GATEWAY_URL [GATEWAY_URL...]
// The gateways must serve the embedded models, gRPC-Web, and pages of http://localhost with any port.
//   CHROMIUM   the browser; default chromium
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LIMIT = 60_000;
const HTML = '<!doctype html><title>isthmus</title><script type="module" src="/page.js"></script>';
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--ignore-certificate-errors',
];
const page = readFileSync(new URL('bundle.js', import.meta.url));
const gateways = process.argv.slice(2);
if (gateways.length === 0) {
  console.error('usage: run.mjs GATEWAY_URL [GATEWAY_URL...]');
  process.exit(2);
}

let received = () => {};
const server = createServer((request, response) => {
  if (request.method === 'POST') {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      response.end();
      received(JSON.parse(Buffer.concat(parts)));
    });
  } else if (request.url === '/page.js') {
    response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(page);
  } else {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(HTML);
  }
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

/** Opens the page, and returns what it reports. */
async function results(host, expected) {
  const profile = mkdtempSync(join(tmpdir(), 'isthmus-browser-'));
  const query = new URLSearchParams([['expect', expected], ...gateways.map((each) => ['gateway', each])]);
  const address = `http://${host}:${server.address().port}/?${query}`;
  const browser = spawn(process.env.CHROMIUM ?? 'chromium', [...FLAGS, `--user-data-dir=${profile}`, address], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let complaint = '';
  browser.stderr.on('data', (text) => (complaint = (complaint + text).slice(-4000)));
  const ended = new Promise((resolve) => browser.on('exit', resolve));
  let timer;
  try {
    return await new Promise((resolve, reject) => {
      received = resolve;
      browser.on('error', reject);
      browser.on('exit', (status) => reject(new Error(`the browser ended with ${status}: ${complaint}`)));
      timer = setTimeout(() => reject(new Error(`no result from ${address} after ${LIMIT} ms: ${complaint}`)), LIMIT);
    });
  } finally {
    clearTimeout(timer);
    // It has processes of its own, in one group.
    if (browser.pid !== undefined && browser.exitCode === null) {
      process.kill(-browser.pid, 'SIGKILL');
      await ended;
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

let failed = 0;
for (const [host, expected] of [['localhost', 'allowed'], ['127.0.0.1', 'foreign']]) {
  for (const { name, problem } of await results(host, expected)) {
    console.log(`${problem === null ? 'passed' : 'FAILED'}  page of ${expected} origin: ${name}${problem === null ? '' : `: ${problem}`}`);
    failed += problem === null ? 0 : 1;
  }
}
server.close();
console.log(failed === 0 ? 'all passed' : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
