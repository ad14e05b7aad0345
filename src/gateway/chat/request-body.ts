import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { ErrorCode } from '../../contracts/error.ts';
import { HttpError } from '../../http/errors.ts';
import { JsonStringScan, SCAN_BYTES } from './json-string-scan.ts';

/** A JSON body whose long strings stay where they are: a conversation is mostly text that is only passed on. */
export interface RequestBody {
  /** Bytes it came in. */
  readonly length: number;
  /** The value, with a short stand-in for every long string. */
  readonly value: unknown;
  /**
   * The text of a stand-in as it stands in the body: UTF-8 with JSON's escapes, in the parts it came in. `undefined` for
   * any other string.
   */
  longText(text: string): readonly Buffer[] | undefined;
  /** The JSON of a value made from `value`, in parts, the long strings among them as they came. */
  write(value: unknown): Buffer[];
  /** The value with its long strings. */
  whole(): unknown;
}

/** Strings of more bytes are left in place; parsing and writing them again costs more than all the rest of a call. */
const LONG_BYTES = 1024;

/** Deeper than any conversation, and far from what writing it again could not take. */
const DEPTH_LIMIT = 100;

/**
 * Keys and values in one body. A key that no other object has costs each step of a call some microseconds, since V8 then
 * makes a dictionary of the object: 380,000 of them held the process for 6 s, 20,000 hold it for some 40 ms. The longest context
 * takes some 8,000 of the shortest messages, with two keys each.
 */
const KEY_LIMIT = 20_000;
const VALUE_LIMIT = 200_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Begins every stand-in of this process. Nobody outside knows it, and one in a body would only be filled with itself. */
const PLACEHOLDER = `long-text-${randomBytes(12).toString('hex')}-`;
const QUOTED_PLACEHOLDER = `"${PLACEHOLDER}`;

/**
 * Reads a body from the parts it came in, which are never put together: large copies keep the garbage collector busy.
 * Throws the 400 for what is no JSON, is nested too deeply, or has too many keys or values.
 */
export function readRequestBody(parts: readonly Buffer[]): RequestBody {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length === 0) {
    throw new HttpError(400, ErrorCode.invalidJson, 'The body is empty. Send a JSON object.');
  }
  if (!isUtf8InParts(parts)) throw invalidJson('it is not UTF-8');
  // A body as short as this has no long string, and no depth to speak of.
  const { rest, long } =
    length <= LONG_BYTES ? { rest: parts, long: [] } : leaveOutLongStrings(parts);
  const text = textOf(rest);
  const longText = (stand: string) =>
    stand.startsWith(PLACEHOLDER) ? long[Number(stand.slice(PLACEHOLDER.length))] : undefined;
  return {
    length,
    value: parse(text),
    longText,
    write(value) {
      const json = JSON.stringify(value);
      if (long.length === 0) return [Buffer.from(json)];
      const written: Buffer[] = [];
      let from = 0;
      for (;;) {
        const at = json.indexOf(QUOTED_PLACEHOLDER, from);
        if (at === -1) break;
        const end = json.indexOf('"', at + QUOTED_PLACEHOLDER.length);
        const found = longText(json.slice(at + 1, end));
        // The quotes stay, on both sides of the text.
        written.push(Buffer.from(json.slice(from, found ? at + 1 : end)), ...(found ?? []));
        from = end;
      }
      written.push(Buffer.from(json.slice(from)));
      return written;
    },
    whole: () => parse(long.length === 0 ? text : textOf(parts)),
  };
}

function textOf(parts: readonly Buffer[]): string {
  const [only] = parts;
  return (parts.length === 1 && only ? only : Buffer.concat(parts)).toString();
}

/**
 * The body with a stand-in for every long string, and those strings. Checks what `JSON.parse` then no longer sees.
 * A string may go on in the next part, and so may an escape.
 */
function leaveOutLongStrings(parts: readonly Buffer[]): { rest: Buffer[]; long: Buffer[][] } {
  const rest: Buffer[] = [];
  const long: Buffer[][] = [];
  let depth = 0;
  let keys = 0;
  let values = 1;
  let strings = 0;
  let inString = false;
  /** Of the string that is read: what earlier parts held of it, and its bytes. */
  let earlier: Buffer[] = [];
  let earlierBytes = 0;
  const scan = new JsonStringScan();

  for (const part of parts.flatMap(inScanSize)) {
    const { length } = part;
    scan.load(part);
    let at = 0;
    /** Where in this part the bytes begin that are in neither list yet. */
    let from = 0;
    /** Where in this part the string begins. */
    let start = 0;
    while (at < length) {
      const byte = part[at] as number;
      if (!inString) {
        if (byte === QUOTE) {
          inString = true;
          strings += 1;
          start = at + 1;
        } else if (byte === 0x7b || byte === 0x5b) {
          depth += 1;
          if (depth > DEPTH_LIMIT)
            throw invalidJson(`it is nested more than ${DEPTH_LIMIT} levels deep`);
          values += 1;
        } else if (byte === 0x7d || byte === 0x5d) {
          depth -= 1;
        } else if (byte === COMMA) {
          values += 1;
        } else if (byte === COLON) {
          keys += 1;
        }
        at += 1;
      } else {
        at = scan.endOfString(at);
        if (at === -1) throw invalidJson();
        if (at === length) break;
        inString = false;
        if (earlierBytes + at - start > LONG_BYTES) {
          if (earlierBytes === 0) rest.push(part.subarray(from, start));
          rest.push(Buffer.from(PLACEHOLDER + long.length));
          long.push([...earlier, part.subarray(start, at)]);
          from = at;
        } else {
          rest.push(...earlier);
        }
        earlier = [];
        earlierBytes = 0;
        at += 1;
      }
    }
    if (!inString) {
      rest.push(part.subarray(from));
    } else {
      if (earlierBytes === 0) rest.push(part.subarray(from, start));
      earlier.push(part.subarray(start));
      earlierBytes += length - start;
    }
    if (keys > KEY_LIMIT) throw tooMany(KEY_LIMIT, 'keys');
    if (values > VALUE_LIMIT) throw tooMany(VALUE_LIMIT, 'values');
    // A string is a key or a value.
    if (strings > KEY_LIMIT + VALUE_LIMIT) throw invalidJson();
  }
  if (inString) throw invalidJson();
  return { rest, long };
}

/** The part, or several of it when it is too large to be scanned at once. */
function inScanSize(part: Buffer): Buffer | Buffer[] {
  if (part.length <= SCAN_BYTES) return part;
  return Array.from({ length: Math.ceil(part.length / SCAN_BYTES) }, (_, at) =>
    part.subarray(at * SCAN_BYTES, (at + 1) * SCAN_BYTES),
  );
}

/** Whether the parts together are UTF-8; a character may be cut by the end of a part. */
function isUtf8InParts(parts: readonly Buffer[]): boolean {
  let cut: Buffer = Buffer.alloc(0);
  for (const part of parts) {
    let from = 0;
    if (cut.length > 0) {
      // The rest of a cut character is no more than three bytes.
      from = Math.min(part.length, lengthOfCharacter(cut) - cut.length);
      cut = Buffer.concat([cut, part.subarray(0, from)]);
      if (cut.length < lengthOfCharacter(cut)) continue;
      if (!isUtf8(cut)) return false;
    }
    const end = Math.max(from, startOfCutCharacter(part));
    if (!isUtf8(part.subarray(from, end))) return false;
    cut = part.subarray(end);
  }
  return cut.length === 0;
}

/** Bytes of the character that begins so; 1 for what begins none. */
function lengthOfCharacter(bytes: Buffer): number {
  const [first = 0] = bytes;
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}

/** Where the character begins that the end of the part cuts; its length when it cuts none. */
function startOfCutCharacter(part: Buffer): number {
  for (let back = 1; back <= Math.min(3, part.length); back += 1) {
    const at = part.length - back;
    const byte = part[at] as number;
    if (byte < 0x80) break;
    if (byte >= 0xc0) return lengthOfCharacter(part.subarray(at)) > back ? at : part.length;
  }
  return part.length;
}

function parse(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidJson();
  }
  // Only a text that could spell the name, escaped or not, is worth the walk.
  if (/proto|\\u/.test(text)) refuseProtoKeys(value);
  return value;
}

/** A key of this name becomes an object's prototype where it is assigned. */
function refuseProtoKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) throw invalidJson("it has a key named '__proto__'");
  for (const inner of Object.values(value)) refuseProtoKeys(inner);
}

const tooMany = (limit: number, what: string) =>
  invalidJson(`it has more than ${limit} ${what}; send fewer or shorter messages, or fewer tools`);

function invalidJson(why?: string): HttpError {
  return new HttpError(
    400,
    ErrorCode.invalidJson,
    why ? `The body cannot be read: ${why}.` : 'The body is not valid JSON.',
  );
}
