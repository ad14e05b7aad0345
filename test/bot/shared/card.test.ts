import { expect, test } from 'vitest';
import {
  type Card,
  type CardAction,
  factText,
  findingsText,
  hostLink,
  linkOf,
} from '../../../src/bot/shared/card.ts';
import { StoredCard } from '../../../src/bot/shared/stored-card.ts';

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

test.each([
  ['https://Grafana.example:8443/d/1?a=b', 'grafana.example:8443'],
  ['https://bücher.example', 'xn--bcher-kva.example'],
  ['https://bank.example@evil.example/', undefined],
  ['https://:secret@evil.example/', undefined],
  ['javascript:alert(1)', undefined],
  [undefined, undefined],
])('the words of the link %j are %j', (url, host) => {
  expect(hostLink(url)?.host).toBe(host);
});

test('findings as text have their moments and addresses', () => {
  const items = [
    { atMs: 0, text: 'Deployed', url: 'https://ci.example/1' },
    { text: 'Disk full', url: 'javascript:alert(1)' },
  ];
  const words = (heading?: string) =>
    findingsText({ kind: 'findings', heading, items }, (atMs) => `at ${atMs}`);
  const list = '• at 0 Deployed (https://ci.example/1)\n• Disk full';
  expect(words('Found')).toBe(`Found\n${list}`);
  expect(words()).toBe(list);
});

test.each([
  ['HTTP 500', 'HTTP 500'],
  [{ atMs: 5 }, 'at 5'],
  [{ text: 'v1.2', url: 'https://ci.example/1' }, 'v1.2 (https://ci.example/1)'],
  [{ text: 'https://ci.example/1', url: 'https://ci.example/1' }, 'https://ci.example/1'],
  [{ text: 'v1.2', url: 'javascript:alert(1)' }, 'v1.2'],
])('the value %j of a fact is %j as text', (value, text) => {
  expect(factText({ label: 'Deploy', value }, (atMs) => `at ${atMs}`)).toBe(text);
});

test('a stored card keeps its findings and links', () => {
  const link = { text: 'v1.2', url: 'https://ci.example/1' };
  const card: Card = {
    tone: 'info',
    title: 'Looked into it',
    parts: [
      { kind: 'findings', heading: 'Found', items: [{ atMs: 1, ...link }, { text: 'Quiet' }] },
      { kind: 'facts', facts: [{ label: 'Deploy', value: link }] },
    ],
  };
  expect(StoredCard.parse(card)).toEqual(card);
});
