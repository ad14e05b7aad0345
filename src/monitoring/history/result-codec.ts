import { type Entry, isResult } from './result-record.ts';

/**
 * Entries as text, `monitor,before,kind,took,every,reason;…`: how long before `atMs`, and the place of the reason from 1, or
 * nothing. One text, because a start reads a million entries: as lists they took 150 MB more before they were read.
 */
export interface EntryText {
  /** The latest of their times. */
  atMs: number;
  reasons?: string[] | undefined;
  entries: string;
}

export function toText(entries: readonly Entry[]): EntryText {
  const atMs = entries.reduce((latest, entry) => Math.max(latest, entry.atMs), 0);
  const reasons = createPlaces();
  const rows = entries.map((entry) => {
    const { monitor, kind, took, everyMs, reason } = entry;
    const head = `${monitor},${atMs - entry.atMs},${kind}`;
    if (!isResult(entry)) return head;
    const row = `${head},${took},${everyMs}`;
    return reason === undefined ? row : `${row},${1 + reasons.of(reason)}`;
  });
  const texts = reasons.all.length > 0 ? { reasons: reasons.all } : {};
  return { atMs, ...texts, entries: rows.join(';') };
}

const COMMA = 0x2c;
const SEMICOLON = 0x3b;
const ZERO = 0x30;

/** The entries of a text, character by character: taking them apart as texts takes twice the time. */
export function fromText(
  { atMs, reasons = [], entries: text }: EntryText,
  names: Names = createNames(),
): Entry[] {
  const entries: Entry[] = [];
  const numbers = new Float64Array(5);
  for (let at = 0; at < text.length; ) {
    const nameEnd = text.indexOf(',', at);
    if (nameEnd === -1) break;
    const monitor = names.of(text.slice(at, nameEnd));
    at = numbersAt(text, nameEnd + 1, numbers);
    entries.push({
      monitor,
      atMs: atMs - (numbers[0] ?? 0),
      kind: numbers[1] ?? 0,
      took: numbers[2] ?? 0,
      everyMs: numbers[3] ?? 0,
      reason: reasons[(numbers[4] ?? 0) - 1],
    });
  }
  return entries;
}

/** Reads the numbers of a row, 0 for those that are missing; gives where the next row begins. */
function numbersAt(text: string, from: number, numbers: Float64Array): number {
  let at = from;
  for (let column = 0; column < numbers.length; column += 1) {
    let value = 0;
    let code = at < text.length ? text.charCodeAt(at) : SEMICOLON;
    while (code >= ZERO && code < ZERO + 10) {
      value = 10 * value + code - ZERO;
      at += 1;
      code = at < text.length ? text.charCodeAt(at) : SEMICOLON;
    }
    numbers[column] = value;
    if (code === COMMA) at += 1;
  }
  while (at < text.length && text.charCodeAt(at) !== SEMICOLON) at += 1;
  return at + 1;
}

export type Names = ReturnType<typeof createNames>;

/** Names, each once, however often it is read: a name cut out of a text would keep all of that text in memory. */
export function createNames() {
  const known = new Map<string, string>();
  return {
    of(part: string): string {
      const name = known.get(part);
      if (name !== undefined) return name;
      const copy = Buffer.from(part).toString();
      known.set(copy, copy);
      return copy;
    },
  };
}

/** Texts, each once, and the place of each. */
function createPlaces() {
  const all: string[] = [];
  const places = new Map<string, number>();
  return {
    all,
    of(text: string): number {
      const known = places.get(text) ?? all.push(text) - 1;
      places.set(text, known);
      return known;
    },
  };
}
