import { expect, test } from 'vitest';
import { readLine } from '../../../src/bot/commands/command-input.ts';
import { commands } from '../../../src/bot/features.ts';
import { completeLine } from '../../../src/console/page/playground/composer/completion.ts';
import { listedCommand } from '../../../src/console/playground/commands.ts';
import type { ListedCommand } from '../../../src/console/shared/api-types.ts';

const listed: ListedCommand[] = commands.map(listedCommand);

const labels = (line: string) => completeLine(line, listed).suggestions.map(({ label }) => label);
const lines = (line: string) => completeLine(line, listed).suggestions.map((each) => each.line);
const hint = (line: string) => {
  const found = completeLine(line, listed).hint;
  return found && [found.command.name, found.field?.name];
};

test('plain words get no suggestions', () => {
  expect(completeLine('why / how', listed)).toEqual({ suggestions: [], eager: false });
});

test('a long pasted word is completed in linear time', () => {
  // Looking for the last word from each letter on would take hours.
  expect(labels(`/ask ${'a'.repeat(500_000)} mod`)).toEqual([]);
});

test('a slash offers every command, and Enter takes the first', () => {
  expect(labels('/')).toEqual(listed.map(({ name }) => `/${name}`));
  expect(completeLine('/', listed).eager).toBe(true);
});

test.each([
  ['/mon', 'monitor '],
  ['/MONITOR A', 'monitor a'],
  ['/askw', 'askwatch '],
])('%s offers only commands that begin with it', (line, beginning) => {
  expect(labels(line).length).toBeGreaterThan(0);
  for (const label of labels(line)) expect(label.startsWith(`/${beginning}`)).toBe(true);
});

test('Enter sends a whole name even if longer names begin with it', () => {
  const { eager, suggestions, hint: shown } = completeLine('/ask', listed);
  expect(eager).toBe(false);
  expect(shown?.command.name).toBe('ask');
  expect(suggestions.every(({ label }) => label.startsWith('/askwatch'))).toBe(true);
});

test('a command with inputs gets a space after it, and one without is ready to send', () => {
  expect(lines('/monitor ad')).toEqual(['/monitor add ']);
  expect(lines('/askwatch mode')[0]).toEqual('/askwatch models');
});

test('the hint follows the input being typed', () => {
  expect(hint('/monitor add ')).toEqual(['monitor add', 'target']);
  expect(hint('/monitor add https://x')).toEqual(['monitor add', 'target']);
  expect(hint('/monitor add https://x ')).toEqual(['monitor add', undefined]);
  expect(hint('/monitor add https://x keyword=')).toEqual(['monitor add', 'keyword']);
});

test('inputs are offered by their beginning, once each, and only Tab takes them', () => {
  expect(lines('/monitor add https://x key')).toEqual(['/monitor add https://x keyword=']);
  expect(labels('/monitor add https://x keyword=Cart key')).toEqual([]);
  expect(completeLine('/monitor add https://x key', listed).eager).toBe(false);
});

test('choices and booleans are offered as values', () => {
  expect(labels('/monitor add https://x type=D')).toContain('type=DNS ');
  expect(labels('/ask private=')).toEqual(['private=true ', 'private=false ']);
  expect(labels('/monitor alerts o')).toEqual(['on ', 'off ']);
});

test('a question gets no suggestions once it has begun', () => {
  expect(labels('/ask mo')).toEqual(['model=']);
  expect(labels('/ask private=true mo')).toEqual(['model=']);
  expect(labels('/ask what mo')).toEqual([]);
});

test.each([
  ['/monitor show sh', 'monitor', 'sh', '/monitor show m1 '],
  ['/monitor show my sh', 'monitor', 'my sh', '/monitor show m1 '],
  ['/monitor pause ', 'monitor', '', '/monitor pause m1 '],
  ['/monitor list sh', 'filter', 'sh', '/monitor list m1 '],
  ['/monitor alerts on filter=sh', 'filter', 'sh', '/monitor alerts on filter=m1 '],
  ['/monitor alerts on filter="my sh', 'filter', 'my sh', '/monitor alerts on filter=m1 '],
  ['/ask model=te', 'model', 'te', '/ask model=m1 '],
  ['/askwatch model te', 'model', 'te', '/askwatch model m1 '],
])('%s asks the server for values', (line, input, typed, taken) => {
  const { ask } = completeLine(line, listed);
  expect([ask?.input, ask?.typed]).toEqual([input, typed]);
  expect(ask?.lineWith('m1')).toBe(taken);
});

test.each([
  '/ask why mo',
  '/monitor add https://x',
  '/ask private=',
  '/monitor alerts o',
  'model=',
])('%s does not ask the server', (line) => {
  expect(completeLine(line, listed).ask).toBeUndefined();
});

test.each(['My shop', 'a="b', `it's`, '"quoted"', 'back\\slash', 'type=DNS', '“x', "'y'"])(
  'the bot reads a chosen value as it was: %s',
  (value) => {
    for (const typed of ['/monitor alerts on filter=', '/monitor list ', '/monitor show ']) {
      const line = completeLine(typed, listed).ask?.lineWith(value) ?? '';
      const read = readLine(line, commands);
      const name = typed.includes('show') ? 'monitor' : 'filter';
      expect(read.kind === 'command' && read.values[name]).toBe(value);
    }
  },
);
