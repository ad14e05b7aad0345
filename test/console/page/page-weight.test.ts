import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { PAGES } from '../../../src/console/page-files.ts';
import { BUILT_PAGE, startTestConsole } from '../../helpers/console/test-console.ts';

/** Largest size of a page's script and style together, compressed. */
const MAX_BYTES = 50_000;

/** Largest sizes of a page's first script, and of a script loaded on demand. */
const MAX_FIRST_BYTES = 30_000;
const MAX_LATER_BYTES = 60_000;

/** Largest size of the font, in bytes. Browsers fetch it once for all pages. */
const MAX_FONT_BYTES = 50_000;

const scripts = readdirSync(BUILT_PAGE)
  .filter((file) => file.endsWith('.js'))
  .map((file) => file.replace(/\.js$/, ''));
const pages = PAGES.map(({ name }) => name);
const later = scripts.filter((name) => !pages.includes(name));

const sentBytes = (file: string) => gzipSync(readFileSync(new URL(file, BUILT_PAGE))).length;

test.each(pages)(
  '%s is light enough, and its script, which all that is shown waits for, is lighter',
  (name) => {
    expect(sentBytes(`${name}.js`)).toBeLessThan(MAX_FIRST_BYTES);
    expect(sentBytes(`${name}.js`) + sentBytes(`${name}.css`)).toBeLessThan(MAX_BYTES);
  },
);

test('the scripts that format and colour answers are loaded apart from the pages', () => {
  expect(later).toEqual(['colour-worker', 'markdown-worker']);
  for (const name of later) expect(sentBytes(`${name}.js`)).toBeLessThan(MAX_LATER_BYTES);
});

test('the font is light, comes from here, is kept for good, and every page has it fetched early', async () => {
  const { url } = await startTestConsole();
  for (const path of ['/', '/account']) {
    const html = await (await fetch(url + path)).text();
    const [, address] = /<link rel="preload" href="([^"]+)" as="font"/.exec(html) ?? [];
    const font = await fetch(url + address);
    expect(font.headers.get('content-type')).toBe('font/woff2');
    expect(font.headers.get('cache-control')).toContain('immutable');
    expect((await font.arrayBuffer()).byteLength).toBeLessThan(MAX_FONT_BYTES);
    expect(font.headers.get('content-security-policy')).toContain("font-src 'self'");
  }
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
