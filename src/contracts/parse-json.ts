/** The most that a JSON text from outside may hold. */
export interface JsonLimits {
  /** Lists and objects inside one another. */
  depth: number;
  /** Values at any depth. */
  values: number;
  /**
   * Field names, each counted once for every different sequence of names before it in its object, because these cost a parser
   * a microsecond each.
   */
  names: number;
  /** Field names in all, if limited. */
  keys?: number;
}

/** Texts within these limits parse in at most 80 ms on two shared cores. */
export const JSON_LIMITS: JsonLimits = { depth: 64, values: 50_000, names: 20_000 };

/** The text exceeds a limit. The message is the end of a sentence, such as "has more than 50000 values". */
export class JsonLimitError extends Error {
  override name = 'JsonLimitError' as const;
  readonly limit: keyof JsonLimits;

  constructor(limit: keyof JsonLimits, most: number) {
    const messages = {
      depth: `is nested more than ${most} levels deep`,
      values: `has more than ${most} values`,
      names: `has more than ${most} different field names`,
      keys: `has more than ${most} keys`,
    };
    super(messages[limit]);
    this.limit = limit;
  }
}

/**
 * Parses JSON from outside, after counting its contents, because a megabyte of brackets keeps a parser busy for a second. Throws
 * `JsonLimitError` or `SyntaxError`.
 */
export function parseUntrustedJson(json: string | Uint8Array, limits?: JsonLimits): unknown {
  const text = typeof json === 'string' ? json : new TextDecoder().decode(json);
  new JsonScan(limits, text.length).add(text);
  return JSON.parse(text);
}

/** Says what is wrong with a text that `parseUntrustedJson` refused, to follow "an answer that". */
export const jsonFault = (error: unknown): string =>
  error instanceof JsonLimitError ? error.message : 'is not JSON';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Counts the contents of a JSON text, piece by piece. Several texts, such as server-sent events, count as one. */
export class JsonScan {
  readonly #limits: JsonLimits;
  readonly #names: NameCounter | undefined;
  #depth = 0;
  #values = 1;
  #keys = 0;
  #inString = false;
  /** The piece before ended with a backslash that escapes the next character. */
  #isEscaped = false;

  constructor(limits: JsonLimits = JSON_LIMITS, maxLength = Number.POSITIVE_INFINITY) {
    this.#limits = limits;
    // A name takes at least four characters, with its quotes and its value, so a short text can't have too many.
    if (maxLength > limits.names * 4) this.#names = new NameCounter(limits.names);
  }

  /** Throws `JsonLimitError` as soon as the pieces hold too much. */
  add(piece: string): void {
    const { depth: maxDepth, values: maxValues, keys: maxKeys = maxValues } = this.#limits;
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
          this.#keys += 1;
          if (this.#keys > maxKeys) throw new JsonLimitError('keys', maxKeys);
          this.#names?.add(this.#depth, piece, start, end);
          break;
        case COMMA:
          this.#values += 1;
          break;
        case OPEN_LIST:
        case OPEN_OBJECT:
          this.#values += 1;
          this.#depth += 1;
          if (this.#depth > maxDepth) throw new JsonLimitError('depth', maxDepth);
          this.#names?.open(this.#depth);
          break;
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          if (this.#depth > 0) this.#depth -= 1;
          break;
        default:
      }
      if (this.#values > maxValues) throw new JsonLimitError('values', maxValues);
    }
  }

  /** Ends an open string: none spans two lines, but a comment between server-sent events may hold a single quote. */
  endLine(): void {
    this.#inString = false;
    this.#isEscaped = false;
  }

  /** Returns where the string ends that continues at `from`; the length of the piece if it ends in a later one. */
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

/** Characters at both ends of a name that tell it from others. */
const NAME_ENDS = 96;

/** Start of every hash. Senders don't know it, so they can't choose names that are taken for one another. */
const SEED = Math.trunc(Math.random() * 2 ** 32);

const mix = (hash: number, code: number) => Math.imul(hash ^ code, 0x01000193);

/** Counts names that follow a different sequence of names than any before. */
class NameCounter {
  readonly #most: number;
  /** Hash of the names so far in the object that is open at each depth. */
  readonly #sequences: number[] = [SEED];
  readonly #seen = new Set<number>();

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
    this.#seen.add(hash);
    if (this.#seen.size > this.#most) throw new JsonLimitError('names', this.#most);
  }
}
