import { JsonLimitError, parseUntrustedJson } from '../../contracts/parse-json.ts';
import { DeliveryError } from './read-payload.ts';

/** The longest delivery: some eight thousand alerts with a dozen labels each. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Senders' own formats are nested five levels deep, and have some twenty values for each alert. */
const LIMITS = { depth: 32, values: 200_000, names: 20_000 };

/** Parses a delivery. Throws `DeliveryError` if it isn't JSON or holds too much. */
export function readBody(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === '') throw new DeliveryError('The body is empty. Send a JSON object.');
  try {
    return parseUntrustedJson(text, LIMITS);
  } catch (error) {
    if (!(error instanceof JsonLimitError)) throw new DeliveryError('The body is not valid JSON.');
    const advice =
      error.limit === 'depth' ? 'Send one with less nesting.' : 'Send fewer alerts at once.';
    throw new DeliveryError(`The body ${error.message}. ${advice}`);
  }
}
