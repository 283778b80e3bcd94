// Logs in to the console with a provider of OpenID Connect, oidc-provider, in a headless Chromium, and prints a line per check.
// Usage: oidc.mjs ADMIN_URL PORT SECRET; OidcBrowserTest starts the gateway. The provider is another site than the gateway: localhost, not
// 127.0.0.1. Whoever logs in there needs no password; alice is in the group platform, whose role is admin, and bob in none.
import Provider from 'oidc-provider';
import { accessible, check, expect, finish, newPage, until } from './checks.mjs';

const [admin, port, secret] = process.argv.slice(2);
const groups = { alice: ['platform', 'people'], bob: [] };
const provider = new Provider(`http://localhost:${port}`, {
  clients: [{ client_id: 'isthmus', client_secret: secret, redirect_uris: [`${admin}/session/oidc/callback`] }],
  scopes: ['openid', 'groups'],
  claims: { groups: ['groups'] },
  // Otherwise they would only be at the userinfo endpoint.
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: groups[id] }) }),
  pkce: { required: () => true },
  cookies: { keys: ['a key of the test'] },
  features: { devInteractions: { enabled: true } },
});
const server = provider.listen(Number(port), '127.0.0.1');

/** A browser that has followed the link and logged in as somebody; it is back at the gateway. */
async function logIn(name, prepare = () => {}) {
  const page = await newPage();
  prepare(page);
  await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }));
  await page.route(/fonts\.googleapis/, (route) => route.abort());
  await page.goto(`${admin}/#/overview`);
  await page.click('#login');
  await accessible(page, 'login');
  await page.getByRole('link', { name: 'Log in with your account' }).click();
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(`${admin}/**`);
  return page;
}

let alice;
await check('an operator logs in, with the role of its group', async () => {
  alice = await logIn('alice');
  await until('who', () => alice.locator('#who').textContent(), /^alice \(admin\)$/);
});

await check('the login is in the audit log', async () => {
  await alice.goto(`${admin}/#/audit`);
  await alice.waitForSelector('tbody tr');
  expect('audit', await alice.locator('tbody').innerText(), /alice[\s\S]*login|login[\s\S]*alice/);
});

await check('the session ends with the logout', async () => {
  await alice.click('#login');
  await until('who', () => alice.locator('#who').textContent(), /^$/);
});

await check('an operator without a role is refused', async () => {
  const bob = await logIn('bob');
  expect('refusal', await bob.locator('body').innerText(), /'bob' has no role here/);
});

await check('a browser that has not begun a login cannot end one', async () => {
  const page = await newPage();
  await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }));
  await page.goto(`${admin}/session/oidc/callback?state=x&code=y`);
  expect('refusal', await page.locator('body').innerText(), /not begun by this browser/);
});

await check('a login cannot be repeated, not even with its cookie', async () => {
  let callback;
  const first = await logIn('alice', (page) => page.on('request', (request) => {
    callback = request.url().includes('/session/oidc/callback') ? request.url() : callback;
  }));
  await until('who', () => first.locator('#who').textContent(), /^alice \(admin\)$/);
  const cookies = (await first.context().cookies(callback)).filter((each) => each.name.startsWith('isthmus-login'));
  expect('cookies', cookies.map(({ httpOnly, sameSite, path }) => `${httpOnly} ${sameSite} ${path}`).join(), 'true Lax /session/oidc');
  const second = await newPage();
  await second.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }));
  await second.context().addCookies(cookies);
  await second.goto(callback);
  expect('refusal', await second.locator('body').innerText(), /the provider has refused the login: invalid_grant/);
  expect('cookies of a session', (await second.context().cookies(admin)).filter((each) => each.name.startsWith('isthmus-session')).length, 0);
});

server.close();
server.closeAllConnections();
await finish();
