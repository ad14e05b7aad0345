import { expect, test } from 'vitest';
import { type Card, type CardAction, linkOf } from '../../../src/bot/shared/card.ts';

const action: CardAction = { label: 'Check now', command: 'incident check', values: {} };
const cardWith = (url: string, buttons = 0): Card => ({
  tone: 'bad',
  title: 'Shop is down',
  parts: [],
  actions: Array.from({ length: buttons }, () => action),
  link: { label: 'Runbook', url },
});
const shown = (url: string) => linkOf(cardWith(url))?.url;

test.each([
  ['https://wiki.example/shop?a=1&b=2#top', 'https://wiki.example/shop?a=1&b=2#top'],
  ['http://127.0.0.1:3000', 'http://127.0.0.1:3000/'],
  ['HTTPS://Wiki.Example/A b', 'https://wiki.example/A%20b'],
  ['java\nscript:alert(1)', undefined],
  ['javascript:alert(1)//https://wiki.example', undefined],
  ['data:text/html,hello', undefined],
  ['slack://open', undefined],
  ['//wiki.example', undefined],
  ['wiki.example/shop', undefined],
  ['https://', undefined],
  ['', undefined],
])('the link %j leads to %j', (url, address) => {
  expect(shown(url)).toBe(address);
});

test('a link that is too long for platforms is left out', () => {
  const base = 'https://wiki.example/';
  expect(shown(base.padEnd(512, 'x'))).toHaveLength(512);
  expect(shown(base.padEnd(513, 'x'))).toBeUndefined();
  // One letter becomes six.
  expect(shown(base.padEnd(400, 'é'))).toBeUndefined();
});

test('a card with five buttons has no room for a link', () => {
  expect(linkOf(cardWith('https://wiki.example/', 4))).toBeDefined();
  expect(linkOf(cardWith('https://wiki.example/', 5))).toBeUndefined();
  expect(linkOf({})).toBeUndefined();
});
