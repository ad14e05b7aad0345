import { isUtf8 } from 'node:buffer';
import { ErrorCode } from '../../contracts/error.ts';
import { JsonLimitError, parseUntrustedJson } from '../../contracts/parse-json.ts';
import { HttpError } from '../../http/errors.ts';

/**
 * Limits of one body. The longest context holds some 8,000 of the shortest messages, with two keys each. 20,000 keys that
 * differ keep the process busy for some 40 ms.
 */
const LIMITS = { depth: 100, values: 200_000, names: 20_000, keys: 20_000 };

/** Parses a body. Throws the 400 if it isn't JSON, is nested too deeply, or has too many keys or values. */
export function parseRequestBody(body: Buffer): unknown {
  if (body.length === 0) {
    throw new HttpError(400, ErrorCode.invalidJson, 'The body is empty. Send a JSON object.');
  }
  if (!isUtf8(body)) throw invalidJson('it is not UTF-8');
  const text = body.toString();
  const value = parse(text);
  // Only a text that could spell the name, escaped or not, is worth the walk.
  if (/proto|\\u/.test(text)) refuseProtoKeys(value);
  return value;
}

function parse(text: string): unknown {
  try {
    return parseUntrustedJson(text, LIMITS);
  } catch (error) {
    if (!(error instanceof JsonLimitError)) throw invalidJson();
    const hint = error.limit === 'depth' ? '' : '; send fewer or shorter messages, or fewer tools';
    throw invalidJson(`it ${error.message}${hint}`);
  }
}

/** Refuses a key that would become an object's prototype when it is assigned. */
function refuseProtoKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) throw invalidJson("it has a key named '__proto__'");
  for (const inner of Object.values(value)) refuseProtoKeys(inner);
}

function invalidJson(why?: string): HttpError {
  return new HttpError(
    400,
    ErrorCode.invalidJson,
    why ? `The body cannot be read: ${why}.` : 'The body is not valid JSON.',
  );
}
