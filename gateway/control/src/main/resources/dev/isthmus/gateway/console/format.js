// Numbers, durations, bytes and times as text. Unknown values are a dash.
const NONE = '–';

function known(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

/** 3 significant digits: 9.21e-8, 0.0123, 1.23, 123, 12,300. */
export function number(value) {
  if (!known(value)) {
    return NONE;
  }
  if (value !== 0 && Math.abs(value) < 0.001) {
    return value.toExponential(2);
  }
  const digits = value !== 0 && Math.abs(value) < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 };
  return value.toLocaleString('en', digits);
}

/** Calls per second. */
export function rate(value) {
  return known(value) ? `${number(value)}/s` : NONE;
}

/** A share from 0 to 1 in percent; none that is too small to matter has more than two decimals. */
export function percent(share) {
  if (share > 0 && share < 0.0001) {
    return '< 0.01 %';
  }
  return known(share) ? `${number(100 * share)} %` : NONE;
}

/** Seconds in the unit that fits: 250 µs, 1.2 ms, 3 s; from a minute on in whole numbers of two: 3 min 37 s, 5 h 2 min, 6 d. */
export function duration(seconds) {
  if (!known(seconds)) {
    return NONE;
  }
  if (seconds >= 59.95) {
    const units = [['d', 86_400], ['h', 3_600], ['min', 60], ['s', 1]];
    const first = units.findIndex(([, size]) => Math.round(seconds) >= size);
    const [unit, size] = units[first];
    const [smaller, part] = units[first + 1];
    const parts = Math.round(seconds / part);
    const rest = parts % (size / part);
    return `${number(Math.floor(parts / (size / part)))} ${unit}${rest > 0 ? ` ${rest} ${smaller}` : ''}`;
  }
  const units = [[1, 's'], [1e-3, 'ms']];
  const [size, unit] = units.find(([least]) => seconds >= least) ?? [1e-6, 'µs'];
  return seconds === 0 ? '0 s' : `${number(seconds / size)} ${unit}`;
}

/** Bytes in the unit that fits. */
export function bytes(value) {
  if (!known(value)) {
    return NONE;
  }
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let index = 0;
  let rest = value;
  while (rest >= 1024 && index < units.length - 1) {
    rest /= 1024;
    index++;
  }
  return `${number(rest)} ${units[index]}`;
}

/** The share of errors among calls; unknown without calls. */
export function errorShare(errors, calls) {
  return known(errors) && calls > 0 ? Math.min(1, errors / calls) : undefined;
}

/** How bad a share of errors is: good, warn or bad. */
export function errorKind(share) {
  return share >= 0.05 ? 'bad' : share >= 0.01 ? 'warn' : 'good';
}

/** The time of day of a date, in the zone of the browser. */
export function clock(date) {
  return date.toLocaleTimeString('en-GB');
}

/** A moment in ISO 8601: the time of day, with the date if it is not of today. */
export function moment(text) {
  const date = new Date(text);
  return date.toDateString() === new Date().toDateString() ? clock(date) : `${date.toLocaleDateString('en-CA')} ${clock(date)}`;
}

/** How long ago a date in ISO 8601 was. */
export function ago(text) {
  const date = Date.parse(text);
  return Number.isNaN(date) ? NONE : `${duration(Math.max(0, Math.round((Date.now() - date) / 1000)))} ago`;
}

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}
