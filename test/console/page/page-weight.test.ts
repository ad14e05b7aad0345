import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { BUILT_PAGE, startTestConsole } from '../../helpers/console/test-console.ts';

/** What a page may weigh, script and style together, as it is sent. */
const MAX_BYTES = 150_000;

/** What the chat's script may weigh, without which nothing is shown; workers' scripts come when there is work for them. */
const MAX_FIRST_BYTES = 40_000;
const MAX_WORKER_BYTES = 60_000;

const scripts = readdirSync(BUILT_PAGE)
  .filter((file) => file.endsWith('.js'))
  .map((file) => file.replace(/\.js$/, ''));
const workers = scripts.filter((name) => name.endsWith('-worker'));
const pages = scripts.filter((name) => !name.endsWith('-worker'));

const sentBytes = (file: string) => gzipSync(readFileSync(new URL(file, BUILT_PAGE))).length;

test('the pages are built', () => {
  expect(pages).toEqual(expect.arrayContaining(['playground', 'status']));
});

test.each(pages)('%s is light enough', (name) => {
  expect(sentBytes(`${name}.js`) + sentBytes(`${name}.css`)).toBeLessThan(MAX_BYTES);
});

test("the chat's first script is light, and what sets and colours answers comes apart from it", () => {
  expect(sentBytes('playground.js')).toBeLessThan(MAX_FIRST_BYTES);
  expect(workers).toEqual(['colour-worker', 'markdown-worker']);
  for (const name of workers) expect(sentBytes(`${name}.js`)).toBeLessThan(MAX_WORKER_BYTES);
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
