import { crc32, deflateSync } from 'node:zlib';

/** Pixels as a canvas gives them: red, green, blue and opacity of each. */
export interface Pixels {
  width: number;
  height: number;
  data: Uint8Array;
}

/** The colours of a picture, red, green and blue in one number, and the place in the palette of each that occurs. */
export interface Palette {
  colours: readonly number[];
  places: ReadonlyMap<number, number>;
}

interface Chunk {
  name: string;
  content: Buffer;
}

const MAX_COLOURS = 256;

/** A picture as PNG with a palette, a third of one with all colours. Source: PNG, Third Edition, sections 5 and 11. */
export function palettePng(pixels: Pixels): Buffer {
  const palette = paletteOf([pixels]);
  return pngOf(pixels, palette, [{ name: 'IDAT', content: indexesOf(pixels, palette) }]);
}

/** A palette for several pictures: the most frequent colours are kept, others become the nearest of them. */
export function paletteOf(pictures: readonly Pixels[]): Palette {
  const counts = new Map<number, number>();
  for (const { data } of pictures) {
    for (let pixel = 0; pixel < data.length / 4; pixel++) {
      const colour = colourAt(data, pixel);
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
  }
  const all = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  const colours = all.slice(0, MAX_COLOURS);
  return { colours, places: new Map(all.map((colour) => [colour, nearest(colours, colour)])) };
}

/** The pixels as places in the palette, line by line and compressed, as image data holds them. */
export function indexesOf({ width, height, data }: Pixels, { places }: Palette): Buffer {
  // Each line begins with its filter, here none: that is best for a palette.
  const lines = Buffer.alloc((width + 1) * height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const at = pixel + Math.floor(pixel / width) + 1;
    lines[at] = places.get(colourAt(data, pixel)) ?? 0;
  }
  return deflateSync(lines, { level: 9 });
}

/** A PNG of that size and palette around the chunks that hold its images. */
export function pngOf(
  { width, height }: Pixels,
  { colours }: Palette,
  images: readonly Chunk[],
): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits for a pixel, which is a place in the palette.
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    ...[
      { name: 'IHDR', content: head },
      { name: 'PLTE', content: Buffer.from(colours.flatMap(partsOf)) },
      ...images,
      { name: 'IEND', content: Buffer.alloc(0) },
    ].map(written),
  ]);
}

/** Red, green and blue of a pixel in one number. */
export function colourAt(data: Uint8Array, pixel: number): number {
  const at = pixel * 4;
  return (data[at] ?? 0) * 65_536 + (data[at + 1] ?? 0) * 256 + (data[at + 2] ?? 0);
}

const partsOf = (colour: number) => [colour >> 16, (colour >> 8) & 255, colour & 255];

function nearest(palette: readonly number[], colour: number): number {
  const wanted = partsOf(colour);
  const distances = palette.map((one) =>
    partsOf(one).reduce((sum, part, at) => sum + (part - (wanted[at] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

function written({ name, content }: Chunk): Buffer {
  const named = Buffer.concat([Buffer.from(name), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
