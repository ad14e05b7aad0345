/** Bytes of what tells stores and processes apart. */
export const ID_BYTES = 8;

/** Numbers and times fit into so many for some thousand years. */
const NUMBER_BYTES = 6;

const VERSION = 1;
const LENGTH_BYTES = 1 + 2 * ID_BYTES + 2 * NUMBER_BYTES;

/** How far somebody has read of what changes. */
export interface Cursor {
  /** Which monitors they are, as 16 hexadecimal digits. */
  store: string;
  /** Whose numbers these are, as 16 hexadecimal digits. */
  process: string;
  /** Of the last change that was read. */
  number: number;
  /** All that was stored until then was read, Unix milliseconds by the clock of the store; absent where that cannot be said. */
  atMs?: number;
}

/** As callers get it: 39 letters, digits, `-` and `_`. Pure. */
export function writeCursor({ store, process, number, atMs = 0 }: Cursor): string {
  const bytes = Buffer.alloc(LENGTH_BYTES);
  bytes.writeUInt8(VERSION);
  bytes.write(store, 1, 'hex');
  bytes.write(process, 1 + ID_BYTES, 'hex');
  const at = bytes.writeUIntBE(number, 1 + 2 * ID_BYTES, NUMBER_BYTES);
  bytes.writeUIntBE(atMs, at, NUMBER_BYTES);
  return bytes.toString('base64url');
}

/** What callers send back; `undefined` for what is none. Pure. */
export function parseCursor(text: string): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== LENGTH_BYTES || bytes.toString('base64url') !== text) return undefined;
  if (bytes.readUInt8() !== VERSION) return undefined;
  const at = 1 + 2 * ID_BYTES;
  const atMs = bytes.readUIntBE(at + NUMBER_BYTES, NUMBER_BYTES);
  return {
    store: bytes.toString('hex', 1, 1 + ID_BYTES),
    process: bytes.toString('hex', 1 + ID_BYTES, at),
    number: bytes.readUIntBE(at, NUMBER_BYTES),
    ...(atMs > 0 && { atMs }),
  };
}
