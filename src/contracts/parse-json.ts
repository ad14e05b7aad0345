/** The most that a JSON text from outside may hold. */
export interface JsonLimits {
  /** Lists and objects within one another. */
  depth: number;
  /** Values at any depth. */
  values: number;
  /** Field names, each counted once for every different sequence of names before it in its object: a parser takes a microsecond for each. */
  names: number;
}

/**
 * Measured on two shared cores: 50,000 values of any kind parse in at most 50 ms, 200,000 with no more than 20,000 names in
 * at most 80 ms.
 */
export const JSON_LIMITS: JsonLimits = { depth: 64, values: 50_000, names: 20_000 };

/** Which limit a text exceeds; the message is the end of a sentence, such as "has more than 50000 values". */
export class JsonLimitError extends Error {
  override name = 'JsonLimitError' as const;
  readonly limit: keyof JsonLimits;

  constructor(limit: keyof JsonLimits, most: number) {
    const messages = {
      depth: `is nested more than ${most} levels deep`,
      values: `has more than ${most} values`,
      names: `has more than ${most} different field names`,
    };
    super(messages[limit]);
    this.limit = limit;
  }
}

/**
 * Parses JSON that somebody else wrote. Its characters are counted first, since a megabyte of brackets or of different names
 * can keep a parser busy for a second. Throws `JsonLimitError`, or `SyntaxError` for a text that isn't JSON.
 */
export function parseUntrustedJson(json: string | Uint8Array, limits?: JsonLimits): unknown {
  const text = typeof json === 'string' ? json : new TextDecoder().decode(json);
  new JsonScan(limits).add(text);
  return JSON.parse(text);
}

/** What is wrong with a text that `parseUntrustedJson` refused, to follow "an answer that". */
export const jsonFault = (error: unknown): string =>
  error instanceof JsonLimitError ? error.message : 'is not JSON';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Counts what a JSON text holds, piece by piece. Several texts, such as those of server-sent events, count as one. */
export class JsonScan {
  readonly #limits: JsonLimits;
  readonly #names: NameCounter;
  #depth = 0;
  #values = 1;
  #inString = false;
  /** The last character of the piece before was a backslash that escapes the next one. */
  #isEscaped = false;

  constructor(limits: JsonLimits = JSON_LIMITS) {
    this.#limits = limits;
    this.#names = new NameCounter(limits.names);
  }

  /** Throws `JsonLimitError` as soon as the pieces hold too much. */
  add(piece: string): void {
    const { depth: maxDepth, values: maxValues } = this.#limits;
    let depth = this.#depth;
    let values = this.#values;
    let start = 0;
    let end = 0;
    let at = this.#inString ? this.#endOfString(piece, 0) + 1 : 0;
    for (; at < piece.length; at += 1) {
      switch (piece.charCodeAt(at)) {
        case QUOTE:
          start = at + 1;
          end = this.#endOfString(piece, start);
          at = end;
          break;
        case COLON:
          this.#names.add(depth, piece, start, end);
          break;
        case COMMA:
          values += 1;
          break;
        case OPEN_LIST:
        case OPEN_OBJECT:
          values += 1;
          depth += 1;
          if (depth > maxDepth) throw new JsonLimitError('depth', maxDepth);
          this.#names.open(depth);
          break;
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          if (depth > 0) depth -= 1;
          break;
        default:
      }
      if (values > maxValues) throw new JsonLimitError('values', maxValues);
    }
    this.#depth = depth;
    this.#values = values;
  }

  /** Ends a string that is open: none goes over a line, but a comment between server-sent events may hold one quote. */
  endLine(): void {
    this.#inString = false;
    this.#isEscaped = false;
  }

  /** Where a string ends that goes on at `from`; the length of the piece when it ends in a later one. */
  #endOfString(piece: string, from: number): number {
    let next = this.#isEscaped ? from + 1 : from;
    this.#isEscaped = false;
    for (;;) {
      const quote = piece.indexOf('"', next);
      const end = quote === -1 ? piece.length : quote;
      let first = end;
      while (first > next && piece.charCodeAt(first - 1) === BACKSLASH) first -= 1;
      const isEscaped = (end - first) % 2 === 1;
      this.#inString = quote === -1;
      if (quote === -1) this.#isEscaped = isEscaped;
      if (quote === -1 || !isEscaped) return end;
      next = quote + 1;
    }
  }
}

/** Bits of the table of names: with 20,000 in it one name in twenty-five is taken for another. */
const TABLE_BITS = 18;

/** The table is made for more than so many names; most texts hold fewer. */
const NAMES_WITHOUT_TABLE = 500;

/** Characters at both ends of a name that tell it from others. */
const NAME_ENDS = 96;

/** Senders don't know it, so they cannot choose names that are taken for one another. */
const SEED = Math.trunc(Math.random() * 2 ** 32);

const mix = (hash: number, code: number) => Math.imul(hash ^ code, 0x01000193);

/** Counts names that follow a different sequence of names than any before, since these cost a parser time. */
class NameCounter {
  readonly #most: number;
  #count = 0;
  #uncounted = 0;
  /** Hash of the names so far in the object that is open at each depth. */
  readonly #sequences: number[] = [SEED];
  #seen: Uint8Array | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  open(depth: number): void {
    this.#sequences[depth] = SEED;
  }

  add(depth: number, text: string, start: number, end: number): void {
    let hash = mix(this.#sequences[depth] ?? SEED, end - start);
    const head = Math.min(end, start + NAME_ENDS);
    for (let at = start; at < head; at += 1) hash = mix(hash, text.charCodeAt(at));
    for (let at = Math.max(head, end - NAME_ENDS); at < end; at += 1) {
      hash = mix(hash, text.charCodeAt(at));
    }
    hash ^= hash >>> 15;
    this.#sequences[depth] = hash;
    if (this.#uncounted < NAMES_WITHOUT_TABLE) {
      this.#uncounted += 1;
      return;
    }
    const place = Math.imul(hash, 0x9e3779b1) >>> (32 - TABLE_BITS);
    this.#seen ??= new Uint8Array(2 ** (TABLE_BITS - 3));
    const byte = this.#seen[place >>> 3] ?? 0;
    const bit = 1 << (place & 7);
    if (byte & bit) return;
    this.#seen[place >>> 3] = byte | bit;
    this.#count += 1;
    if (this.#count > this.#most) throw new JsonLimitError('names', this.#most);
  }
}
