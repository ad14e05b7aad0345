import { mkdirSync, writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { Pixels } from './palette-png.ts';

/** This runs from dist/screenshots/. */
const PICTURES = new URL('../../docs/images/', import.meta.url);

export type Colours = 'light' | 'dark';

/** The browser's own screenshot: a PNG with all colours. */
export const pictureOf = (page: Page) => page.screenshot({ animations: 'disabled' });

/** The pixels of a PNG; a browser decodes what it took itself. */
export async function pixelsOf(page: Page, png: Buffer): Promise<Pixels> {
  const blank = await page.context().newPage();
  const { width, height, rows } = await blank.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context?.drawImage(image, 0, 0);
    const { width, height } = image;
    const { data } = context?.getImageData(0, 0, width, height) ?? { data: new Uint8Array() };
    // Text, because transferring three million numbers takes minutes.
    const rows = Array.from({ length: height }, (_, row) =>
      btoa(String.fromCharCode(...data.subarray(row * width * 4, (row + 1) * width * 4))),
    );
    return { width, height, rows };
  }, png.toString('base64'));
  await blank.close();
  return { width, height, data: Buffer.concat(rows.map((row) => Buffer.from(row, 'base64'))) };
}

/** Writes a picture of docs/images/. */
export function save(name: string, png: Buffer): void {
  mkdirSync(PICTURES, { recursive: true });
  writeFileSync(new URL(`${name}.png`, PICTURES), png);
  process.stderr.write(`${name}.png, ${Math.round(png.length / 1_000)} KB\n`);
}
