/** Replaces values of headers and targets that look like secrets in answers. Sent back, it keeps the stored secret. */
export const HIDDEN = '…';

/**
 * Names of headers, query parameters and variables that carry secrets. It also matches some others; hiding too much costs little.
 * Confluence's `spaceKey` is in the address of many a runbook. Source: Confluence REST API, "Content", parameter `spaceKey`.
 */
const SECRET_NAME =
  /auth(?!or(?!i))|cookie|token|secret|passw|passphrase|credential|session|signature|(?<!space)key\]?$|(^|[-_.\s[])(sig|pass|pwd|pin|otp|jwt|hmac|code|pat|dsn|connection[-_]?string|(webhook|database|db|postgres|postgresql|mysql|redis|mongo|mongodb|amqp)[-_]?ur[il])\]?$/i;

/** A name and a password before the host. */
const USER_INFO = /^([a-z][a-z\d+.-]*:\/\/)([^/?#]*)@/i;

/** An apostrophe may be part of a password. */
const ADDRESS = /\b[a-z][a-z\d+.-]{0,30}:\/\/[^\s<>"]+/gi;

/** `HIDDEN` as it looks after the target was parsed as a URL. */
const HIDDEN_IN_URL = encodeURIComponent(HIDDEN);

/** Longest target whose parameters are read one by one; ours have at most 2048 characters. */
const MAX_LENGTH = 16_384;

export const isSecretName = (name: string): boolean => SECRET_NAME.test(decoded(name).trim());

/** Returns a target for anyone to read: values that look like secrets are hidden. Pure. */
export function maskedTarget(target: string): string {
  if (target.length <= MAX_LENGTH) return mapSecrets(target, () => HIDDEN);
  const [bare = ''] = target.replace(USER_INFO, `$1${HIDDEN}@`).split(/[?#]/, 1);
  return bare.length < target.length ? `${bare}?${HIDDEN}` : bare;
}

/** Hides the secrets of all addresses in a text. Pure. */
export const maskedText = (text: string) => text.replace(ADDRESS, maskedTarget);

/**
 * Replaces every secret value of a target; `name` is the parameter, or `user:password` for the part before the host.
 * Pure.
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

/** Returns true for a placeholder of a stored value. */
export const isHidden = (value: string) =>
  value === HIDDEN || value.toUpperCase() === HIDDEN_IN_URL;

/** Handles the text between two `&`: `name=value`, or several of these, because some servers read `;` as `&`. */
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

/** Decodes a name as a server does; returns a badly encoded one unchanged. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}
