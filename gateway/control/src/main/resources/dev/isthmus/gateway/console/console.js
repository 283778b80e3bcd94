// The frame of all pages: navigation, login, colours.
import { ApiError, get, notice, post } from './api.js';
import { h, setText } from './dom.js';
import { setRole } from './session.js';

const main = document.getElementById('main');
const links = [...document.querySelectorAll('nav a')];
const login = document.getElementById('login');
const dialog = document.getElementById('login-dialog');
const who = document.getElementById('who');
const token = document.getElementById('token');
const icon = document.querySelector('link[rel=icon]');
const calm = icon.href;
const WRONG = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#b3261e"/><path d="M16 6v13M16 23v4" stroke="#fff" stroke-width="4"/></svg>')}`;
let unmount;
let visit = 0;
/** How many problems there are, for those who see only the tab of the window. */
let wrong = 0;
/** Whether this session may read. */
let reads = false;
/** How often the problems are counted, in milliseconds. */
const COUNT = 10_000;
/** How often is looked whether the session has ended, in milliseconds. */
const SESSION_CHECK = 30_000;

function wanted() {
  const path = location.hash.replace(/^#\//, '').split(/[/?]/)[0];
  return links.find((link) => link.hash === `#/${path}`) ?? links[0];
}

async function show(focus) {
  const link = wanted();
  const mine = ++visit;
  unmount?.();
  unmount = undefined;
  for (const each of links) {
    each.toggleAttribute('aria-current', false);
  }
  link.setAttribute('aria-current', 'page');
  link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  showTitle();
  notice('');
  const module = await import(`./${link.hash.slice(2)}.js`);
  if (mine !== visit) {
    return;
  }
  const page = h('div', { class: `page ${link.hash.slice(2)}` }, h('h1', null, link.textContent));
  main.replaceChildren(page);
  unmount = module.mount(page);
  if (focus) {
    main.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
}

function showTitle() {
  document.title = `${wrong > 0 ? `(${wrong}) ` : ''}${wanted().textContent} - Isthmus`;
  icon.href = wrong > 0 ? WRONG : calm;
}

/** Counts the problems. The page itself says it if the gateway does not respond. */
async function countProblems() {
  if (document.hidden || !reads) {
    return;
  }
  try {
    wrong = (await get('/problems')).all;
    showTitle();
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
  }
}

async function showSession() {
  try {
    const session = await get('/session');
    login.hidden = !session.token_configured && !session.oidc;
    document.getElementById('login-token').hidden = !session.token_configured;
    document.getElementById('login-oidc').hidden = !session.oidc;
    document.getElementById('login-submit').hidden = !session.token_configured;
    login.textContent = session.session ? 'Log out' : 'Log in';
    if (login.dataset.session === 'true' && !session.session) {
      notice('The session has ended.');
    }
    login.dataset.session = session.session;
    setText(who, session.session ? `${session.name} (${session.role})` : '');
    setRole(session.role);
    reads = session.session || !session.reading_needs_token;
    countProblems();
    if (session.reading_needs_token && !session.session) {
      ask();
    }
  } catch (error) {
    notice(error.message, 'bad');
  }
}

/** The second key after g, by page. */
const KEYS = { overview: 'o', models: 'm', servers: 's', gateways: 'w', traffic: 'r', canary: 'c', try: 't', configuration: 'f', live: 'l', audit: 'a' };
let going = false;

/** Keys of the whole page: / for its filter; g and a letter for another page. */
function key(event) {
  const typing = event.target.closest?.('input, select, textarea, dialog');
  if (typing || event.ctrlKey || event.metaKey || event.altKey) {
    going = false;
    return;
  }
  const wantedPage = going ? links.find((link) => KEYS[link.hash.slice(2)] === event.key) : undefined;
  going = !going && event.key === 'g';
  if (wantedPage) {
    location.hash = wantedPage.hash;
  } else if (event.key === '/') {
    const field = main.querySelector('[aria-keyshortcuts="/"]');
    if (field) {
      event.preventDefault();
      field.focus();
    }
  }
}

/** Whether the operator has closed the dialog or logged out: it then opens only for changes and by its button. */
let declined = false;

function ask() {
  if (!dialog.open) {
    token.value = '';
    document.getElementById('login-error').textContent = '';
    dialog.returnValue = '';
    dialog.showModal();
  }
}

async function logIn(event) {
  event.preventDefault();
  try {
    await post('/session', { token: token.value });
    token.value = '';
    dialog.close('done');
    notice('');
    await showSession();
    window.dispatchEvent(new CustomEvent('isthmus-session'));
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
    document.getElementById('login-error').textContent = error.message;
  }
}

/** The link that `isthmus` prints has the token; it does not stay in the address. Returns why it is refused, or ''. */
async function logInByLink() {
  const [page, query] = location.hash.split('?');
  const parameters = new URLSearchParams(query);
  const given = parameters.get('token');
  if (!given) {
    return '';
  }
  parameters.delete('token');
  history.replaceState(null, '', `${page}?${parameters}`);
  try {
    await post('/session', { token: given });
    return '';
  } catch (error) {
    return error.message;
  }
}

async function logInOrOut() {
  if (login.dataset.session !== 'true') {
    ask();
    return;
  }
  // What a page asks for meanwhile is refused, and no reason to log in.
  declined = true;
  try {
    await post('/session/end');
    await showSession();
    window.dispatchEvent(new CustomEvent('isthmus-session'));
  } catch (error) {
    declined = false;
    notice(error.message, 'bad');
  }
}

function changeTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  localStorage.setItem('isthmus-theme', root.dataset.theme);
}

window.addEventListener('hashchange', () => show(true));
window.addEventListener('isthmus-login', (event) => {
  if (event.detail === 'POST' || !declined) {
    ask();
  }
});
dialog.addEventListener('close', () => {
  declined = dialog.returnValue !== 'done';
});
document.getElementById('login-form').addEventListener('submit', logIn);
document.getElementById('login-cancel').addEventListener('click', () => dialog.close());
document.addEventListener('keydown', key);
for (const link of links) {
  link.title = `g ${KEYS[link.hash.slice(2)]}`;
}
setInterval(() => {
  if (!document.hidden && login.dataset.session === 'true') {
    showSession();
  }
}, SESSION_CHECK);
setInterval(countProblems, COUNT);
document.getElementById('theme').addEventListener('click', changeTheme);
login.addEventListener('click', logInOrOut);
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
logInByLink().then((problem) => {
  showSession();
  show(false);
  if (problem) {
    notice(problem, 'bad');
  }
});
