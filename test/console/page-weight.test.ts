import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { BUILT_PAGE, startTestConsole } from './test-console.ts';

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

test('a script is sent compressed to who understands that, and as it is to others', async () => {
  const { url } = await startTestConsole();
  const built = readFileSync(new URL('playground.js', BUILT_PAGE));
  const sentFor = async (encoding: string) => {
    const headers = { 'accept-encoding': encoding };
    return await fetch(`${url}/console/playground.js`, { headers });
  };
  for (const time of ['first', 'again']) {
    const small = await sentFor('gzip');
    expect([time, small.headers.get('content-encoding')]).toEqual([time, 'gzip']);
    expect(Number(small.headers.get('content-length'))).toBeLessThan(built.length / 2);
    expect(Buffer.from(await small.arrayBuffer()).equals(built)).toBe(true);
  }
  const plain = await sentFor('identity');
  expect(plain.headers.get('content-encoding')).toBeNull();
  expect(Buffer.from(await plain.arrayBuffer()).equals(built)).toBe(true);
});
