import { crc32, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { animatedPng, type Frame } from './animated-png.ts';
import { type Pixels, palettePng } from './palette-png.ts';

const COLOURS = [0xff_ff_ff, 0x00_00_00, 0x4f_46_e5, 0xbe_12_3c];

/** Frames of one size, each of few colours, some of them equal to the one before. */
const movies = fc
  .record({ width: fc.integer({ min: 1, max: 9 }), height: fc.integer({ min: 1, max: 9 }) })
  .chain(({ width, height }) => {
    const colours = fc.array(fc.constantFrom(...COLOURS), {
      minLength: width * height,
      maxLength: width * height,
    });
    const frame = fc.record({ colours, shownMs: fc.integer({ min: 10, max: 4_000 }) });
    return fc.array(frame, { minLength: 1, maxLength: 6 }).map((frames) =>
      frames.flatMap(({ colours, shownMs }, place): Frame[] => {
        const one = { pixels: pixelsOf(width, height, colours), shownMs };
        return place % 3 === 2 ? [one, one] : [one];
      }),
    );
  });

test('A player of a moving picture sees each frame for its time', () => {
  fc.assert(
    fc.property(movies, (frames) => {
      const seen = play(animatedPng(frames));
      const wanted: Array<{ colours: number[]; shownMs: number }> = [];
      for (const { pixels, shownMs } of frames) {
        const colours = coloursOf(pixels);
        const last = wanted.at(-1);
        if (last && String(last.colours) === String(colours)) last.shownMs += shownMs;
        else wanted.push({ colours, shownMs });
      }
      expect(seen).toEqual(wanted);
    }),
  );
});

test('A still picture has the colours that it was made of', () => {
  const pixels = pixelsOf(2, 2, COLOURS);
  expect(play(palettePng(pixels))).toEqual([{ colours: COLOURS, shownMs: 0 }]);
});

test('A moving picture without a frame is refused', () => {
  expect(() => animatedPng([])).toThrow(RangeError);
});

function pixelsOf(width: number, height: number, colours: readonly number[]): Pixels {
  const data = colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255, 255]);
  return { width, height, data: Uint8Array.from(data) };
}

const coloursOf = ({ width, height, data }: Pixels) =>
  Array.from({ length: width * height }, (_, pixel) =>
    Buffer.from(data.subarray(pixel * 4, pixel * 4 + 3)).readUIntBE(0, 3),
  );

/** Reads a PNG as its specification says, and gives all of the canvas after each frame. */
function play(png: Buffer): Array<{ colours: number[]; shownMs: number }> {
  const chunks = chunksOf(png);
  const only = (name: string) =>
    chunks.find((one) => one.name === name)?.content ?? Buffer.alloc(0);
  const [width, height] = [only('IHDR').readUInt32BE(0), only('IHDR').readUInt32BE(4)];
  const canvas = new Array<number>(width * height).fill(-1);
  const whole = { width, height, left: 0, top: 0, shownMs: 0 };
  let frame = whole;
  let number = 0;
  const seen: Array<{ colours: number[]; shownMs: number }> = [];
  for (const { name, content } of chunks) {
    if (name === 'fcTL') {
      expect(content.readUInt32BE(0)).toBe(number++);
      const [width = 0, height = 0, left = 0, top = 0] = [4, 8, 12, 16].map((at) =>
        content.readUInt32BE(at),
      );
      const shownMs = (content.readUInt16BE(20) * 1_000) / content.readUInt16BE(22);
      frame = { width, height, left, top, shownMs };
    }
    if (name === 'fdAT') expect(content.readUInt32BE(0)).toBe(number++);
    if (name !== 'IDAT' && name !== 'fdAT') continue;
    const lines = inflateSync(name === 'fdAT' ? content.subarray(4) : content);
    for (let y = 0; y < frame.height; y++) {
      expect(lines[y * (frame.width + 1)]).toBe(0);
      for (let x = 0; x < frame.width; x++) {
        const place = lines[y * (frame.width + 1) + x + 1] ?? 0;
        const at = (frame.top + y) * width + frame.left + x;
        canvas[at] = only('PLTE').readUIntBE(place * 3, 3);
      }
    }
    seen.push({ colours: [...canvas], shownMs: frame.shownMs });
  }
  if (only('acTL').length > 0) expect(only('acTL').readUInt32BE(0)).toBe(seen.length);
  return seen;
}

function chunksOf(png: Buffer): Array<{ name: string; content: Buffer }> {
  const chunks: Array<{ name: string; content: Buffer }> = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const named = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(named));
    chunks.push({ name: named.toString('latin1', 0, 4), content: named.subarray(4) });
    at += 12 + length;
  }
  expect(chunks.at(-1)?.name).toBe('IEND');
  return chunks;
}
