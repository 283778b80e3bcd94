// The state of a page in its address, so that it can be linked: #/servers?search=gpu-3.

/** The fields of the address. */
export function state() {
  return new URLSearchParams(location.hash.split('?')[1] ?? '');
}

/** Changes fields of the address without a step in the history; empty values are removed. */
export function setState(changes) {
  const fields = state();
  for (const [name, value] of Object.entries(changes)) {
    fields.delete(name);
    for (const each of [value].flat()) {
      if (each !== '' && each !== null && each !== undefined) {
        fields.append(name, each);
      }
    }
  }
  const query = fields.toString();
  const hash = `${location.hash.split('?')[0] || '#/overview'}${query ? `?${query}` : ''}`;
  if (hash !== location.hash) {
    history.replaceState(null, '', hash);
  }
}
