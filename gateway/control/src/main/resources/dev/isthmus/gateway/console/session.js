// Who has logged in, and what the role allows. The gateway checks it again for each request.
import { h, setText } from './dom.js';

const ROLES = ['read', 'operate', 'admin'];
let own;

/** Sets the role of the session; undefined without one. */
export function setRole(role) {
  if (own !== role) {
    own = role;
    window.dispatchEvent(new CustomEvent('isthmus-role'));
  }
}

/** Why the role does not allow what another one is needed for; '' if it does, or nobody has logged in. */
export function forbidden(needed) {
  return own && ROLES.indexOf(own) < ROLES.indexOf(needed) ? `This needs the role ${needed}; yours is ${own}.` : '';
}

/**
 * Disables a button while the role does not allow it, and says why. Returns {element, update(disabled), end()}: update
 * tells whether it is disabled for another reason.
 */
export function guarded(button, needed) {
  const why = h('span', { class: 'quiet', id: `why-${needed}-${button.textContent.toLowerCase()}` });
  let other = button.disabled;
  function show() {
    const text = forbidden(needed);
    setText(why, text);
    button.disabled = other || text !== '';
    button.setAttribute('aria-describedby', why.id);
  }
  window.addEventListener('isthmus-role', show);
  show();
  return {
    element: why,
    update(disabled) {
      other = disabled;
      show();
    },
    end: () => window.removeEventListener('isthmus-role', show),
  };
}
