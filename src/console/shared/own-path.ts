const MAX_PATH_LENGTH = 2_000;

/** A host name that can't exist. */
const BASE = 'http://console.invalid';

/**
 * Resolves a path as browsers do, and returns `/` if it leads to another server, because anyone can write an address.
 * Browsers read `\` as `/` and skip tabs and line breaks, and `//name` is another server. Source: WHATWG URL, "URL parsing".
 */
export function ownPath(text: string | null | undefined): string {
  if (!text?.startsWith('/') || text.length > MAX_PATH_LENGTH) return '/';
  if (!URL.canParse(text, BASE)) return '/';
  const { origin, pathname, search, hash } = new URL(text, BASE);
  // `/.//name` starts with `//` only after its dots are resolved.
  return origin === BASE && !pathname.startsWith('//') ? `${pathname}${search}${hash}` : '/';
}
