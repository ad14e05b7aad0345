import { colourAt, indexesOf, type Pixels, paletteOf, pngOf } from './palette-png.ts';

/** A picture and for how long it is shown, milliseconds. */
export interface Frame {
  pixels: Pixels;
  shownMs: number;
}

interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}

/**
 * Encodes an endlessly looping animated PNG. All frames have the size of the first and share one palette. Only the rectangle that
 * differs from the previous frame is stored; an unchanged frame extends the previous one. Programs without support show the first
 * frame. Source: PNG, Third Edition, sections 11.3.6.1 to 11.3.6.3.
 */
export function animatedPng(frames: readonly Frame[]): Buffer {
  const [first, ...later] = frames;
  if (!first) throw new RangeError('A moving picture has at least one frame.');
  const palette = paletteOf(frames.map(({ pixels }) => pixels));
  const { width, height } = first.pixels;
  const shown = [{ ...first, rectangle: { left: 0, top: 0, width, height } }];
  let before = first.pixels;
  for (const frame of later) {
    const rectangle = changedIn(before, frame.pixels);
    const last = shown.at(-1);
    if (rectangle) shown.push({ ...frame, rectangle });
    else if (last) last.shownMs += frame.shownMs;
    before = frame.pixels;
  }
  // One number counts both the controls of the frames and what they hold.
  let number = 0;
  const chunks = shown.flatMap(({ pixels, shownMs, rectangle }, place) => {
    const control = frameControl(number++, rectangle, shownMs);
    const lines = indexesOf(cut(pixels, rectangle), palette);
    if (place === 0) return [control, { name: 'IDAT', content: lines }];
    return [control, { name: 'fdAT', content: Buffer.concat([fourBytes(number++), lines]) }];
  });
  const head = Buffer.concat([fourBytes(shown.length), fourBytes(0)]);
  return pngOf(first.pixels, palette, [{ name: 'acTL', content: head }, ...chunks]);
}

/** Position and duration of a frame. The next one is drawn over it. */
function frameControl(number: number, { width, height, left, top }: Rectangle, shownMs: number) {
  const times = Buffer.alloc(6);
  times.writeUInt16BE(Math.min(shownMs, 65_535), 0);
  times.writeUInt16BE(1_000, 2);
  const words = [number, width, height, left, top].map(fourBytes);
  return { name: 'fcTL', content: Buffer.concat([...words, times]) };
}

/** The smallest rectangle that holds all that differs; undefined when nothing does. */
function changedIn(before: Pixels, { width, height, data }: Pixels): Rectangle | undefined {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let pixel = 0; pixel < width * height; pixel++) {
    if (colourAt(data, pixel) === colourAt(before.data, pixel)) continue;
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  return right < 0 ? undefined : { left, top, width: right - left + 1, height: bottom - top + 1 };
}

function cut({ width: whole, data }: Pixels, { left, top, width, height }: Rectangle): Pixels {
  const lines = Array.from({ length: height }, (_, line) => {
    const start = ((top + line) * whole + left) * 4;
    return data.subarray(start, start + width * 4);
  });
  return { width, height, data: Buffer.concat(lines) };
}

function fourBytes(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
