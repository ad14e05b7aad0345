import { expect, onTestFinished, test, vi } from 'vitest';
import { command, fieldsOf } from '../../../src/bot/commands/command.ts';
import { CommandError } from '../../../src/bot/shared/errors.ts';
import { shareList } from '../../../src/bot/tools/monitors.ts';
import { tools, toolsFor } from '../../../src/bot/tools/registry.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { toolRunner } from '../../helpers/bot/tool-runner.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

/** Runs tools over a service. */
function runnerOver(...of: Parameters<typeof toolRunner>) {
  const run = toolRunner(...of);
  return async (name: string, input: object = {}) => {
    const { output, ...more } = await run(name, input);
    // biome-ignore lint/suspicious/noExplicitAny: tests read any field
    return { ...(output as any), ...more };
  };
}

async function contractService() {
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  return { service, run: runnerOver({ url: service.url, key: service.apiKey }) };
}

test('every tool has a valid name and describes its inputs', () => {
  expect(tools.length).toBeGreaterThan(5);
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
  for (const tool of tools) {
    expect(tool.name).toMatch(/^[a-z]+(_[a-z]+){1,4}$/);
    expect(tool.description).toMatch(/^[A-Z].{30,400}\.$/);
    const schema = tool.inputSchema as { type: string; properties: Record<string, object> };
    expect(schema.type).toBe('object');
    for (const field of Object.values(schema.properties)) {
      expect(field).toMatchObject({ description: expect.stringMatching(/\S$/) });
    }
    // Flat, as the inputs of commands are.
    const fields = fieldsOf(
      command({
        name: tool.name,
        summary: '',
        right: 'anyone',
        input: tool.input,
        run: async () => ({ kind: 'nothing' }),
      }),
    );
    expect(fields.map(({ name }) => name)).toEqual(Object.keys(schema.properties));
  }
});

test('tools about a channel are offered only in one', () => {
  const names = toolsFor({ hasPlace: false }).map(({ name }) => name);
  expect(names).toContain('list_monitors');
  expect(names).not.toContain('get_usage');
  expect(names).not.toContain('get_channel_alerts');
});

test('list_monitors lists pages of monitors, DOWN first', async () => {
  const { service, run } = await contractService();
  for (const name of ['Blog', 'Docs', 'Shop']) service.add({ name });
  service.setStatus('mon_3', 'DOWN');
  service.add({ name: 'Old', status: 'PAUSED' });
  const first = await run('list_monitors', { limit: 2 });
  expect(first).toMatchObject({
    total: 4,
    matching: 4,
    by_status: { DOWN: 1, UP: 2, PAUSED: 1 },
    monitors: [{ name: 'Shop' }, { name: 'Blog' }],
    next_offset: 2,
    account: { found: expect.stringMatching(/^1 DOWN, 2 UP, 1 PAUSED, as of \d\d:\d\d UTC$/) },
  });
  const second = await run('list_monitors', { limit: 2, offset: 2 });
  expect(second.monitors).toMatchObject([{ name: 'Docs' }, { name: 'Old' }]);
  expect(second.next_offset).toBeUndefined();
});

test.each([
  [{ status: 'down' }, ['Shop'], 'monitors that are down'],
  [{ status: 'not_up' }, ['Shop', 'Slow', 'Old'], 'monitors that are not up'],
  [{ status: 'degraded' }, ['Slow'], 'monitors that are degraded'],
  [{ status: 'paused_or_maintenance' }, ['Old'], 'monitors that are paused or in maintenance'],
  [{ text: 'BLOG' }, ['Blog'], 'monitors with “BLOG”'],
  [{ check_type: 'dns' }, ['Name'], 'all dns monitors'],
])('monitors with %j are %j, said as “%s”', async (input, names, words) => {
  const { service, run } = await contractService();
  service.add({ name: 'Blog' });
  service.add({ name: 'Shop', status: 'DOWN' });
  service.add({ name: 'Slow', status: 'DEGRADED' });
  service.add({ name: 'Old', status: 'PAUSED' });
  service.add({ name: 'Name', check_type: 'DNS' });
  const { monitors, what } = await run('list_monitors', input);
  const found = monitors.map(({ name }: { name: string }) => name);
  expect(found.sort()).toEqual([...names].sort());
  expect(what).toBe(words);
});

test('long names are cut, and secrets of a target are masked', async () => {
  const { service, run } = await contractService();
  service.add({
    name: 'x'.repeat(5_000),
    target: 'https://ada:hunter22@shop.example/?token=abc123def',
  });
  const { monitors } = await run('list_monitors');
  expect(monitors[0].name).toHaveLength(200);
  expect(JSON.stringify(monitors)).not.toMatch(/hunter22|abc123def/);
});

test('get_monitor shows the last checks and the ongoing incident', async () => {
  const service = await startService();
  const job = await service.create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'db1' });
  const push = new URL(job.push_url ?? '').pathname;
  await service.call('POST', push);
  await service.call('POST', `${push}/fail`);
  const run = runnerOver(service);
  const shown = await run('get_monitor', { monitor: 'backup' });
  expect(shown).toMatchObject({
    monitor: { name: 'Backup', status: 'DOWN', check_type: 'HEARTBEAT' },
    settings: { period_seconds: 86_400 },
    incident: { ended_at: null },
    last_checks: [{ ok: false }, { ok: true }],
    account: { what: 'Backup', page: `/status#/${job.id}` },
  });
  expect(JSON.stringify(shown)).not.toContain(push);
  expect(shown.account.found).toMatch(/^DOWN, /);
  const window = { starts_at: '2998-12-01T22:00', timezone: 'Europe/Berlin', duration_minutes: 90 };
  const json = { windows: [window] };
  await service.call('PUT', `/api/v1/public/monitors/${job.id}/maintenance`, { json });
  expect(await run('get_monitor', { monitor: 'backup' })).toMatchObject({
    maintenance: [window],
    planned_maintenance: [{ starts_at: '2998-12-01T21:00:00.000Z', repeats: false }],
  });
});

test('list_monitors shows coming maintenance beside paused monitors, if the service lists it', async () => {
  const service = await startService();
  const { id } = await service.create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'db1' });
  const starts_at = new Date(Date.now() + 86_400_000).toISOString();
  const ends_at = new Date(Date.now() + 90_000_000).toISOString();
  const json = { windows: [{ starts_at, ends_at }] };
  await service.call('PUT', `/api/v1/public/monitors/${id}/maintenance`, { json });
  const input = { status: 'paused_or_maintenance' };
  expect(await runnerOver(service)('list_monitors', input)).toMatchObject({
    monitors: [],
    planned_maintenance: [{ name: 'Backup', starts_at, ends_at }],
  });
  const { run } = await contractService();
  expect((await run('list_monitors', input)).planned_maintenance).toBeUndefined();
});

test('get_monitor shows all lines of a runbook', async () => {
  const service = await startService();
  const runbook = `1. Look\n2. ${'x'.repeat(1_000)}`;
  await service.create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'db1', runbook });
  expect(await runnerOver(service)('get_monitor', { monitor: 'backup' })).toMatchObject({
    runbook,
  });
});

test('get_monitor works with a service of the bare contract', async () => {
  const { service, run } = await contractService();
  service.add({ name: 'Shop' });
  const shown = await run('get_monitor', { monitor: 'shop' });
  expect(shown).toMatchObject({ monitor: { name: 'Shop', status: 'UP' }, interval_seconds: 60 });
  expect(shown.last_checks).toBeUndefined();
});

test('list_incidents sums up one monitor or all', async () => {
  const service = await startService();
  const run = runnerOver(service);
  for (const name of ['Backup', 'Report']) {
    const job = await service.create({ name, check_type: 'HEARTBEAT', target: 'db1' });
    const push = new URL(job.push_url ?? '').pathname;
    await service.call('POST', push);
    await service.call('POST', `${push}/fail`);
    if (name === 'Backup') {
      await service.call('POST', push);
      await service.call('POST', `${push}/fail`);
    }
  }
  const all = await run('list_incidents', { last: '1h' });
  expect(all).toMatchObject({ total: 3, complete: true });
  expect(all.incidents).toHaveLength(3);
  const sums = all.by_monitor.map((one: { monitor: string; incidents: number }) => [
    one.monitor,
    one.incidents,
  ]);
  expect(new Map(sums)).toEqual(
    new Map([
      ['Backup', 2],
      ['Report', 1],
    ]),
  );
  expect(all.account).toMatchObject({
    what: 'incidents in the last hour',
    found: expect.stringMatching(/^3, until \d\d:\d\d UTC$/),
  });
  const one = await run('list_incidents', { monitor: 'Backup', last: '1h', limit: 1 });
  expect(one).toMatchObject({ total: 2, incidents: [{ monitor: 'Backup' }] });
  expect(one.incidents[0].ended_at).toBeUndefined();
  const before = await run('list_incidents', { from: '2026-01-01', to: '2026-01-02' });
  expect(before).toMatchObject({ total: 0, incidents: [], by_monitor: [] });
});

test('look-ups of several monitors can be limited to tags, and name a tag that nobody has', async () => {
  const target = await startWebTarget((_, response) => void response.writeHead(500).end());
  const service = await startService();
  const run = runnerOver(service);
  for (const [name, tags] of Object.entries({ Shop: ['eu'], Blog: ['us'], Mail: ['eu', 'us'] })) {
    const config = { confirm_down: 1 };
    await service.create({ name, check_type: 'HTTP', target: target.url, tags, config });
  }
  await eventually(async () => (await service.list()).every(({ status }) => status === 'DOWN'));
  const found = await run('list_monitors', { tags: 'EU', status: 'down', sort: 'name' });
  expect(found).toMatchObject({
    total: 2,
    by_status: { DOWN: 2 },
    matching: 2,
    monitors: [
      { name: 'Mail', tags: ['eu', 'us'] },
      { name: 'Shop', tags: ['eu'] },
    ],
    what: 'monitors tagged eu that are down',
  });
  const incidents = await run('list_incidents', { tags: 'us', last: '1h' });
  expect(incidents).toMatchObject({
    total: 2,
    complete: true,
    what: 'incidents of monitors tagged us in the last hour',
  });
  const uptime = await run('get_uptime', { tags: 'us' });
  expect(uptime).toMatchObject({ total: 2, uptime_percent: 0 });
  expect(uptime.account.what).toContain('uptime of all monitors tagged us from ');
  for (const name of ['list_monitors', 'list_incidents', 'get_uptime']) {
    await expect(run(name, { tags: 'asia' })).rejects.toThrow(
      'No monitor is tagged asia. Tags: eu, us.',
    );
    // Models fill in optional inputs with nothing.
    expect((await run(name, { tags: '' })).total).toBe(3);
  }
});

test('get_uptime shows checks and response times of one monitor', async () => {
  const target = await startWebTarget();
  const service = await startService();
  await service.create({ name: 'Shop', check_type: 'HTTP', target: `${target.url}/` });
  const run = runnerOver(service);
  await eventually(async () => (await service.list())[0]?.last_checked_at != null);
  const checked = await run('check_monitor', { monitor: 'shop' });
  expect(checked).toMatchObject({
    monitor: { name: 'Shop', status: 'UP' },
    account: { what: 'a new check of Shop', found: expect.stringMatching(/^UP, checked /) },
  });
  const { span, span_before, account } = await run('get_uptime', { monitor: 'shop', last: '30m' });
  expect(span).toMatchObject({
    uptime_percent: 100,
    checks: 2,
    failed_checks: 0,
    response_time_ms: { min: expect.any(Number), mean: expect.any(Number) },
  });
  expect(span_before).toBeUndefined();
  expect(account.found).toMatch(/^100 %, as of /);
  const all = await run('get_uptime', { last: '24h' });
  expect(all).toMatchObject({
    total: 1,
    uptime_percent: 100,
    monitors: [{ monitor: 'Shop', uptime_percent: 100, down_seconds: 0 }],
  });
});

test('a tool says if the service does not offer its data', async () => {
  const { service, run } = await contractService();
  service.add({ name: 'Shop' });
  for (const [name, input] of [
    ['list_incidents', {}],
    ['list_incidents', { monitor: 'Shop' }],
    ['get_uptime', {}],
    ['get_uptime', { monitor: 'Shop' }],
    ['list_check_results', { monitor: 'Shop' }],
    ['check_monitor', { monitor: 'Shop' }],
  ] as const) {
    await expect(run(name, input)).rejects.toThrow(/does not offer/);
  }
});

test('an ambiguous name lists the monitors', async () => {
  const { service, run } = await contractService();
  service.add({ name: 'Shop EU' });
  service.add({ name: 'Shop US' });
  await expect(run('get_monitor', { monitor: 'shop' })).rejects.toThrow(
    /2 monitors match “shop”: Shop EU \(id mon_1\), Shop US/,
  );
  expect(await run('get_monitor', { monitor: 'mon_2' })).toMatchObject({
    monitor: { name: 'Shop US' },
  });
});

test('an undeclared input is refused by its name', async () => {
  const { run } = await contractService();
  await expect(run('list_monitors', { sql: 'drop', limit: 1_000 })).rejects.toThrow(CommandError);
  await expect(run('list_monitors', { limit: 1_000 })).rejects.toThrow(/limit/);
});

test('get_usage sums up by person and by model', async () => {
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  const entry = { atMs: 0, place: 'console:general' };
  const run = runnerOver(
    { url: service.url, key: service.apiKey },
    {
      usageLog: {
        since: async () => [
          { ...entry, person: 'U1', name: 'Ada', model: 'small', tokens: 10 },
          { ...entry, person: 'U1', name: 'Ada L.', model: 'large', tokens: 30 },
          { ...entry, person: 'U2', name: 'Bob', model: 'small' },
        ],
      },
    },
  );
  expect(await run('get_usage', { days: 7 })).toMatchObject({
    answers: 3,
    tokens: 40,
    by_person: [
      { name: 'Ada L.', answers: 2, tokens: 40 },
      { name: 'Bob', answers: 1, tokens: 0 },
    ],
    by_model: [
      { name: 'large', answers: 1, tokens: 30 },
      { name: 'small', answers: 2, tokens: 10 },
    ],
    account: { found: '3 answers, 40 tokens' },
  });
});

test('a shared list is read once while it is fresh, and again after a failure', async () => {
  const clock = { nowMs: 0 };
  vi.spyOn(performance, 'now').mockImplementation(() => clock.nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const loads = [
    () => Promise.reject(new Error('away')),
    async () => [],
    async () => [{ id: 'a' } as Monitor],
  ];
  const list = shareList(async () => await (loads.shift()?.() ?? []), 5_000);
  await expect(list()).rejects.toThrow('away');
  expect(await Promise.all([list(), list()])).toEqual([[], []]);
  clock.nowMs += 4_999;
  expect(await list()).toEqual([]);
  clock.nowMs += 1;
  expect(await list()).toHaveLength(1);
});
