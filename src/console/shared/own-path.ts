/** Characters of a path that a login leads back to. */
const MAX_PATH_LENGTH = 2_000;

/** Any name will do; none has this one. */
const BASE = 'http://console.invalid';

/**
 * The path as a browser would understand it when it leads to this very server, else `/`: what stands in an address may come
 * from anybody. Browsers read `\` as `/`, skip tabs and line breaks, and `//name` is another server. Source: WHATWG URL,
 * "URL parsing".
 */
export function ownPath(text: string | null | undefined): string {
  if (!text?.startsWith('/') || text.length > MAX_PATH_LENGTH) return '/';
  if (!URL.canParse(text, BASE)) return '/';
  const { origin, pathname, search, hash } = new URL(text, BASE);
  // `/.//name` is a path of our own until its dots are resolved.
  return origin === BASE && !pathname.startsWith('//') ? `${pathname}${search}${hash}` : '/';
}
