import { describe, expect, test } from 'vitest';
import {
  MonitorCreate,
  MonitorCreated,
  MonitorList,
  PushAnswer,
} from '../../src/contracts/monitoring.ts';
import { addedPath, GivenTime } from '../../src/contracts/monitoring-additions.ts';

const base = { name: 'Shop', target: 'https://example.com' };

/** The fields at fault, or `ok`. */
function verdict(value: unknown): string {
  const result = MonitorCreate.safeParse(value);
  if (result.success) return 'ok';
  return result.error.issues
    .map((issue) =>
      [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys : [])].join('.'),
    )
    .join(' ');
}

test('added paths are filled with what stands in them, encoded', () => {
  expect(addedPath('monitor', { id: 'a/b?c' })).toBe('/api/v1/public/monitors/a%2Fb%3Fc');
  expect(addedPath('pushSignal', { token: 'x', signal: '3' })).toBe('/api/v1/public/push/x/3');
});

describe('a time in a request', () => {
  test.each([
    ['2026-12-01T09:30:00Z', '2026-12-01T09:30:00.000Z'],
    ['2026-12-01T09:30:00.123456Z', '2026-12-01T09:30:00.123Z'],
    ['2026-12-01T09:30:00+01:00', '2026-12-01T08:30:00.000Z'],
    ['2026-12-01T09:30:00', '2026-12-01T09:30:00.000Z'],
    ['2026-12-01T09:30', '2026-12-01T09:30:00.000Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
  ])('%s is kept as %s', (given, kept) => {
    expect(GivenTime.parse(given)).toBe(kept);
  });

  test.each([
    '',
    'now',
    '2026-12-01',
    '2026-02-30T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '0000-01-01T00:00:00+23:00',
    '9999-12-31T23:59:59-01:00',
    '+010000-01-01T00:00:00Z',
  ])('%j is refused', (given) => {
    expect(GivenTime.safeParse(given).success).toBe(false);
  });
});

describe('creating a monitor', () => {
  test('A monitor is created as the contract shows, and absent settings have their defaults', () => {
    expect(MonitorCreate.parse({ ...base, check_type: 'HTTP' })).toEqual({
      ...base,
      check_type: 'HTTP',
      config: {
        interval_seconds: 60,
        confirm_down: 2,
        confirm_up: 1,
        method: 'GET',
        expected_status: '200-299',
        headers: {},
        follow_redirects: true,
        max_redirects: 5,
        tls_expiry_days: 14,
        ignore_tls: false,
      },
    });
    expect(
      MonitorCreate.parse({ ...base, check_type: 'KEYWORD', config: { target_keyword: 'Cart' } }),
    ).toMatchObject({ config: { target_keyword: 'Cart', case_sensitive: true, inverted: false } });
    expect(MonitorCreate.parse({ ...base, check_type: 'DNS' })).toMatchObject({
      config: { record_type: 'A', expected: [], interval_seconds: 60 },
    });
    expect(MonitorCreate.parse({ ...base, check_type: 'HEARTBEAT' })).toMatchObject({
      config: { period_seconds: 86_400, grace_seconds: 3_600 },
    });
  });

  test.each<[Record<string, unknown>, string]>([
    [{ check_type: 'http' }, 'check_type'],
    [{ check_type: 'PING' }, 'check_type'],
    [{ name: '' }, 'name'],
    [{ name: '  ' }, 'name'],
    [{ name: 'x'.repeat(200) }, 'ok'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ target: '' }, 'target'],
    [{ target: 'x'.repeat(2048) }, 'ok'],
    [{ target: 'x'.repeat(2049) }, 'target'],
    [{ config: null }, 'config'],
    [{ one: 1, two: 2 }, 'one.two'],
  ])('with %j: %s', (change, expected) => {
    expect(verdict({ ...base, check_type: 'HTTP', ...change })).toBe(expected);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['HTTP', { interval_seconds: 5 }, 'ok'],
    ['HTTP', { interval_seconds: 4 }, 'config.interval_seconds'],
    ['HTTP', { interval_seconds: 86_400 }, 'ok'],
    ['HTTP', { interval_seconds: 86_401 }, 'config.interval_seconds'],
    ['HTTP', { interval_seconds: 5.5 }, 'config.interval_seconds'],
    ['HTTP', { timeout_seconds: 1 }, 'ok'],
    ['HTTP', { timeout_seconds: 60 }, 'ok'],
    ['HTTP', { timeout_seconds: 0 }, 'config.timeout_seconds'],
    ['HTTP', { timeout_seconds: 61 }, 'config.timeout_seconds'],
    ['HTTP', { method: 'get' }, 'config.method'],
    ['HTTP', { method: 'CONNECT' }, 'config.method'],
    ['HTTP', { expected_status: '200-299,401,500-503' }, 'ok'],
    ['HTTP', { expected_status: '2xx' }, 'config.expected_status'],
    ['HTTP', { expected_status: '200, 301' }, 'config.expected_status'],
    ['HTTP', { expected_status: Array(51).fill('200').join(',') }, 'config.expected_status'],
    ['KEYWORD', { target_keyword: 'x'.repeat(1000) }, 'ok'],
    ['KEYWORD', { target_keyword: 'x'.repeat(1001) }, 'config.target_keyword'],
    ['KEYWORD', { target_keyword: '' }, 'config.target_keyword'],
    ['KEYWORD', { target_keyword: 'x', inverted: true, case_sensitive: false }, 'ok'],
    ['DNS', { record_type: 'CAA' }, 'ok'],
    ['DNS', { record_type: 'ANY' }, 'config.record_type'],
    ['DNS', { expected: [''] }, 'config.expected.0'],
    ['DNS', { expected: Array(51).fill('a') }, 'config.expected'],
    ['DNS', { resolver: '192.0.2.53:53' }, 'ok'],
    ['DNS', { resolver: 'x'.repeat(101) }, 'config.resolver'],
    ['HEARTBEAT', { period_seconds: 5, grace_seconds: 1 }, 'ok'],
    ['HEARTBEAT', { period_seconds: 4 }, 'config.period_seconds'],
    ['HEARTBEAT', { period_seconds: 366 * 86_400 }, 'ok'],
    ['HEARTBEAT', { period_seconds: 366 * 86_400 + 1 }, 'config.period_seconds'],
    ['HEARTBEAT', { grace_seconds: 0 }, 'config.grace_seconds'],
    ['HEARTBEAT', { grace_seconds: 30 * 86_400 }, 'ok'],
    ['HEARTBEAT', { grace_seconds: 30 * 86_400 + 1 }, 'config.grace_seconds'],
  ])('of type %s with settings %j: %s', (check_type, config, expected) => {
    expect(verdict({ ...base, check_type, config })).toBe(expected);
  });

  test('spaces around a name and a target are not part of them', () => {
    const made = MonitorCreate.parse({
      name: ' Shop ',
      target: ' example.com ',
      check_type: 'DNS',
    });
    expect(made).toMatchObject({ name: 'Shop', target: 'example.com' });
  });
});

describe('a list of monitors', () => {
  const monitor = {
    id: '1',
    name: 'Shop',
    check_type: 'HTTP',
    target: 'https://example.com',
    status: 'UP',
    interval_seconds: 60,
  };

  test('is valid as the contract shows it, whatever the kinds and statuses', () => {
    const list = {
      count: 2,
      monitors: [monitor, { ...monitor, check_type: 'SMELL', status: 'ON_FIRE' }],
    };
    expect(MonitorList.parse(list)).toEqual(list);
    expect(MonitorList.parse({ count: 0, monitors: [], more: 1 })).toEqual({
      count: 0,
      monitors: [],
    });
  });

  test.each(Object.keys(monitor))('is invalid when a monitor has no %s', (field) => {
    const bad = { count: 1, monitors: [{ ...monitor, [field]: undefined }] };
    expect(MonitorList.safeParse(bad).success).toBe(false);
  });

  test.each([
    { count: -1 },
    { count: 1.5 },
    { count: '1' },
    { count: undefined },
    { monitors: undefined },
    { monitors: {} },
    { monitors: [{ ...monitor, interval_seconds: 0 }] },
    { monitors: [{ ...monitor, status: '' }] },
    { monitors: [{ ...monitor, id: 1 }] },
  ])('is invalid with %j', (change) => {
    expect(MonitorList.safeParse({ count: 1, monitors: [monitor], ...change }).success).toBe(false);
  });
});

describe('the answer to a create', () => {
  const created = {
    id: '1',
    name: 'Shop',
    check_type: 'HTTP',
    target: 'https://example.com',
    status: 'UP',
    created_at: '2026-12-01T09:30:00Z',
  };

  test('has the six fields of the contract, and each is needed', () => {
    expect(MonitorCreated.parse(created)).toEqual(created);
    for (const field of Object.keys(created)) {
      expect(MonitorCreated.safeParse({ ...created, [field]: undefined }).success, field).toBe(
        false,
      );
    }
  });

  test.each([
    ['2026-12-01T09:30:00.123456Z', true],
    ['2026-12-01T09:30:00+00:00', true],
    ['2026-12-01T09:30:00', true],
    ['2026-12-01 09:30:00', false],
    ['2026-13-01T09:30:00Z', false],
    ['yesterday', false],
    [1_796_117_400, false],
  ])('has its time in ISO 8601: %s is %s', (created_at, good) => {
    expect(MonitorCreated.safeParse({ ...created, created_at }).success).toBe(good);
  });
});

test('the answer to a ping is exactly ok', () => {
  expect(PushAnswer.safeParse({ ok: true }).success).toBe(true);
  expect(PushAnswer.safeParse({ ok: false }).success).toBe(false);
});
