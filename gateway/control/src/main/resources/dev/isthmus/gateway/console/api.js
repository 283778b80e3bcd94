// Requests to the admin address this page comes from.
import { clock } from './format.js';

/** A request failed; status is 0 if there was no response. */
export class ApiError extends Error {
  constructor(status, message, document) {
    super(message);
    this.status = status;
    this.document = document;
  }
}

/** How long after a key or a click the console is in use: a page that only refreshes does not keep its session. */
const IN_USE = 60_000;
let lastInput = Date.now();
for (const kind of ['keydown', 'pointerdown']) {
  window.addEventListener(kind, () => { lastInput = Date.now(); }, { capture: true, passive: true });
}

const LEAST_PAUSE = 1_000;
const MOST_PAUSE = 30_000;

async function request(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      cache: 'no-store',
      headers: { 'X-Isthmus-Console': Date.now() - lastInput < IN_USE ? 'active' : '1', Accept: 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, 'The gateway does not respond.', {});
  }
  const text = await response.text();
  const json = (response.headers.get('content-type') ?? '').startsWith('application/json');
  const document = json ? JSON.parse(text) : text;
  if (!response.ok) {
    if (response.status === 401 && path !== '/session') {
      window.dispatchEvent(new CustomEvent('isthmus-login', { detail: method }));
      throw new ApiError(401, 'Log in first.', document);
    }
    throw new ApiError(response.status, document.error ?? `${path}: status ${response.status}`, document);
  }
  return document;
}

/** The JSON document at a path. Throws an ApiError. */
export function get(path) {
  return request('GET', path);
}

/** Changes something; the body is sent as JSON. Throws an ApiError; asks for a login if that is missing. */
export function post(path, body) {
  return request('POST', path, body ?? {});
}

/** Shows a line above all pages; an empty text removes it. */
export function notice(text, kind = '') {
  const line = document.getElementById('notice');
  if (line.textContent !== text) {
    line.textContent = text;
  }
  line.className = kind;
}

/** When a page last showed what the gateway said. */
let current;

/** Says that what is shown is old, in words and colours; false when it is current again. */
function stale(lost) {
  document.body.classList.toggle('stale', lost);
  if (!lost) {
    current = new Date();
  }
}

/** Why a page cannot be loaded. */
function failure(error) {
  if (!(error instanceof ApiError)) {
    return `The page failed: ${error.message}`;
  }
  return error.status === 0 && current ? `${error.message} What is shown is from ${clock(current)}.` : error.message;
}

/**
 * Loads and shows something now and then again and again, at most once a second, while the window is visible. After
 * failures it waits longer, and says so above the page. Returns what ends it, with a member 'now' that loads at once.
 */
export function poll(milliseconds, load, show) {
  const pause = Math.max(LEAST_PAUSE, milliseconds);
  let ended = false;
  let running = false;
  let failures = 0;
  let timer;
  async function round() {
    clearTimeout(timer);
    if (ended || running || document.hidden) {
      return;
    }
    running = true;
    try {
      const loaded = await load();
      if (!ended) {
        show(loaded);
        stale(false);
        if (failures > 0) {
          notice('');
        }
        failures = 0;
      }
    } catch (error) {
      if (!ended) {
        failures++;
        notice(failure(error), 'bad');
        stale(true);
        if (!(error instanceof ApiError)) {
          console.error(error);
        }
      }
    } finally {
      running = false;
    }
    if (!ended) {
      timer = setTimeout(round, Math.min(MOST_PAUSE, pause * 2 ** Math.min(failures, 5)));
    }
  }
  document.addEventListener('visibilitychange', round);
  window.addEventListener('isthmus-session', round);
  round();
  const end = () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', round);
    window.removeEventListener('isthmus-session', round);
  };
  end.now = round;
  return end;
}

/** Asks the operator in a dialog; resolves to whether it was confirmed. */
export function confirmed(title, text, yes) {
  const dialog = document.getElementById('confirm-dialog');
  document.getElementById('confirm-title').textContent = title;
  document.getElementById('confirm-text').textContent = text;
  document.getElementById('confirm-yes').textContent = yes;
  dialog.returnValue = 'no';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}

/** The last errors of each server, if the operator has logged in: {allowed, configured, servers}. */
export async function lastErrors() {
  const { session: loggedIn, token_configured: token, oidc } = await session();
  const configured = token || oidc;
  if (!loggedIn) {
    return { allowed: false, configured, servers: [] };
  }
  try {
    const { servers } = await get('/debug/errors?limit=5');
    return { allowed: true, configured, servers };
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
      return { allowed: false, configured, servers: [] };
    }
    throw error;
  }
}

/** The session: {token_configured, oidc, reading_needs_token, session, name, role}. */
export function session() {
  return request('GET', '/session');
}
