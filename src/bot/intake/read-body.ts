import { JsonLimitError, parseUntrustedJson } from '../../contracts/parse-json.ts';
import { PayloadError } from './read-payload.ts';

/** Enough for some 8,000 alerts with a dozen labels each. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Real deliveries are five levels deep, and have some twenty values per alert. */
const LIMITS = { depth: 32, values: 200_000, names: 20_000 };

/** Throws `PayloadError` if the body isn't JSON or holds too much. */
export function readBody(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === '') throw new PayloadError('The body is empty. Send a JSON object.');
  try {
    return parseUntrustedJson(text, LIMITS);
  } catch (error) {
    if (!(error instanceof JsonLimitError)) throw new PayloadError('The body is not valid JSON.');
    const advice =
      error.limit === 'depth' ? 'Send one with less nesting.' : 'Send fewer alerts at once.';
    throw new PayloadError(`The body ${error.message}. ${advice}`);
  }
}
