import { expect, test } from 'vitest';
import { ErrorBody } from '../../../src/contracts/error.ts';
import {
  CheckRecordList,
  IncidentList,
  RollupList,
  Uptime,
} from '../../../src/contracts/monitoring-additions.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createFakeClock, type FakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const MONITORS = '/api/v1/public/monitors';
const MINUTE_MS = 60_000;

/** A monitor that was UP for two checks, DOWN for two, and UP again. */
async function withHistory(clock: FakeClock = createFakeClock()) {
  const target = await startWebTarget();
  const service = await startService({ clock });
  const { id } = await service.create({
    name: 'Shop',
    check_type: 'HTTP',
    target: target.url,
    config: { confirm_down: 1, interval_seconds: 86_400 },
  });
  const path = `${MONITORS}/${id}`;
  const key = await service.createKey();
  async function lookEvery(ms: number, times: number) {
    for (let n = 0; n < times; n += 1) {
      const answer = await service.call('POST', `${path}/check`);
      if (answer.status !== 200) throw new Error(answer.text);
      await clock.advance(ms);
    }
  }
  await lookEvery(MINUTE_MS, 2);
  await target.stop();
  await lookEvery(MINUTE_MS, 2);
  await target.startAgain();
  await lookEvery(MINUTE_MS, 1);
  const get = (what: string) => service.call('GET', `${path}/${what}`, { key });
  return { ...service, id, path, clock, get };
}

const iso = (ms: number) => new Date(ms).toISOString();

test('results come newest first, as many as are asked for', async () => {
  const { get } = await withHistory();
  const all = CheckRecordList.parse((await get('results')).body).results;
  expect(all.length).toBeGreaterThanOrEqual(5);
  expect(all.slice(0, 5).map(({ ok }) => ok)).toEqual([true, false, false, true, true]);
  expect(all.map(({ at }) => at)).toEqual(
    all
      .map(({ at }) => at)
      .sort()
      .reverse(),
  );
  expect(all[1]).toMatchObject({ outcome: 'connection', reason: expect.any(String) });
  expect((await get('results?limit=2')).body.results).toEqual(all.slice(0, 2));
  expect((await get('results?limit=100')).body.results).toEqual(all);
});

test('incidents tell when, why and until when it was down', async () => {
  const { get, id } = await withHistory();
  const incidents = await eventually(async () => {
    const answer = IncidentList.parse((await get('incidents?limit=1')).body);
    return answer.incidents[0]?.ended_at && answer.incidents;
  });
  expect(incidents[0]?.id).toBe(`${id}:1`);
  expect(incidents).toMatchObject([{ outcome: 'connection', ended_as: 'UP' }]);
  const { started_at = '', ended_at } = incidents[0] ?? {};
  expect(Date.parse(ended_at ?? '') - Date.parse(started_at)).toBe(2 * MINUTE_MS);
});

test('a monitor that never answered was down since its first check, and never up', async () => {
  const target = await startWebTarget();
  await target.stop();
  const clock = createFakeClock();
  const service = await startService({ clock });
  const shop = { name: 'Shop', check_type: 'HTTP', target: target.url };
  const { id, created_at } = await service.create(shop);
  const path = `${MONITORS}/${id}`;
  await eventually(async () => (await service.get(path)).body.last_checked_at !== null);
  expect((await service.get(path)).body.status).toBe('PENDING');
  await clock.advance(3_000);
  await service.call('POST', `${path}/check`);
  await clock.advance(12_000);
  const { body } = await service.get(path);
  const { started_at = '' } = body.incident as { started_at?: string };
  const uptime = (await service.get(`${path}/uptime?from=${created_at}`)).body;
  expect(uptime).toMatchObject({ uptime: 0, up_ms: 0 });
  expect(uptime.down_ms).toBe(Date.parse(String(uptime.to)) - Date.parse(started_at));
});

test('incidents of a time are those that overlap it', async () => {
  const { get, clock } = await withHistory();
  const downMs = clock.wallMs() - 3 * MINUTE_MS;
  const endMs = downMs + 2 * MINUTE_MS;
  await eventually(async () => {
    const [incident] = IncidentList.parse((await get('incidents')).body).incidents;
    return incident?.ended_at === iso(endMs);
  });
  const count = async (query: string) => {
    const list = IncidentList.parse((await get(`incidents?${query}`)).body);
    expect(list.complete).toBe(true);
    return list.incidents.length;
  };
  expect(await count(`from=${iso(endMs - 1)}`)).toBe(1);
  expect(await count(`from=${iso(endMs)}`)).toBe(0);
  expect(await count(`to=${iso(downMs + 1)}`)).toBe(1);
  expect(await count(`to=${iso(downMs)}`)).toBe(0);
  expect(await count(`from=${iso(downMs + 1)}&to=${iso(downMs + 2)}`)).toBe(1);
  // The end may be to come; what has begun this very moment is in a time without one.
  expect(await count(`from=${iso(downMs)}&to=2998-01-01T00:00:00Z`)).toBe(1);
});

test('rollups sum up by minute, hour and day', async () => {
  const { get } = await withHistory();
  for (const by of ['minute', 'hour', 'day']) {
    const answer = RollupList.parse((await get(`rollups?by=${by}`)).body);
    expect(answer.by).toBe(by);
    const sum = (of: 'checks' | 'failures') => answer.rollups.reduce((n, row) => n + row[of], 0);
    expect(sum('failures'), by).toBe(2);
    expect(sum('checks'), by).toBeGreaterThanOrEqual(5);
    const starts = answer.rollups.map(({ starts_at }) => starts_at);
    expect(starts).toEqual([...starts].sort());
  }
  expect((await get('rollups')).body.by).toBe('hour');
});

test('the uptime of a time is the share that was seen up of all that was seen', async () => {
  const { get, clock } = await withHistory();
  const nowMs = clock.wallMs();
  const from = iso(nowMs - 5 * MINUTE_MS);
  const answer = Uptime.parse((await get(`uptime?from=${from}`)).body);
  expect(answer).toMatchObject({ from, to: iso(nowMs) });
  expect(answer.down_ms).toBe(2 * MINUTE_MS);
  expect(answer.up_ms + answer.down_ms + answer.unseen_ms).toBe(5 * MINUTE_MS);
  expect(answer.uptime).toBeCloseTo(answer.up_ms / (answer.up_ms + answer.down_ms), 9);
  const month = Uptime.parse((await get('uptime')).body);
  expect(Date.parse(month.to) - Date.parse(month.from)).toBe(30 * 86_400_000);
});

test('the uptime of a time without monitoring is null', async () => {
  const { get } = await withHistory();
  const query = 'from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z';
  expect((await get(`uptime?${query}`)).body).toMatchObject({
    uptime: null,
    up_ms: 0,
    down_ms: 0,
    unseen_ms: 86_400_000,
  });
  expect((await get(`rollups?${query}`)).body).toEqual({ by: 'hour', rollups: [] });
});

test('times are read with any offset, and as UTC without one', async () => {
  const { get } = await withHistory();
  for (const from of [
    '2026-12-01T09:30:00Z',
    '2026-12-01T09:30:00',
    '2026-12-01T10:30:00%2B01:00',
    // A plus that was not written as %2B.
    '2026-12-01T10:30:00+01:00',
    '2026-12-01T04:30:00-05:00',
  ]) {
    const { body } = await get(`uptime?from=${from}&to=2026-12-01T23:00:00Z`);
    expect(body.from, from).toBe('2026-12-01T09:30:00.000Z');
  }
});

test('the future is no part of the history', async () => {
  const { get, clock } = await withHistory();
  const { body } = await get(`uptime?to=${iso(clock.wallMs() + 86_400_000)}`);
  expect(body.to).toBe(iso(clock.wallMs()));
});

const BAD: Array<[string, string, RegExp]> = [
  ['results?limit=0', 'limit', /at least 1\./],
  ['results?limit=101', 'limit', /at most 100\./],
  ['results?limit=1e1', 'limit', /number/],
  ['results?limit=1&limit=2', 'limit', /number/],
  ['results?limit=1&offset=2', 'offset', /Unknown/],
  ['results?__proto__=1', '__proto__', /Unknown/],
  ['incidents?by=day', 'by', /Unknown/],
  ['incidents?from=2998-01-01T00:00:00Z', 'from', /before 'to' and in the past/],
  ['incidents?from=2026-12-01T00:00:00Z&to=2026-12-01T00:00:00Z', 'from', /before 'to'/],
  ['rollups?by=week', 'by', /minute/],
  ['rollups?by=', 'by', /minute/],
  ['rollups?limit=5', 'limit', /Unknown/],
  ['rollups?from=yesterday', 'from', /2026-12-01T09:30:00Z/],
  ['rollups?to=1795237798', 'to', /must be a time/],
  ['rollups?to=0001-01-01T00:00:00Z', 'to', /1970/],
  ['rollups?from=2998-01-01T00:00:00Z', 'from', /before 'to' and in the past/],
  [
    'rollups?by=minute&from=2026-11-01T00:00:00Z&to=2026-12-01T00:00:00Z',
    'from',
    /by minute, this is 43200 rows.*by=hour/,
  ],
  ['rollups?by=minute&from=2026-12-01T00:00:00Z&to=2026-12-02T01:00:01Z', 'from', /1501 rows/],
  ['rollups?by=hour&from=2026-01-01T00:00:00Z&to=2026-12-01T00:00:00Z', 'from', /by=day/],
  ['rollups?by=day&from=1970-01-01T00:00:00Z', 'from', /ask for a shorter time\./],
  ['uptime?from=1970-01-01T00:00:00Z', 'from', /at most 400 days/],
  ['uptime?days=30', 'days', /Unknown/],
];

test('a wrong or unknown query parameter is a 400 that names it and says what to do', async () => {
  const { get } = await withHistory();
  for (const [what, param, says] of BAD) {
    const answer = await get(what);
    expect(answer.status, what).toBe(400);
    const { error } = ErrorBody.parse(answer.body);
    expect(error.param, what).toBe(param);
    expect(error.message, what).toMatch(says);
  }
});

test('an answer holds the maximum number of rows', async () => {
  const { get } = await withHistory();
  const query = 'by=minute&from=2026-12-01T00:00:00Z&to=2026-12-02T01:00:00Z';
  expect((await get(`rollups?${query}`)).status).toBe(200);
});

test.each(['results', 'incidents', 'rollups', 'uptime'])(
  'a request for %s of an unknown monitor is a 404',
  async (what) => {
    const { call } = await startService();
    const answer = await call('GET', `${MONITORS}/mon_0000000000000000/${what}`);
    expect(answer.status).toBe(404);
    expect(ErrorBody.parse(answer.body).error.message).toMatch(/No monitor has this ID.*lists/);
  },
);
