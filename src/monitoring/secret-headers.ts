import type { MonitorCreate } from '../contracts/monitoring.ts';
import { HIDDEN } from '../contracts/monitoring-additions.ts';
import { invalidValue } from './route-errors.ts';

/** Names of headers that carry secrets, and some that do not: to hide too much costs little. */
const SECRET = /auth|cookie|token|secret|passw|credential|session|signature|api-?key|(^|[-_])key$/i;

type Headers = Readonly<Record<string, string>>;

/** The settings of a monitor as they are shown: without the values of headers that look like secrets. */
export function shownConfig({ config }: MonitorCreate): Record<string, unknown> {
  if (!('headers' in config)) return config;
  const headers = Object.entries(config.headers).map(([name, value]) => [
    name,
    SECRET.test(name) ? HIDDEN : value,
  ]);
  return { ...config, headers: Object.fromEntries(headers) };
}

/**
 * The headers that are meant by those that were sent: a hidden value stands for the one that is stored.
 * Throws the 400 that names the header when none is stored.
 */
export function meantHeaders(sent: Headers, stored: Headers): Headers {
  const storedValues = new Map(
    Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const meant = Object.entries(sent).map(([name, value]) => {
    if (value !== HIDDEN) return [name, value];
    const kept = storedValues.get(name.toLowerCase());
    if (kept !== undefined) return [name, kept];
    throw invalidValue(
      `config.headers.${name}`,
      `'${HIDDEN}' stands for a stored value, and none is stored; send the value`,
    );
  });
  return Object.fromEntries(meant);
}
