import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isMask, unmask, withoutMasks } from '../../../src/bot/shared/masked-links.ts';

const EVIL = 'https://evil.example/x';

test.each([
  ['an address', `[https://bank.example/login](${EVIL})`],
  ['an address in angles', `[Bank.Example/x](<${EVIL}>)`],
  ['a bare domain', `[bank.example](${EVIL})`],
  ['a domain with www', `[www.bank.example](${EVIL} "title")`],
  ['a domain in words', `[log in at bank.example now](${EVIL})`],
  ['a mail address', `[help@bank.example](${EVIL})`],
  ['a host without a dot', `[http://intranet/login](${EVIL})`],
  ['four numbers', `[10.0.0.1](${EVIL})`],
  ['brackets in it', `[a [b] bank.example [c]](${EVIL})`],
  ['a line break in it', `[the bank\nbank.example](${EVIL})`],
  ['emphasis in it', `[bank**.**example](${EVIL})`],
  ['code', `[\`bank.example\`](${EVIL})`],
  ['code with a bracket in it', `[bank.example\`](x)\`](${EVIL})`],
  ['code in which another code seems to end', `[bank.example\`\` \` ](x) \`\`](${EVIL})`],
  ['code that begins in another item', `- \`\n- [bank.example\`](x)\`](${EVIL})`],
  ['an escaped mark of code before it', `\\\` [bank.example\`](x)\`](${EVIL})`],
  ['an escaped bracket', `[bank.example\\](x) y](${EVIL})`],
  ['an escaped dot', `[bank\\.example](${EVIL})`],
  ['an entity', `[bank&#46;example](${EVIL})`],
  ['entities of letters', `[bank.&#101;&#120;ample](${EVIL})`],
  ['a tag with a bracket in it', `[bank.example<a b="](x)">](${EVIL})`],
  ['an image', `[![bank.example](https://a.example/i.png)](${EVIL})`],
  ['the text of an image', `![bank.example](${EVIL})`],
  ['what is invisible', `[bank\u200b.\u2060ex\u00adample](${EVIL})`],
  ['something invisible before the address', `[bank.example]\u200b(${EVIL})`],
  ['a space before the address', `[bank.example]( \n${EVIL} )`],
  ['an ideographic full stop', `[bank\u3002example](${EVIL})`],
  ['a full-width address', `[ｈｔｔｐｓ：／／bank．example](${EVIL})`],
  ['a leader for a dot', `[bank\u2024example](${EVIL})`],
  ['letters of another script', `[bаnk.example](${EVIL})`],
  ['an address without a scheme behind it', '[bank.example](evil.example/x)'],
  ['an address with an entity behind it', '[bank.example](https&colon;//evil.example/x)'],
  ['the beginning of the host', '[https://bank.example](https://bank.example.evil.example/x)'],
  ['the name of a user', '[https://bank.example](https://bank.example@evil.example/x)'],
  ['another path', '[github.com/good](https://github.com/goods)'],
  ['text without an end', `[${'bank.example '.repeat(200)}](${EVIL})`],
])('a link whose text is %s is taken apart: %s', (_what, text) => {
  const shown = withoutMasks(text);
  // The last one is the link that a reader of Markdown finds.
  expect(shown.search(/\] \p{Cf}*\([^[\]]*$/u)).toBeGreaterThan(-1);
  expect(shown.replaceAll('] ', ']')).toBe(text.replaceAll('] ', ']'));
});

test.each([
  '[the docs](https://docs.example)',
  '[1.5 s](https://docs.example)',
  '[Node.js](https://nodejs.example)',
  '[e.g. this](https://docs.example)',
  '[https://bank.example](https://bank.example)',
  '[bank.example](https://www.bank.example/login?a=b&c=d)',
  '[**bank.example/login**](https://bank.example/login/now)',
  'Use `npm i x`, see [a](https://a.example) and [b](https://b.example).',
  '[`a`](https://a.example) and [`b`](https://b.example)',
  '```js\nhandlers[event.type](payload, 1)\n```\nSee [a](https://a.example), [b](https://b.example)',
  '- [ ] visit bank.example (soon)',
  'A list [of bank.example] and (https://evil.example)',
])('%j stays as it is', (text) => {
  expect(withoutMasks(text)).toBe(text);
});

test.each([
  [
    '[bank.example][1]\n\n[1]: https://evil.example',
    '[bank.example][1]\n\n[1] : https://evil.example',
  ],
  ['> - [bank.example]: https://evil.example', '> - [bank.example] : https://evil.example'],
])('the definition of a reference, which nobody sees, becomes text: %j', (text, shown) => {
  expect(withoutMasks(text)).toBe(shown);
});

test('a host of look-alike letters is shown as a browser writes it, and makes no text much longer', () => {
  expect(withoutMasks('[bank.example](https://me@bаnk.example:80/a)')).toBe(
    '[bank.example] (https://me@xn--bnk-6cd.example:80/a)',
  );
  const many = '[a.bc](//ж.ж.ж.ж.ж)'.repeat(500);
  expect(withoutMasks(many).length).toBeLessThan(1.1 * many.length);
  expect(withoutMasks(many)).not.toContain('ж');
});

test('links of other markup are compared in the same way', () => {
  expect(isMask('https://bank.example', EVIL)).toBe(true);
  expect(isMask('evil.example', EVIL)).toBe(false);
  expect(isMask('a@bank.example', 'mailto:a@bank.example')).toBe(false);
  expect(isMask('a@bank.example', 'mailto:a@evil.example')).toBe(true);
  expect(isMask('the page', EVIL)).toBe(false);
});

const piece = fc.constantFrom(
  ...'[ ] ]( ]: ](< ( ) ` `` \\ <a < > | bank.example bank .ex https:// x &#46; !'.split(' '),
  ...['```\n', '\n', '\n\n', ' ', '\u200b', EVIL, 'https://bаnk.example'],
);
const hostile = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

test('the settled part of a growing text stays, wherever it is cut', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const whole = withoutMasks(text);
      for (let end = 0; end <= text.length; end += 1) {
        const { text: shown, settled } = unmask(text.slice(0, end), { ended: false });
        expect(whole.startsWith(shown.slice(0, settled))).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});

test('a growing text holds back only the possible start of a link', () => {
  const settledOf = (text: string) => {
    const { text: shown, settled } = unmask(text, { ended: false });
    return shown.slice(0, settled);
  };
  expect(settledOf('see [bank.exam')).toBe('see [bank.exam');
  expect(settledOf('see [bank.example](https://bank.ex')).toBe('see [bank.example]');
  expect(settledOf('see [the docs](https://bank.ex')).toBe('see [the docs](https://bank.ex');
  expect(settledOf('see [bank.example](https://bank.example)')).toBe(
    'see [bank.example](https://bank.example)',
  );
});

test.each([
  ['brackets', '['],
  ['links', '[a.bc](//d.ef)'],
  ['openers of links', '[a.bc]('],
  ['nested links', '[a.bc]'.repeat(3)],
  ['dots', '.\u200b'],
  ['dots and letters', '.ab'],
  ['entities', '&#46;'],
  ['code', '`[a.bc](`'],
  ['escapes', '\\[a.bc]('],
])('the work for many %s grows with the text, not with its square', (_what, unit) => {
  const cpuOf = (length: number) => {
    const text = unit.repeat(length / unit.length);
    const before = process.cpuUsage();
    withoutMasks(text);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  cpuOf(20_000);
  const small = Math.max(5_000, cpuOf(50_000));
  // Eight times the text; its square would be 64.
  expect(cpuOf(400_000)).toBeLessThan(32 * small);
});
