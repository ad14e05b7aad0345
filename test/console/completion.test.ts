import { describe, expect, test } from 'vitest';
import { fieldsOf, usageOf } from '../../src/bot/command.ts';
import { commands } from '../../src/bot/commands.ts';
import { complete } from '../../src/console/page/completion.ts';
import type { ListedCommand } from '../../src/console/wire.ts';

const listed: ListedCommand[] = commands.map((command) => ({
  name: command.name,
  summary: command.summary,
  usage: usageOf(command),
  examples: command.examples,
  wholeLine: command.wholeLine ?? false,
  fields: fieldsOf(command),
}));

const labels = (line: string) => complete(line, listed).suggestions.map(({ label }) => label);
const lines = (line: string) => complete(line, listed).suggestions.map((each) => each.line);
const hint = (line: string) => {
  const found = complete(line, listed).hint;
  return found && [found.command.name, found.field?.name];
};

describe('completion', () => {
  test('keeps out of plain words', () => {
    expect(complete('why / how', listed)).toEqual({ suggestions: [], eager: false });
  });

  test('a slash offers every command, and Enter takes the first', () => {
    expect(labels('/')).toEqual(listed.map(({ name }) => `/${name}`));
    expect(complete('/', listed).eager).toBe(true);
  });

  test.each([
    ['/mon', 'monitor '],
    ['/MONITOR A', 'monitor a'],
    ['/askw', 'askwatch '],
  ])('%s offers only what begins so', (line, beginning) => {
    expect(labels(line).length).toBeGreaterThan(0);
    for (const label of labels(line)) expect(label.startsWith(`/${beginning}`)).toBe(true);
  });

  test('a whole name is sent by Enter, though longer names begin with it', () => {
    const { eager, suggestions, hint: shown } = complete('/ask', listed);
    expect(eager).toBe(false);
    expect(shown?.command.name).toBe('ask');
    expect(suggestions.every(({ label }) => label.startsWith('/askwatch'))).toBe(true);
  });

  test('a command with inputs gets a space after it, one without is ready to send', () => {
    expect(lines('/monitor ad')).toEqual(['/monitor add ']);
    expect(lines('/askwatch hel')).toEqual(['/askwatch help']);
  });

  test('the hint follows the input being typed', () => {
    expect(hint('/monitor add ')).toEqual(['monitor add', 'target']);
    expect(hint('/monitor add https://x')).toEqual(['monitor add', 'target']);
    expect(hint('/monitor add https://x ')).toEqual(['monitor add', undefined]);
    expect(hint('/monitor add https://x keyword=')).toEqual(['monitor add', 'keyword']);
  });

  test('inputs are offered by their beginning, once each, and only by Tab', () => {
    expect(lines('/monitor add https://x key')).toEqual(['/monitor add https://x keyword=']);
    expect(labels('/monitor add https://x keyword=Cart key')).toEqual([]);
    expect(complete('/monitor add https://x key', listed).eager).toBe(false);
  });

  test('choices and yes or no are offered as values', () => {
    expect(labels('/monitor add https://x type=D')).toContain('type=DNS ');
    expect(labels('/ask private=')).toEqual(['private=true ', 'private=false ']);
    expect(labels('/monitor alerts o')).toEqual(['on ', 'off ']);
  });

  test('a question is left alone once it has begun', () => {
    expect(labels('/ask mo')).toEqual(['model=']);
    expect(labels('/ask private=true mo')).toEqual(['model=']);
    expect(labels('/ask what mo')).toEqual([]);
  });
});
