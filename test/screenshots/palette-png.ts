import { crc32, deflateSync } from 'node:zlib';

/** Pixels as a canvas gives them: red, green, blue and opacity of each. */
export interface Pixels {
  width: number;
  height: number;
  data: Uint8Array;
}

const MAX_COLOURS = 256;

/**
 * A picture as PNG with a palette, a third of one with all colours. The most frequent colours are kept, others become the
 * nearest of them. Source: PNG, Third Edition, sections 5 and 11.
 */
export function palettePng({ width, height, data }: Pixels): Buffer {
  const colours = coloursOf(data);
  const palette = colours.slice(0, MAX_COLOURS);
  const places = new Map(colours.map((colour) => [colour, nearest(palette, colour)]));
  // Each line begins with its filter, here none: that is best for a palette.
  const lines = Buffer.alloc((width + 1) * height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const at = pixel + Math.floor(pixel / width) + 1;
    lines[at] = places.get(colourAt(data, pixel)) ?? 0;
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits for a pixel, which is a place in the palette.
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap(partsOf))),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** All colours that occur, the most frequent first. */
function coloursOf(data: Uint8Array): number[] {
  const counts = new Map<number, number>();
  for (let pixel = 0; pixel < data.length / 4; pixel++) {
    const colour = colourAt(data, pixel);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
}

function colourAt(data: Uint8Array, pixel: number): number {
  const [red = 0, green = 0, blue = 0] = data.subarray(pixel * 4, pixel * 4 + 3);
  return red * 65_536 + green * 256 + blue;
}

const partsOf = (colour: number) => [colour >> 16, (colour >> 8) & 255, colour & 255];

function nearest(palette: readonly number[], colour: number): number {
  const wanted = partsOf(colour);
  const distances = palette.map((one) =>
    partsOf(one).reduce((sum, part, at) => sum + (part - (wanted[at] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

function chunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
