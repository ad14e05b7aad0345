import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MarkdownPiece, MarkdownResult } from '../../../src/console/page/markdown/blocks.ts';
import { colour } from '../../../src/console/page/markdown/colour.ts';
import {
  formatMarkdown,
  MAX_DEPTH,
  MAX_PIECES,
} from '../../../src/console/page/markdown/markdown.ts';
import { hostileMarkdown } from '../../helpers/console/hostile-markdown.ts';
import { long } from '../../helpers/long.ts';

const formatWhole = (text: string) => formatMarkdown({ text, whole: true, room: 2_000 });
const blocksOf = ({ blocks }: MarkdownResult) =>
  blocks.map((one) => JSON.parse(one) as MarkdownPiece);

/** HTML is shorter to read than pieces. */
function htmlOf(piece: MarkdownPiece): string {
  if (typeof piece === 'string') return piece;
  const [tag, attributes, children] = piece;
  const given = Object.entries(attributes === 0 ? {} : attributes);
  const named = given.map(([name, value]) => ` ${name}=${value}`).join('');
  return `<${tag}${named}>${children.map(htmlOf).join('')}</${tag}>`;
}

const html = (text: string) => blocksOf(formatWhole(text)).map(htmlOf).join('\n');

function wordsOf(piece: MarkdownPiece): string {
  return typeof piece === 'string' ? piece : piece[2].map(wordsOf).join('');
}

function piecesIn(piece: MarkdownPiece): number {
  return typeof piece === 'string' ? 1 : piece[2].reduce((sum, one) => sum + piecesIn(one), 1);
}

function depthOf(piece: MarkdownPiece): number {
  return typeof piece === 'string' ? 0 : 1 + Math.max(0, ...piece[2].map(depthOf));
}

test.each([
  ['**a** *b* ~~c~~ `d`', '<p><strong>a</strong> <em>b</em> <del>c</del> <code>d</code></p>'],
  ['a\nb', '<p>a<br></br>b</p>'],
  ['# a\n\nb\n\n---', '<h1>a</h1>\n<p>b</p>\n<hr></hr>'],
  ['- a\n- b\n  - c', '<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>'],
  ['3. a\n4. b', '<ol start=3><li>a</li><li>b</li></ol>'],
  ['- [ ] a\n- [x] b', '<ul><li>☐ a</li><li>☑ b</li></ul>'],
  ['> a', '<blockquote><p>a</p></blockquote>'],
  ['```js x\na\n```', '<pre language=js>a</pre>'],
  ['[a](https://b.example "c")', '<p><a href=https://b.example>a</a></p>'],
  ['see https://b.example/c).', '<p>see <a href=https://b.example/c>https://b.example/c</a>).</p>'],
  ['[a](/b) [c](ftp://d.example)', '<p>a c</p>'],
  ['[a](javascript:b) [c](data:text/html,d)', '<p>[a](javascript:b) [c](data:text/html,d)</p>'],
  ['![a](https://b.example/c.png)', '<p><a href=https://b.example/c.png>Picture: a</a></p>'],
  ['<b onclick=a>b</b>', '<p><b onclick=a>b</b></p>'],
  [
    'http://xn--pple-43d.example',
    '<p><a href=http://xn--pple-43d.example>http://xn--pple-43d.example</a></p>',
  ],
  [
    '|a|b|c|d|\n|:-|:-:|-:|-|\n|1|2|3|4|',
    '<table><thead><tr><th align=left>a</th><th align=center>b</th><th align=right>c</th><th>d</th></tr></thead>' +
      '<tbody><tr><td align=left>1</td><td align=center>2</td><td align=right>3</td><td>4</td></tr></tbody></table>',
  ],
])('%s is formatted', (text, shown) => {
  expect(html(text)).toBe(shown);
});

describe('a hostile text', () => {
  const characters = 32_000;

  function cpuMsOf<T>(work: () => T): [T, number] {
    const before = process.cpuUsage();
    const done = work();
    const { user, system } = process.cpuUsage(before);
    return [done, (user + system) / 1_000];
  }

  const prose = 'Hello **world**, this is `code` and a [link](https://a.example/x).\n\n';
  const setProse = () => formatWhole(prose.repeat(characters / prose.length));
  setProse();
  const usualMs = Math.max(5, cpuMsOf(setProse)[1]);

  test.each(hostileMarkdown(characters))(
    'a hostile text of %s is formatted in linear time, into blocks that a browser lays out at once',
    (_, text) => {
      const [set, cpuMs] = cpuMsOf(() => formatWhole(text));
      // A text with quadratic time would take thousands of times as long.
      expect(cpuMs / usualMs).toBeLessThan(100);
      const blocks = blocksOf(set);
      expect(blocks.length).toBeLessThan(2_100);
      for (const block of blocks) {
        expect(piecesIn(block)).toBeLessThanOrEqual(MAX_PIECES + 1);
        expect(depthOf(block)).toBeLessThanOrEqual(MAX_DEPTH);
      }
      if (!set.intricate) return;
      const letters = (words: string) => words.replace(/[^a-z]/g, '').length;
      expect(letters(blocks.map(wordsOf).join(''))).toBeGreaterThanOrEqual(
        letters(text.slice(0, set.end)),
      );
    },
  );
});

/** The blocks after each piece, as the page adds them up. */
function grown(pieces: readonly string[]): string[] {
  let text = '';
  let settled: string[] = [];
  let at = 0;
  let shown: string[] = [];
  for (const piece of pieces) {
    text += piece;
    const set = formatMarkdown({ text: text.slice(at), whole: false, room: 2_000 });
    shown = [...settled, ...set.blocks];
    settled = shown.slice(0, settled.length + set.settled.blocks);
    at += set.settled.at;
  }
  return shown;
}

test('an answer that grows in any pieces has the same blocks as the whole', () => {
  const line = fc.constantFrom(
    ...['a', '*', '* b', '- c', '  - d', '1. e', '', '', '```', '~~~', '> f'],
    ...['# g', '---', '===', '|a|b|', '|-|-|', '    h', '**i**', '\t- j', '+ k', '  l', '\r'],
  );
  const text = fc.array(line, { maxLength: 20 }).map((lines) => lines.join('\n'));
  const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 12 });
  fc.assert(
    fc.property(text, cuts, (whole, places) => {
      const at = [...places, whole.length].map((one) => Math.min(one, whole.length));
      const sorted = at.sort((a, b) => a - b);
      const pieces = sorted.map((end, index) => whole.slice(sorted[index - 1] ?? 0, end));
      expect(grown(pieces)).toEqual(formatWhole(whole).blocks);
    }),
    { numRuns: long ? 20_000 : 150 },
  );
});

test('a growing answer is formatted again only from the block before its last line', () => {
  const text = `${'A paragraph.\n\n'.repeat(500)}- a\n- b\n\nThe end`;
  const { blocks, settled } = formatMarkdown({ text, whole: false, room: 2_000 });
  expect(blocks).toHaveLength(502);
  expect(settled).toEqual({ blocks: 500, at: text.indexOf('- a') });
});

test('code is coloured by its language and keeps its text', () => {
  const code = 'const a = "<b>"; // c';
  const pieces = JSON.parse(colour({ language: 'js', code }) ?? '[]') as MarkdownPiece[];
  expect(pieces.map(htmlOf).join('')).toBe(
    '<span class=hljs-keyword>const</span> a = <span class=hljs-string>"<b>"</span>; ' +
      '<span class=hljs-comment>// c</span>',
  );
  expect(pieces.map(wordsOf).join('')).toBe(code);
});

test.each(['', 'nothing-known', 'constructor', '__proto__'])(
  'code in %j is not coloured',
  (language) => {
    expect(colour({ language, code: 'a' })).toBeUndefined();
  },
);

test("times in an answer are written by the reader's clock, except in code", () => {
  const { blocks } = formatWhole('Down since 2026-11-28 14:05 UTC, `14:05 UTC`.');
  const shown = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  const time = shown.format(Date.parse('2026-11-28T14:05:00Z'));
  expect(blocks.map((block) => JSON.parse(block))).toEqual([
    ['p', 0, [`Down since ${time}, `, ['code', 0, ['14:05 UTC']], '.']],
  ]);
});
