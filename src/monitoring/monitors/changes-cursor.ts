/** Hexadecimal digits of the IDs of stores and processes. */
export const ID_DIGITS = 16;

/** A reader's position in the changes. */
export interface Cursor {
  store: string;
  /** ID of the process that counted `number`. */
  process: string;
  /** The number of the last change that was read. */
  number: number;
  /** Everything stored until then was read, Unix milliseconds by the store's clock; absent if unknown. */
  atMs?: number;
}

const CURSOR = /^([0-9a-f]{16})-([0-9a-f]{16})-([0-9a-z]{1,10})-([0-9a-z]{0,10})$/;
const RADIX = 36;

/** Callers treat it as opaque. Pure. */
export function writeCursor({ store, process, number, atMs }: Cursor): string {
  return [store, process, number.toString(RADIX), atMs?.toString(RADIX) ?? ''].join('-');
}

/** `undefined` if the text isn't a cursor. Pure. */
export function parseCursor(text: string): Cursor | undefined {
  const [, store, process, number, atMs] = CURSOR.exec(text) ?? [];
  if (store === undefined || process === undefined || number === undefined) return undefined;
  return {
    store,
    process,
    number: Number.parseInt(number, RADIX),
    atMs: atMs ? Number.parseInt(atMs, RADIX) : undefined,
  };
}
