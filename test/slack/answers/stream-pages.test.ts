import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createStreamPages, type Hurry } from '../../../src/slack/answers/stream-pages.ts';

const MAX_PAGE = 10_500;

/** The pages of a text that comes in parts of these sizes, the last of them all of the rest. */
function pagesOf(text: string, sizes: number[] = [], hurryAt?: { from: number; how: Hurry }) {
  const pages = createStreamPages();
  const written = [''];
  let end = 0;
  for (const size of [...sizes, text.length]) {
    const ended = end + size >= text.length;
    end = Math.min(text.length, end + size);
    const hurry = hurryAt && end >= hurryAt.from ? hurryAt.how : 'none';
    for (;;) {
      const part = pages.take(text.slice(0, end), { ended, hurry });
      written.push(written.pop() + part.text);
      if (!part.full) break;
      written.push('');
    }
    if (ended) break;
  }
  return written;
}

const line = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 400 }).map((n) => 'word '.repeat(n / 4 + 1)) },
  { weight: 2, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom('```ts', '```', '~~~', '   ', '- item', '| a | b |') },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 12_000 }).map((n) => 'x'.repeat(n)) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 900 }).map((n) => '👩🏽‍🚒'.repeat(n)) },
);
const text = fc.array(line, { maxLength: 120 }).map((lines) => lines.join('\n'));
const sizes = fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 200 });

const bare = (shown: string) => shown.replace(/^\s*(?:```|~~~).*$/gm, '').replace(/\s+/g, '');

test('the pages are the text, each within the limit, and the same however the text comes', () => {
  fc.assert(
    fc.property(text, sizes, (whole, parts) => {
      const pages = pagesOf(whole, parts);
      expect(pages).toEqual(pagesOf(whole));
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(MAX_PAGE);
      expect(bare(pages.join('\n'))).toBe(bare(whole));
    }),
  );
});

test('no page but the last is empty, and none is begun before something follows', () => {
  fc.assert(
    fc.property(text, sizes, (whole, parts) => {
      const pages = pagesOf(`${whole}\n.`, parts);
      for (const page of pages) expect(page.trim()).not.toBe('');
    }),
  );
});

test('a page ends between paragraphs, else lines, else words', () => {
  const paragraphs = pagesOf(`${'word '.repeat(30)}\n\n`.repeat(200));
  expect(paragraphs.length).toBeGreaterThan(2);
  for (const page of paragraphs.slice(0, -1)) {
    expect(page.length).toBeGreaterThan(7_000);
    expect(page).toMatch(/\n\n$/);
  }
  const lines = pagesOf(`${'word '.repeat(30)}\n`.repeat(200));
  for (const page of lines.slice(0, -1)) expect(page).toMatch(/[^\n]\n$/);
  const words = pagesOf('word '.repeat(5_000));
  for (const page of words) expect(page).toMatch(/^(word )+$/);
});

test('a code block that is cut is closed and opened again', () => {
  const code = `Look:\n\n\`\`\`ts\n${'const a = 1;\n'.repeat(1_800)}\`\`\`\n\nThat was it.`;
  const pages = pagesOf(code);
  expect(pages.length).toBeGreaterThan(2);
  for (const page of pages) expect(page.match(/^```/gm)?.length).toBe(2);
  for (const page of pages.slice(1)) expect(page).toMatch(/^```ts\nconst a/);
  expect(pages.at(-1)).toMatch(/```\n\nThat was it\.$/);
});
test('a code block that the model leaves open is closed', () => {
  expect(pagesOf('```ts\nconst a = 1;')).toEqual(['```ts\nconst a = 1;\n```']);
});

test('an emoji of many parts is not cut, nor half a pair left', () => {
  const pages = pagesOf('👩🏽‍🚒'.repeat(4_000));
  expect(pages.length).toBeGreaterThan(2);
  for (const page of pages) expect(page).toMatch(/^(?:👩🏽‍🚒)+$/u);
});

test('a page in a hurry ends at the next line or word', () => {
  const parts = Array.from({ length: 100 }, () => 50);
  const long = `${'word '.repeat(40)}\n`.repeat(20);
  const byLine = pagesOf(long, parts, { from: 1_000, how: 'line' });
  expect(byLine[0]?.length).toBeLessThan(1_300);
  expect(byLine[0]).toMatch(/\n$/);
  const byWord = pagesOf('word '.repeat(800), parts, { from: 1_000, how: 'word' });
  expect(byWord[0]?.length).toBeLessThan(1_010);
});
