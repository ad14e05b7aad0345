import { describe, expect, test } from 'vitest';
import { commands } from '../../../src/bot/commands/commands.ts';
import { formFields, formOf, formProblems } from '../../../src/bot/commands/form.ts';
import { monitorAdd } from '../../../src/bot/commands/monitor/add.ts';

describe('the form of a command', () => {
  test.each(['/monitor add', 'monitor  ADD ', ' /Monitor add'])('is opened by %j', (line) => {
    expect(formOf(line, commands)).toBe(monitorAdd);
  });

  test.each(['/monitor', '/monitor add x', '/monitor list', '/ask', ''])(
    'is not meant by %j',
    (line) => {
      expect(formOf(line, commands)).toBeUndefined();
    },
  );

  test.each([
    [undefined, []],
    ['HTTP', []],
    ['KEYWORD', ['keyword']],
    ['DNS', ['record']],
    ['HEARTBEAT', []],
  ])('has the inputs of the kind %s', (type, more) => {
    const fields = formFields(monitorAdd, type === undefined ? {} : { type });
    expect(fields.map(({ name }) => name)).toEqual(['type', 'target', 'name', 'interval', ...more]);
    const required = fields.filter((field) => field.required).map(({ name }) => name);
    expect(required).toEqual(['type', 'target', ...more.filter((name) => name === 'keyword')]);
  });

  test('shows an error beside its input', () => {
    const problems = (values: Record<string, unknown>) => formProblems(monitorAdd, values);
    const target = 'https://example.com';
    expect(problems({ type: 'HTTP', target })).toEqual({});
    expect(Object.keys(problems({ type: 'HTTP' }))).toEqual(['target']);
    expect(Object.keys(problems({ type: 'KEYWORD', target }))).toEqual(['keyword']);
    expect(Object.keys(problems({ type: 'HTTP', target: 'ftp://x' }))).toEqual(['target']);
    expect(Object.keys(problems({ target: 'x'.repeat(3_000), interval: 'soon' })).sort()).toEqual([
      'interval',
      'target',
    ]);
  });
});
