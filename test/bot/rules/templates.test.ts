import { expect, test } from 'vitest';
import { createTemplates, matchOf, wordLike } from '../../../src/bot/rules/templates.ts';

const parse = createTemplates({
  macros: { DOWN: 'down|ausgefallen|nicht erreichbar', SOON: '[very] soon' },
  slots: { m: { kind: 'words', max: 3 }, n: wordLike(/^\d+$/) },
});

const match = (template: string, line: string, options?: { isWhole: boolean }) =>
  matchOf(parse(template), line.split(' '), options);

test('choices, optional pieces and macros match whole words', () => {
  for (const line of [
    'is it down',
    'it down',
    'it nicht erreichbar',
    'is it ausgefallen very soon',
  ]) {
    expect([line, match('[is] it DOWN [SOON]', line)]).toEqual([line, expect.anything()]);
  }
  for (const line of ['is it', 'it downs', 'it nicht', 'is is it down', 'it down soon soon']) {
    expect([line, match('[is] it DOWN [SOON]', line)]).toEqual([line, undefined]);
  }
});

test('a word with an umlaut is read with it, without it, and as two letters', () => {
  for (const word of ['lauft', 'laeuft']) expect(match('läuft', word)).toBeDefined();
});

test('a slot tells where it stands, and takes as little as it can', () => {
  expect(match('of {m} [now]', 'of a b now')).toEqual({
    slots: [{ name: 'm', from: 1, to: 3 }],
    length: 4,
  });
  expect(match('of {m} [now]', 'of a b c d')).toBeUndefined();
  expect(match('(last {n} days|{n} days ago)', '3 days ago')?.slots).toEqual([
    { name: 'n', from: 0, to: 1 },
  ]);
});

test('the beginning of a line can be matched alone', () => {
  expect(match('last {n}', 'last 3 days', { isWhole: false })?.length).toBe(2);
  expect(match('last {n}', 'last 3 days')).toBeUndefined();
});

test('a template with a name that nobody knows is refused when it is read', () => {
  expect(() => parse('is NOBODY')).toThrow('NOBODY');
  expect(() => parse('is {x}')).toThrow('x');
});
