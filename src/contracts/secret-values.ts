import { HIDDEN } from './monitoring-additions.ts';

/** Names of headers, query parameters and variables that carry secrets, and some that do not: to hide too much costs little. */
const SECRET_NAME =
  /auth(?!or(?!i))|cookie|token|secret|passw|passphrase|credential|session|signature|key\]?$|(^|[-_.\s[])(sig|pass|pwd|pin|otp|jwt|hmac|code|pat|dsn|connection[-_]?string|(webhook|database|db|postgres|postgresql|mysql|redis|mongo|mongodb|amqp)[-_]?ur[il])\]?$/i;

/** A name and a password before the host. */
const USER_INFO = /^([a-z][a-z\d+.-]*:\/\/)([^/?#]*)@/i;

/** `HIDDEN` as a URL spells it, which is what becomes of it where somebody has parsed the target. */
const HIDDEN_IN_URL = encodeURIComponent(HIDDEN);

/** Longer than an address that anybody uses; ours have 2048. Parameter by parameter, a longer one takes too long. */
const MAX_LENGTH = 16_384;

/** Whether the value of a header or query parameter with this name is kept from readers. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(decoded(name).trim());

/** A target as anyone may read it: values that look like secrets are hidden. Pure. */
export function maskedTarget(target: string): string {
  if (target.length <= MAX_LENGTH) return mapSecrets(target, () => HIDDEN);
  const [bare = ''] = target.replace(USER_INFO, `$1${HIDDEN}@`).split(/[?#]/, 1);
  return bare.length < target.length ? `${bare}?${HIDDEN}` : bare;
}

/**
 * The same target with every secret value as `replace` makes it; `name` is the parameter, or `user:password` for what
 * stands before the host. Pure.
 */
export function mapSecrets(
  target: string,
  replace: (secret: { name: string; value: string }) => string,
): string {
  const bare = target.replace(
    USER_INFO,
    (_, scheme: string, value: string) => `${scheme}${replace({ name: 'user:password', value })}@`,
  );
  const start = bare.search(/[?#]/);
  if (start === -1) return bare;
  const parts = bare.slice(start).split(/([?&#])/);
  return bare.slice(0, start) + parts.map((part) => mapPart(part, replace)).join('');
}

/** Whether a value stands for one that is stored. */
export const isHidden = (value: string) =>
  value === HIDDEN || value.toUpperCase() === HIDDEN_IN_URL;

/** What stands between two `&`: `name=value`, or several of them where a server takes `;` as another `&`. */
function mapPart(part: string, replace: Parameters<typeof mapSecrets>[1]): string {
  for (const found of part.matchAll(/(?:^|;)([^=;]*)=/g)) {
    const [head, name = ''] = found;
    if (!isSecretName(name)) continue;
    const valueAt = found.index + head.length;
    const value = part.slice(valueAt);
    return value === '' ? part : part.slice(0, valueAt) + replace({ name, value });
  }
  return part;
}

/** As a server reads it; as it stands where it is no good encoding. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}
