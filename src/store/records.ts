import type { JournalDeclaration, JournalRecord } from './store.ts';

/** JSON of a record; longer ones are refused. */
export const MAX_RECORD_BYTES = 1024 * 1024;

export const DAY_MS = 86_400_000;

/** The last moment whose day has a name of four, two and two digits. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The previous day that was named: records come in order of time, and formatting a date costs as much as checking a record. */
let last = { day: -1, name: '' };

/** The UTC day of a Unix time in milliseconds, such as `2026-12-01`; days in this form sort by time. */
export function dayOf(atMs: number): string {
  if (!(atMs >= 0 && atMs <= LAST_MS)) {
    throw new RangeError(`A record's atMs must be Unix time in milliseconds, and ${atMs} isn't.`);
  }
  const day = Math.floor(atMs / DAY_MS);
  if (day !== last.day) last = { day, name: new Date(atMs).toISOString().slice(0, 10) };
  return last.name;
}

/** The JSON of a record. Throws if a reader of that JSON would find a record that doesn't fit the schema. */
export function encodeRecord<T extends JournalRecord>(
  { name, schema }: JournalDeclaration<T>,
  record: T,
): string {
  const text = JSON.stringify(record);
  // The text is checked, not the record: JSON leaves fields out and turns numbers into null.
  const { atMs } = schema.parse(JSON.parse(text ?? 'null'));
  if (!Number.isFinite(atMs)) throw new RangeError(`A record of '${name}' has no time.`);
  if (Buffer.byteLength(text) > MAX_RECORD_BYTES) {
    throw new RangeError(`A record of '${name}' is too large for a journal.`);
  }
  return text;
}

/** The changed record of an erasure, as JSON. Throws if it leaves its day. */
export function encodeErased<T extends JournalRecord>(
  declaration: JournalDeclaration<T>,
  record: T,
  beforeMs: number,
): string {
  if (Math.floor(record.atMs / DAY_MS) !== Math.floor(beforeMs / DAY_MS)) {
    throw new RangeError('An erased record stays on its day.');
  }
  return encodeRecord(declaration, record);
}

/** Search texts for `erase`, as they appear inside JSON. */
export const textsInJson = (texts: readonly string[]): string[] =>
  texts.map((text) => JSON.stringify(text).slice(1, -1));
