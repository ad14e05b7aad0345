import { expect, test } from 'vitest';
import { formFields, formOf, formProblems } from '../../../src/bot/commands/form.ts';
import { monitorAdd } from '../../../src/bot/commands/monitor/add.ts';
import { monitorChange } from '../../../src/bot/commands/monitor/change.ts';
import { commands } from '../../../src/bot/features.ts';
import { monitorOf } from '../../../src/bot/tools/new-monitor.ts';

test.each([
  ['db.example:5432', 'TCP', 'db.example:5432', {}],
  ['[2001:db8::7]:22', 'TCP', '[2001:db8::7]:22', {}],
  ['tcp://shop.example:8443/', 'TCP', 'shop.example:8443', {}],
  ['tls://cache.example:6380', 'TCP', 'cache.example:6380', { tls: true }],
  ['shop.example:8443', 'HTTP', 'https://shop.example:8443', {}],
  ['localhost:3000', 'HTTP', 'https://localhost:3000', {}],
  ['db.example:5432/health', 'HTTP', 'https://db.example:5432/health', {}],
  ['http://db.example:5432', 'HTTP', 'http://db.example:5432', {}],
])('the target %s gets the type %s', (target, check_type, meant, config) => {
  expect(monitorOf({ target })).toMatchObject({ check_type, target: meant, config });
});

test('an input of one type chooses that type', () => {
  expect(monitorOf({ target: 'cache.example:7000', send: 'PING\\r\\n', expect: 'PONG' })).toEqual({
    ...{ check_type: 'TCP', name: 'cache.example:7000', target: 'cache.example:7000' },
    config: { send: 'PING\\r\\n', expect: 'PONG' },
  });
  expect(monitorOf({ target: 'api.example/health', json: 'queue < 100' })).toMatchObject({
    ...{ check_type: 'HTTP', target: 'https://api.example/health' },
    config: { json: 'queue < 100' },
  });
  expect(monitorOf({ target: 'mail.example:25', starttls: 'smtp', days: 30 })).toEqual({
    ...{ check_type: 'CERTIFICATE', name: 'mail.example:25', target: 'mail.example:25' },
    config: { days_left: 30, starttls: 'smtp' },
  });
  expect(monitorOf({ target: 'https://a.example:8443/b', type: 'CERTIFICATE' })).toMatchObject({
    target: 'a.example:8443',
  });
  expect(() => monitorOf({ target: 'cache.example', expect: 'PONG' })).toThrow(
    '“cache.example” has no port. A TCP monitor needs a host and a port, such as db.example:5432.',
  );
  expect(() => monitorOf({ type: 'HTTP', target: 'x.example', expect: 'a' })).toThrow(
    '“expect” works with type=TCP, not with type=HTTP.',
  );
});

test.each(['/monitor add', 'monitor  ADD ', ' /Monitor add'])('%j opens a form', (line) => {
  expect(formOf(line, commands)).toEqual({ command: monitorAdd, carried: {} });
});

test.each(['/monitor change shop', '/monitor change monitor=shop'])(
  '%j opens a form for that monitor',
  (line) => {
    const carried = { monitor: 'shop' };
    expect(formOf(line, commands)).toEqual({ command: monitorChange, carried });
  },
);

test.each([
  ...['/monitor change', '/monitor change shop interval=5m', '/monitor change shop json='],
  ...['/monitor', '/monitor add x', '/monitor list', '/ask', ''],
])('%j opens no form', (line) => {
  expect(formOf(line, commands)).toBeUndefined();
});

test.each([
  [undefined, ['json']],
  ['HTTP', ['json']],
  ['KEYWORD', ['keyword']],
  ['DNS', ['record']],
  ['TCP', ['expect', 'send']],
  ['CERTIFICATE', ['days', 'starttls']],
  ['HEARTBEAT', ['cron', 'zone', 'grace']],
])('the form has the inputs of the type %s', (type, more) => {
  const fields = formFields(monitorAdd, type === undefined ? {} : { type });
  expect(fields.map(({ name }) => name)).toEqual(['type', 'target', 'name', 'interval', ...more]);
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  expect(required).toEqual(['type', 'target', ...more.filter((name) => name === 'keyword')]);
});

test('the form shows an error at its input', () => {
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
