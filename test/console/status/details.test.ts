import { describe, expect, test } from 'vitest';
import { StatusDetails, StatusReport } from '../../../src/console/status/api-types.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { get, readStatus, reportAt, startStatus } from '../../helpers/console/test-status.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const HOUR_MS = 3_600_000;

/** A site that is DOWN after it was UP, and a job, over the embedded service. */
async function startWatched() {
  const target = await startWebTarget();
  const service = await startService();
  const site = { name: 'Shop', check_type: 'HTTP', target: target.url };
  const { id } = await service.create({ ...site, config: { confirm_down: 1 } });
  const job = await service.create({
    name: 'Backup',
    check_type: 'HEARTBEAT',
    target: 'backup',
    config: { cron: '0 3 * * *', timezone: 'Europe/Berlin', grace_seconds: 600 },
  });
  const check = () => service.call('POST', `/api/v1/public/monitors/${id}/check`);
  await check();
  await target.stop();
  await check();
  const status = await startStatus({ url: service.url, apiKey: service.key }, { pollMs: 1_000 });
  const detailsAt = async (monitor: string, query = '') => {
    const { status: code, text } = await get(
      `${status.url}/status/monitors/${monitor}${query}`,
      {},
    );
    if (code !== 200) throw new Error(`${code}: ${text}`);
    return StatusDetails.strict().parse(JSON.parse(text));
  };
  return { service, url: status.url, id, job: job.id, detailsAt };
}

describe('over the embedded service', () => {
  test('the report has the days of each monitor', async () => {
    const { url, id } = await startWatched();
    const report = await eventually(async () => {
      const now = await reportAt(url);
      return now.monitors.find((one) => one.id === id)?.status === 'DOWN' && now;
    });
    const shop = report.monitors[0];
    expect(shop).toMatchObject({ id, name: 'Shop', status: 'DOWN' });
    // More than one when midnight has passed.
    expect(shop?.days?.up_ms.length).toBeGreaterThan(0);
    expect(shop?.uptime).toBeGreaterThanOrEqual(0);
    const reader = await readStatus(url);
    expect(reader.report().monitors[0]?.days).toEqual(shop?.days);
  });

  test('an opened monitor has response times at equal steps, incidents and uptime', async () => {
    const { id, detailsAt } = await startWatched();
    for (const [hours, points, stepMs] of [
      [1, 60, 60_000],
      [24, 24, HOUR_MS],
      [168, 168, HOUR_MS],
      [2160, 90, 24 * HOUR_MS],
    ] as const) {
      const details = await detailsAt(id, `?hours=${hours}`);
      expect(details.latency_step_ms).toBe(stepMs);
      const times = details.latency.map(({ at }) => Date.parse(at));
      expect(times).toHaveLength(points);
      expect(times.slice(1).every((at, place) => at - (times[place] ?? 0) === stepMs)).toBe(true);
      // The looks may be of two hours, when one ends in between.
      expect(details.latency.slice(-2).some(({ mean_ms }) => mean_ms !== null)).toBe(true);
      expect(details.latency[0]?.mean_ms).toBeNull();
      expect(details.uptime.map(({ days }) => days)).toEqual([1, 7, 30, 90]);
      expect(details.interval_seconds).toBe(60);
      expect(details.incidents).toMatchObject([
        { monitor: id, name: 'Shop', outcome: 'connection', ended_at: null, ended_as: null },
      ]);
    }
  });

  test('details describe the rhythm of a job and the planned maintenance', async () => {
    const { service, job, detailsAt } = await startWatched();
    await service.call('PUT', `/api/v1/public/monitors/${job}/maintenance`, {
      json: {
        windows: [
          { cron: '0 4 * * 1', timezone: 'UTC', duration_minutes: 90, reason: 'backup of backups' },
          { starts_at: '2020-01-01T00:00:00Z', ends_at: '2020-01-02T00:00:00Z' },
          { starts_at: '2099-01-01T00:00:00Z', ends_at: '2099-01-02T00:30:00Z' },
        ],
      },
    });
    expect(await detailsAt(job)).toMatchObject({
      heartbeat: {
        expected: 'At 0 3 * * * (crontab, Europe/Berlin), at most 10 minutes late',
        last_signal_at: null,
      },
      maintenance: [
        'At 0 4 * * 1 (crontab, UTC), for 1 hour 30 minutes: backup of backups',
        'From 2099-01-01 00:00 UTC to 2099-01-02 00:30 UTC',
      ],
    });
  });
});

describe('over a service of the contract alone', () => {
  test('a service of the contract alone has no bars and no history', async () => {
    const service = await startMonitoringService({ limit: false });
    const { id } = service.add({ name: 'shop' });
    const { url } = await startStatus(service);
    const report = await reportAt(url);
    expect(report.monitors[0]).not.toHaveProperty('days');
    expect(report).not.toHaveProperty('notice');
    const { text } = await get(`${url}/status/monitors/${id}`, {});
    expect(StatusDetails.strict().parse(JSON.parse(text))).toMatchObject({
      interval_seconds: 60,
      uptime: [],
      incidents: [],
      certificate_ends_at: null,
      heartbeat: null,
      maintenance: [],
    });
    expect((await get(`${url}/status/monitors/none`, {})).status).toBe(404);
    expect((await get(`${url}/status/monitors/${id}?hours=5`, {})).status).toBe(400);
    await service.close();
  });

  test('details stay within the request limit of the service', async () => {
    const service = await startMonitoringService({ limit: false });
    const ids = Array.from({ length: 40 }, (_, n) => service.add({ name: `monitor ${n}` }).id);
    const { url } = await startStatus(service, { pollMs: 60_000 });
    const statuses: number[] = [];
    for (const id of ids) statuses.push((await get(`${url}/status/monitors/${id}`, {})).status);
    expect(statuses.filter((one) => one === 200)).toHaveLength(15);
    expect(statuses.filter((one) => one === 429)).toHaveLength(25);
    expect(service.requests.length).toBeLessThanOrEqual(15 * 4 + 3);
    // A known answer is repeated.
    expect((await get(`${url}/status/monitors/${ids[0]}`, {})).status).toBe(200);
    await service.close();
  });

  test('a report of a thousand monitors is compressed, and only changes are sent', async () => {
    const service = await startMonitoringService({ limit: false });
    for (let n = 0; n < 1_000; n += 1) service.add({ name: `monitor ${n}` });
    const { url } = await startStatus(service);
    const plain = await get(`${url}/status.json`, {});
    expect(plain.text.length).toBeLessThan(200_000);
    const { etag = '' } = plain.headers;
    const again = await get(`${url}/status.json`, { 'if-none-match': etag });
    expect(again).toMatchObject({ status: 304, text: '' });
    const answer = await fetch(`${url}/status.json`, { headers: { 'accept-encoding': 'gzip' } });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(StatusReport.parse(await answer.json()).monitors).toHaveLength(1_000);
    const reader = await readStatus(url);
    const before = reader.length;
    service.setStatus('mon_500', 'DEGRADED');
    await eventually(() => reader.report().overall === 'degraded');
    const changed = reader.heard.at(-1);
    expect(changed?.kind === 'changed' && changed.monitors.map(({ id }) => id)).toEqual([
      'mon_500',
    ]);
    // The ids in their new order are most of it.
    expect(reader.length - before).toBeLessThan(15_000);
    expect((await get(`${url}/status.json`, { 'if-none-match': etag })).status).toBe(200);
    await service.close();
  });
});
