import { DeliveryError } from './read-payload.ts';

/** The longest delivery: some eight thousand alerts with a dozen labels each. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** How deep values may stand in one another: senders' own formats need five. */
const MAX_DEPTH = 32;

/** Values in a delivery, names of fields among them. To make them of JSON takes some 20 ms. */
const MAX_VALUES = 500_000;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * What a delivery holds, of which nothing is made before it is known to be bounded: that is seen in its bytes. Throws
 * `DeliveryError` for what is no JSON or holds too much.
 */
export function readBody(bytes: Uint8Array): unknown {
  if (bytes.length > MAX_BODY_BYTES) {
    throw new DeliveryError(
      `This delivery is too large: at most ${MAX_BODY_BYTES / 1024 / 1024} MB are taken at once. Send fewer alerts in a group.`,
    );
  }
  assertBounded(bytes);
  const text = new TextDecoder().decode(bytes);
  if (text.trim() === '') throw new DeliveryError('The body is empty. Send a JSON object.');
  try {
    return JSON.parse(text);
  } catch {
    throw new DeliveryError('The body is not valid JSON.');
  }
}

function assertBounded(bytes: Uint8Array): void {
  let depth = 0;
  let values = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) {
      isText = true;
    } else if (byte === COMMA || byte === COLON) {
      values += 1;
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      depth += 1;
      values += 1;
      if (depth > MAX_DEPTH) {
        throw new DeliveryError(
          `The body has values nested more than ${MAX_DEPTH} deep. Send a flatter one.`,
        );
      }
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      depth -= 1;
    }
    if (values > MAX_VALUES) {
      throw new DeliveryError(
        `The body has more than ${MAX_VALUES} values. Send fewer alerts in a group.`,
      );
    }
  }
}
