import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { BUILT_PAGE } from './test-console.ts';

/** What a page may weigh, script and style together, as it is sent. */
const MAX_BYTES = 150_000;

const pages = readdirSync(BUILT_PAGE)
  .filter((file) => file.endsWith('.js'))
  .map((file) => file.replace(/\.js$/, ''));

test('the pages are built', () => {
  expect(pages).toEqual(expect.arrayContaining(['playground', 'status']));
});

test.each(pages)('%s is light enough', (name) => {
  const weights = ['js', 'css'].map(
    (kind) => gzipSync(readFileSync(new URL(`${name}.${kind}`, BUILT_PAGE))).length,
  );
  expect(weights.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(MAX_BYTES);
});
