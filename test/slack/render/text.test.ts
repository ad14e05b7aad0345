import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  clip,
  clipEscaped,
  decodeText,
  escapeText,
  harmless,
  plain,
} from '../../../src/slack/render/text.ts';
import { anyCharacter } from '../../helpers/any-character.ts';

const MENTION = /<[!@#]/;

/** Ways to read a text: without invisible characters, with backslashes and entities decoded, or both. */
function readings(text: string): string[] {
  const unseen = (from: string) => from.replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '');
  const entities = (from: string) =>
    from
      .replace(/&lt;|&#0*60;|&#x0*3c;/gi, '<')
      .replace(/&excl;|&#0*33;/gi, '!')
      .replace(/&commat;|&#64;/gi, '@');
  const backslashes = (from: string) => from.replace(/\\([!-/:-@[-`{-~])/g, '$1');
  // Either of the two, with and without backslashes: each leaves the other's mark in place.
  return [
    text,
    unseen(text),
    entities(text),
    backslashes(unseen(text)),
    backslashes(entities(text)),
  ];
}

describe('a model’s text', () => {
  test.each([
    '<!channel> wake up',
    '<!here>',
    '<!everyone>',
    '<@U12345678>',
    '<#C12345678|general>',
    '<!subteam^S123|@ops>',
    '<\u200b!channel>',
    '<\u2060\u202e!here>',
    '<\ufe0f@U1>',
    '<\\!channel>',
    '\\<!channel>',
    '&lt;!channel&gt;',
    '&#60;!channel>',
    '&#x3C;&#33;channel>',
    '<&excl;here>',
    '`<!channel>`',
    '```\n<@U1>\n```',
    '[<!here>](https://example.com)',
  ])('pings nobody with %j', (hostile) => {
    for (const reading of readings(harmless(hostile))) expect(reading).not.toMatch(MENTION);
  });
  test('pings nobody whatever surrounds and fills the mention', () => {
    const noise = fc.constantFrom(
      '',
      '\\',
      '\u200b',
      '\u2060',
      '\u202e',
      '<',
      '&lt;',
      '&',
      '*',
      ' ',
    );
    const piece = fc.oneof(noise, fc.constantFrom('!channel>', '@U1>', '#C1>', '&#33;here>', 'a'));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const shown = harmless(pieces.join(''));
        for (const reading of readings(shown)) expect(reading).not.toMatch(MENTION);
      }),
    );
  });

  test.each([
    'See <https://example.com|the page> and [another](https://example.org).',
    'if (a < b && c > d) x << 2',
    '<!-- a comment -->',
    '<!DOCTYPE html>',
    '<![CDATA[x]]>',
    '#include <stdio.h>',
    'mail ada@example.com, ask @ada',
  ])('leaves %j as it is', (text) => {
    expect(harmless(text)).toBe(text);
  });

  test.each([
    [
      '[https://bank.example/login](https://evil.example/x)',
      '[https://bank.example/login] (https://evil.example/x)',
    ],
    [
      '<https://evil.example|https://bank.example>',
      '<https://evil.example> (https://bank.example)',
    ],
    ['<https://evil.example/[|bank.example>', '<https://evil.example/[> (bank.example)'],
    ['<mailto:a@evil.example|a@bank.example>', '<mailto:a@evil.example> (a@bank.example)'],
    ['<https://bank.example/a|bank.example>', '<https://bank.example/a|bank.example>'],
    ['[1]: https://evil.example', '[1] : https://evil.example'],
  ])('hides where no link goes: %j', (hostile, shown) => {
    expect(harmless(hostile)).toBe(shown);
  });

  test('is cleaned without hanging on a hostile text', { timeout: 60_000 }, () => {
    // It takes some milliseconds; work that grows with the square of the text takes minutes.
    const most = 400_000;
    expect(harmless('<\u200b'.repeat(most)).length).toBeGreaterThanOrEqual(2 * most);
    expect(harmless(`<${'\u200b'.repeat(most)}`).length).toBeGreaterThan(most);
    for (const unit of ['<a|', '<a|b', '<|]', '[a.bc](<a|b']) {
      expect(harmless(unit.repeat(most / 4)).length).toBeGreaterThanOrEqual(most / 4);
    }
  });
});
const piece = fc.oneof(
  fc.constantFrom('a', ' ', '&', '<', '\u0301', '\u200d', '🇩', '👨‍👩‍👧‍👦', '👍🏽', '\n', '\ud83d'),
  anyCharacter,
);

describe('data', () => {
  test('is escaped where Slack parses, and loses what cannot be seen', () => {
    expect(escapeText('a <!here> & b\u202e\u0007\r\nc')).toBe('a &lt;!here&gt; &amp; b\nc');
    expect(plain('x\u2066y\ttab')).toBe('xy\ttab');
  });

  test('is cut between graphemes, and says so', () => {
    const family = '👨‍👩‍👧‍👦';
    expect(clip('short', 5)).toBe('short');
    expect(clip('longer', 5)).toBe('long…');
    expect(clip(`ab${family}`, 6)).toBe('ab…');
    expect(clip(`${family}${family}`, family.length + 1)).toBe(`${family}…`);
    expect(clip('e\u0301e\u0301', 3)).toBe('e\u0301…');
  });
  test('is never cut inside an entity', () => {
    expect(clipEscaped('<<<', 12)).toBe('&lt;&lt;&lt;');
    expect(clipEscaped('<<<', 11)).toBe('&lt;&lt;…');
    fc.assert(
      fc.property(fc.string({ unit: piece }), fc.integer({ min: 1, max: 40 }), (text, max) => {
        const cut = clipEscaped(text, max);
        expect(cut.length).toBeLessThanOrEqual(max);
        expect(cut.replace(/&(amp|lt|gt);/g, '')).not.toMatch(/[<>&]/);
      }),
    );
  });
});

describe('what a person typed', () => {
  const decode = (text: string) => decodeText(text, (id) => (id === 'U1' ? 'Ada' : undefined));

  test('keeps the people, groups and channels somebody chose, where that is asked for, and nothing else', () => {
    const chosen = '<#C1|oncall> <@U1|ada> <@W2> <!subteam^S1|@ops>';
    const others =
      '<!here> <!channel> <https://example.com|click me> <mailto:a@b.example|a@b.example>';
    const decoded = decodeText(`${chosen} ${others} &lt;`, () => undefined, { keepsChosen: true });
    expect(decoded).toBe(`${chosen} @here @channel https://example.com a@b.example <`);
  });

  test.each([
    ['a &lt; b &amp;&amp; c &gt; d', 'a < b && c > d'],
    ['&amp;lt;', '&lt;'],
    ['<https://example.com/a?b=1&amp;c=2>', 'https://example.com/a?b=1&c=2'],
    ['<https://example.com|example.com>', 'https://example.com'],
    ['<http://example.com|example.com>', 'example.com'],
    ['<https://example.com|click me>', 'https://example.com'],
    ['<mailto:a@example.com|a@example.com>', 'a@example.com'],
    ['<@U1> and <@U2|bob> and <@U3>', '@Ada and @bob and @U3'],
    ['<#C1|general> <#C2>', '#general #C2'],
    ['<!here> <!subteam^S1|@ops>', '@here @ops'],
    ['<!date^1392734382^{date}|Feb 18>', 'Feb 18'],
    ['<@U2|> in <#C1|>', '@U2 in #C1'],
    ['mention=<!subteam^S1|@ops> shop', 'mention=<!subteam^S1|@ops> shop'],
    ['mention= <!subteam^S1|@ops>', 'mention=<!subteam^S1|@ops>'],
    ['MENTION="<!subteam^S1>" of <!subteam^S2>', 'MENTION="<!subteam^S1>" of @group'],
    [
      'mention=<!here> mention=<@U1> name=<!subteam^S1|@ops>',
      'mention=@here mention=@Ada name=@ops',
    ],
    ['mention=&lt;!here&gt;', 'mention=<!here>'],
  ])('%j is read as %j', (sent, typed) => {
    expect(decode(sent)).toBe(typed);
  });
});
