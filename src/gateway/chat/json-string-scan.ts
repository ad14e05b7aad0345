/** Bytes that a scan takes at once. */
export const SCAN_BYTES = 64 * 1024;

/**
 * Finds the ends of the strings in a JSON text that comes in parts, and tells whether they are what a string may be: without
 * control characters, and with no escapes but those that there are. Source: RFC 8259, section 7. Whether the bytes are UTF-8
 * is not looked at. One text at a time.
 * A loop of JavaScript took more CPU than all the rest of a call with a large body: a processor cannot guess where the next
 * escape stands, and waits whenever it guessed wrong. So it is WebAssembly, which takes 16 bytes a step whatever they are.
 */
export class JsonStringScan {
  private readonly program: Program;
  private length = 0;
  private due = 0;

  constructor() {
    program ??= compile();
    this.program = program;
  }

  /** Takes the next part, of up to `SCAN_BYTES`. */
  load(part: Uint8Array): void {
    this.program.memory.set(part);
    this.length = part.length;
  }

  /**
   * Where in the part the quote stands that ends the string whose text goes on at `start`. The part's length: in a later one.
   * -1: nowhere, since it is no string.
   */
  endOfString(start: number): number {
    if (start === this.length) return start;
    const found = this.program.scan(start, this.length, this.due);
    if (found === NO_STRING) return -1;
    this.due = found >>> PLACE_BITS;
    return found & PLACE_MASK;
  }
}

interface Program {
  /** Holds the part. */
  memory: Uint8Array;
  /** Returns a place, and in the bits above it what is due; or `NO_STRING`. */
  scan(at: number, end: number, due: number): number;
}

/** Made when it is first needed: it takes 3 ms of CPU, which a start can do without. */
let program: Program | undefined;

const PLACE_BITS = 20;
const PLACE_MASK = (1 << PLACE_BITS) - 1;
const NO_STRING = -1;

/**
 * What a byte can be, a bit for each. The characters of one bit are all that their lower and upper halves can make: so a byte
 * has the bits that the tables of both its halves have. Source: Langdale and Lemire, "Parsing Gigabytes of JSON per Second",
 * section 3.1.2.
 */
const KINDS = [
  { bit: 0x01, characters: '"/' },
  { bit: 0x02, characters: '\\' },
  { bit: 0x04, characters: 'bfn' },
  { bit: 0x08, characters: 'rtu' },
  { bit: 0x10, characters: '0123456789' },
  { bit: 0x20, characters: 'abcdefABCDEF' },
  // The bit that `bitmask` takes.
  { bit: 0x80, characters: String.fromCharCode(...Array(0x20).keys()) },
];
const ESCAPE_LETTER = 0x0f;
const HEX_DIGIT = 0x30;

/** For each of the 16 halves, the bits of all that have it. */
function kindsOfHalves(halfOf: (byte: number) => number): number[] {
  const bits = Array<number>(16).fill(0);
  for (const { bit, characters } of KINDS) {
    for (const half of Buffer.from(characters).map(halfOf)) bits[half] = (bits[half] ?? 0) | bit;
  }
  return bits;
}

// The code of WebAssembly, in which operands come before their operation. Source: WebAssembly core specification 2.0,
// sections 5.2 to 5.5.
type Code = readonly number[];
const operation =
  (...code: number[]) =>
  (...operands: Code[]): Code => [...operands.flat(), ...code];
const NO_RESULT = 0x40;
const END = 0x0b;

const get = (local: number) => operation(0x20, local)();
const set = (local: number, value: Code) => operation(0x21, local)(value);
const number = (value: number) => operation(0x41, ...leb128(value))();
const add = operation(0x6a);
const subtract = operation(0x6b);
const and = operation(0x71);
const or = operation(0x72);
const xor = operation(0x73);
const shiftLeft = operation(0x74);
const shiftRight = operation(0x76);
const isLess = operation(0x49);
const lowestBit = operation(0x68);
/** The first value where the third is not 0, else the second. */
const select = operation(0x1b);
const leave = operation(0x0f);
const when = (condition: Code, code: Code) => [...condition, 0x04, NO_RESULT, ...code, END];
const repeatWhile = (condition: Code, code: Code) => [
  ...[0x03, NO_RESULT, ...code],
  ...[...condition, 0x0d, 0, END],
];

const vector = (code: number, ...immediate: number[]) => operation(0xfd, code, ...immediate);
const load = vector(0x00, 0, 0);
const sixteen = (bytes: readonly number[]) => vector(0x0c, ...bytes)();
const each = (byte: number) => sixteen(Array(16).fill(byte));
const lookUp = vector(0x0e);
const isEqual = vector(0x23);
const common = vector(0x4e);
const shiftEachRight = vector(0x6d);
/** The highest bit of each byte. */
const bitmask = vector(0x64);

function leb128(value: number): number[] {
  const last = value >= -64 && value < 64;
  return last ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...leb128(value >> 7)];
}

/** The code of `scan`, and its parameters in this order. */
function scanCode(): Code {
  // Of what is due, bit 0 says that the next byte is the letter of an escape, and bits 1 to 4 that the next ones are digits.
  const [at, end, due] = [0, 1, 2];
  const [bytes, kinds] = [3, 4];
  // Of the bytes before the end: how many, and a 1 for each.
  const [count, all] = [5, 6];
  // A bit for each byte. Those of `escaped` and `digits` go on after the last one.
  const [slashes, escaped, digits, quotes, stops] = [7, 8, 9, 10, 11];

  const lowerHalves = sixteen(kindsOfHalves((byte) => byte & 15));
  const upperHalves = sixteen(kindsOfHalves((byte) => byte >> 4));
  const one = number(1);
  const letterDue = and(get(due), one);
  const isByte = (character: string) => bitmask(isEqual(get(bytes), each(character.charCodeAt(0))));
  const isNone = (kind: number) => bitmask(isEqual(common(get(kinds), each(kind)), each(0)));
  const not = (mask: Code) => xor(mask, number(-1));
  const odd = number(0xaaaaaaaa | 0);
  /** Slashes that no slash before this step escapes. */
  const free = and(get(slashes), not(letterDue));

  return [
    ...repeatWhile(isLess(get(at), get(end)), [
      ...set(bytes, load(get(at))),
      ...set(
        kinds,
        common(
          lookUp(lowerHalves, common(get(bytes), each(15))),
          lookUp(upperHalves, shiftEachRight(get(bytes), number(4))),
        ),
      ),
      ...set(count, subtract(get(end), get(at))),
      ...set(count, select(get(count), number(16), isLess(get(count), number(16)))),
      ...set(all, subtract(shiftLeft(one, get(count)), one)),
      // Of slashes in a row every other one is escaped, and what follows an odd number of them. Where such a row ends is carried
      // by the difference. Source: simdjson, `json_escape_scanner`.
      ...set(slashes, and(isByte('\\'), get(all))),
      ...set(
        escaped,
        xor(xor(subtract(or(shiftLeft(free, one), odd), free), odd), or(get(slashes), letterDue)),
      ),
      ...set(digits, shiftRight(get(due), one)),
      ...set(stops, and(and(get(escaped), isByte('u')), get(all))),
      ...when(
        get(stops),
        set(
          digits,
          [1, 2, 3, 4].reduce<Code>(
            (sum, places) => or(sum, shiftLeft(get(stops), number(places))),
            get(digits),
          ),
        ),
      ),
      ...set(quotes, and(isByte('"'), not(or(get(escaped), get(digits))))),
      ...set(
        stops,
        and(
          get(all),
          or(
            or(get(quotes), bitmask(get(kinds))),
            or(and(get(escaped), isNone(ESCAPE_LETTER)), and(get(digits), isNone(HEX_DIGIT))),
          ),
        ),
      ),
      ...when(
        get(stops),
        leave(
          select(
            add(get(at), lowestBit(get(stops))),
            number(NO_STRING),
            and(shiftRight(get(quotes), lowestBit(get(stops))), one),
          ),
        ),
      ),
      ...set(
        due,
        or(
          and(shiftRight(get(escaped), get(count)), one),
          shiftLeft(shiftRight(get(digits), get(count)), one),
        ),
      ),
      ...set(at, add(get(at), get(count))),
    ]),
    ...or(get(at), shiftLeft(get(due), number(PLACE_BITS))),
  ];
}

function compile(): Program {
  const I32 = 0x7f;
  const V128 = 0x7b;
  const section = (id: number, ...content: number[]) => [id, ...leb128(content.length), ...content];
  const name = (text: string) => [text.length, ...Buffer.from(text)];
  const locals = [2, 2, V128, 7, I32];
  const body = [...locals, ...scanCode(), END];
  const pages = SCAN_BYTES / 65_536 + 1;
  const bytes = [
    ...[...Buffer.from('\0asm'), 1, 0, 0, 0],
    ...section(1, 1, 0x60, 3, I32, I32, I32, 1, I32),
    ...section(3, 1, 0),
    // One more than a part has, since the last 16 bytes may go beyond its end.
    ...section(5, 1, 0, pages),
    ...section(7, 2, ...name('memory'), 2, 0, ...name('scan'), 0, 0),
    ...section(10, 1, ...leb128(body.length), ...body),
  ];
  const module = new WebAssembly.Module(Uint8Array.from(bytes));
  const { memory, scan } = new WebAssembly.Instance(module).exports;
  return { memory: new Uint8Array(memory.buffer), scan };
}

/** The part of WebAssembly that is used here. Node has it; the types of Node do not. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (
    module: object,
  ) => { exports: { memory: { buffer: ArrayBuffer }; scan: Program['scan'] } };
};
