import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createFakeClock, type FakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { type Service, startService } from '../../helpers/monitoring/service.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** Step of the fake clock at each check. */
const STEP_MS = 500;

/** Waits until the one monitor of the service is as told; the clock goes on meanwhile, if it is a fake. */
async function until(
  service: Service,
  isSo: (monitor: Monitor) => boolean,
  options: { clock?: FakeClock } = {},
): Promise<Monitor> {
  return await eventually(
    async () => {
      await options.clock?.advance(STEP_MS);
      const [monitor] = await service.list();
      return monitor && isSo(monitor) ? monitor : undefined;
    },
    { what: isSo.toString() },
  );
}

const checked = (monitor: Monitor) => typeof monitor.last_checked_at === 'string';

describe('a monitor', () => {
  test('is checked at once, goes DOWN when its target does and UP when it is back', async () => {
    const clock = createFakeClock();
    const target = await startWebTarget();
    const service = await startService({ clock });
    await service.create({
      name: 'Shop',
      check_type: 'HTTP',
      target: target.url,
      config: { interval_seconds: 5, timeout_seconds: 2 },
    });
    const up = await until(service, checked);
    expect(up).toMatchObject({ status: 'UP', status_changes: 0 });
    expect(up.response_time_ms).toBeGreaterThan(0);
    expect(up.status_reason).toBeUndefined();
    expect(target.requests[0]?.headers['user-agent']).toMatch(/^Askwatch\/\d+\.\d+\.\d+/);

    await target.stop();
    const down = await until(service, ({ status }) => status === 'DOWN', { clock });
    expect(down.status_changes).toBe(1);
    expect(down.status_reason).toMatch(/^connection refused by 127\.0\.0\.1:\d+ after \d+ ms$/);

    await target.startAgain();
    const back = await until(service, ({ status }) => status === 'UP', { clock });
    expect(back.status_changes).toBe(2);
    expect(back.status_reason).toBeUndefined();
    expect(Date.parse(back.status_changed_at ?? '')).toBeGreaterThan(
      Date.parse(down.status_changed_at ?? ''),
    );
    const metrics = await service.metrics();
    expect(metrics).toMatch(/askwatch_checks_total\{type="HTTP",outcome="ok"\} [1-9]/);
    expect(metrics).toMatch(/askwatch_checks_total\{type="HTTP",outcome="connection"\} [2-9]/);
    expect(metrics).toMatch(/askwatch_monitors\{status="UP"\} 1\n/);
  });

  test('is checked a second time before it goes DOWN, and stays UP after a lone failure', async () => {
    const clock = createFakeClock();
    let failures = 1;
    const target = await startWebTarget((_request, response) => {
      response.statusCode = failures-- > 0 ? 500 : 200;
      response.end();
    });
    const service = await startService({ clock });
    await service.create({ name: 'Shop', check_type: 'HTTP', target: target.url });
    await eventually(() => target.requests.length === 1);
    await until(service, checked);
    await clock.advance(4_900);
    expect(target.requests).toHaveLength(1);
    await clock.advance(200);
    await eventually(() => target.requests.length === 2);
    const monitor = await until(
      service,
      ({ last_checked_at }) => Date.parse(last_checked_at ?? '') >= clock.wallMs() - 300,
    );
    expect(monitor).toMatchObject({ status: 'UP', status_changes: 0 });
  });

  test('a target whose name now has a forbidden address is not contacted', async () => {
    const folder = await temporaryFolder();
    const target = await startWebTarget();
    const open = await startService({ folder });
    await open.create({
      name: 'x',
      check_type: 'HTTP',
      target: target.url,
      config: { interval_seconds: 5 },
    });
    await until(open, checked);
    await open.close();
    const before = target.connections();
    const clock = createFakeClock(Date.now());
    const closed = await startService({ folder, allowPrivate: [], clock });
    const down = await until(closed, ({ status }) => status === 'DOWN', { clock });
    expect(down.status_reason).toContain('MONITOR_ALLOW_PRIVATE');
    expect(target.connections()).toBe(before);
  });
});

describe('a restart', () => {
  test('keeps what is DOWN as it was: same time, same reason, same count, no flap', async () => {
    const folder = await temporaryFolder();
    const clock = createFakeClock();
    const target = await startWebTarget((_request, response) => response.writeHead(503).end());
    const first = await startService({ folder, clock });
    const { id } = await first.create({
      name: 'Shop',
      check_type: 'HTTP',
      target: target.url,
      config: { interval_seconds: 5 },
    });
    const down = await until(first, ({ status }) => status === 'DOWN', { clock });
    await first.close();

    const second = await startService({ folder, clock });
    const [atOnce] = await second.list();
    const same = {
      id,
      status: 'DOWN',
      status_changes: 1,
      status_changed_at: down.status_changed_at,
      status_reason: 'answered 503 Service Unavailable, expected 200-299',
    };
    expect(atOnce).toMatchObject(same);
    const later = await until(
      second,
      ({ last_checked_at }) => (last_checked_at ?? '') > (atOnce?.last_checked_at ?? ''),
      { clock },
    );
    expect(later).toMatchObject(same);

    target.answerWith((_request, response) => response.end());
    const up = await until(second, ({ status }) => status === 'UP', { clock });
    expect(up).toMatchObject({ status_changes: 2 });
    await second.close();

    const third = await startService({ folder, clock });
    expect((await third.list())[0]).toMatchObject({
      status: 'UP',
      status_changes: 2,
      status_changed_at: up.status_changed_at,
    });
    const results = await third.call('GET', `/api/v1/public/monitors/${id}/results?limit=100`);
    const oks = (results.body.results as Array<{ ok: boolean }>).map(({ ok }) => ok).reverse();
    expect(oks.slice(0, 2)).toEqual([false, false]);
    expect(oks).toContain(true);
    const past = await third.call('GET', `/api/v1/public/monitors/${id}/incidents`);
    expect(past.body.incidents).toEqual([
      expect.objectContaining({
        started_at: down.status_changed_at,
        ended_at: up.status_changed_at,
        ended_as: 'UP',
      }),
    ]);
  });

  test('during a first failure goes on counting from it', async () => {
    const folder = await temporaryFolder();
    const clock = createFakeClock();
    const target = await startWebTarget((_request, response) => response.writeHead(500).end());
    const first = await startService({ folder, clock });
    await first.create({ name: 'Shop', check_type: 'HTTP', target: target.url });
    const failedAt = (await until(first, checked)).last_checked_at;
    await first.close();
    const later = createFakeClock(clock.wallMs() + 90_000);
    const second = await startService({ folder, clock: later });
    const down = await until(second, ({ status }) => status === 'DOWN', { clock: later });
    expect(down.status_changed_at).toBe(failedAt);
  });

  test('checks every monitor within its interval, overdue ones first', async () => {
    const folder = await temporaryFolder();
    const clock = createFakeClock();
    const target = await startWebTarget();
    const first = await startService({ folder, clock });
    for (const path of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await first.create({ name: path, check_type: 'HTTP', target: `${target.url}/${path}` });
    }
    await eventually(async () => (await first.list()).every(checked));
    await first.close();
    target.requests.length = 0;
    const later = createFakeClock(clock.wallMs() + 3_600_000);
    const second = await startService({ folder, clock: later });
    const startedMs = later.wallMs();
    await eventually(async () => {
      await later.advance(1_000);
      return (await second.list()).every(
        ({ last_checked_at }) => Date.parse(last_checked_at ?? '') >= startedMs,
      );
    });
    // Real answers take a moment, in which the fake clock goes on; spread over 30 s, they do not take the whole minute.
    const times = (await second.list()).map(({ last_checked_at }) =>
      Date.parse(last_checked_at ?? ''),
    );
    expect(new Set(times).size).toBeGreaterThan(1);
  });

  test('an edit during a check discards its result', async () => {
    const folder = await temporaryFolder();
    const target = await startWebTarget(() => {});
    const first = await startService({ folder });
    await first.create({ name: 'slow', check_type: 'HTTP', target: target.url });
    await eventually(() => target.requests.length === 1);
    await first.close();
    const second = await startService({ folder });
    expect((await second.list())[0]).toMatchObject({ status: 'PENDING', last_checked_at: null });
    expect(first.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});

describe('a heartbeat', () => {
  const config = { period_seconds: 600, grace_seconds: 60 };
  const backup = { name: 'Backup', check_type: 'HEARTBEAT', target: 'nightly-backup', config };

  const waiting = { status: 'PENDING', waiting_for_first_ping: true, last_checked_at: null };
  const FIRST = 'no first ping within 10 minutes plus 1 minute of grace';

  test('waits for its first ping, and is DOWN when that is missed', async () => {
    const clock = createFakeClock();
    const service = await startService({ clock });
    const { push_url = '' } = await service.create(backup);
    const hourly = { cron: '0 * * * *', grace_seconds: 60 };
    const { id } = await service.create({ ...backup, name: 'Hourly', config: hourly });
    const [byPeriod, byCron] = await service.list();
    expect([byPeriod, byCron]).toMatchObject([waiting, waiting]);
    await clock.advance(659_000);
    expect((await service.list())[0]).toMatchObject(waiting);
    await clock.advance(2_000);
    const late = { status: 'DOWN', waiting_for_first_ping: true, status_changes: 1 };
    await isListed(service, { ...late, status_reason: expect.stringContaining(FIRST) });
    expect((await request(push_url, { method: 'POST' })).statusCode).toBe(200);
    const [pinged] = await service.list();
    expect(pinged).toMatchObject({ status: 'UP', status_changes: 2 });
    expect(pinged).not.toHaveProperty('waiting_for_first_ping');

    const HOUR_MS = 3_600_000;
    const dueMs =
      Math.ceil(Date.parse(byCron?.status_changed_at ?? '') / HOUR_MS) * HOUR_MS + 60_000;
    await clock.advance(dueMs - 1_000 - clock.wallMs());
    expect((await service.list())[1]).toMatchObject(waiting);
    await clock.advance(2_000);
    await eventually(async () => {
      const { body } = await service.call('GET', `/api/v1/public/monitors/${id}`);
      expect(body).toMatchObject({
        ...{ status: 'DOWN', waiting_for_first_ping: true },
        status_reason: expect.stringMatching(
          /^the first ping expected at .* did not arrive within/,
        ),
      });
      return true;
    });
  });

  test('waits for its first ping anew after a pause, and over a restart from when it was made', async () => {
    const folder = await temporaryFolder();
    const clock = createFakeClock();
    const first = await startService({ folder, clock });
    const { id } = await first.create(backup);
    const path = `/api/v1/public/monitors/${id}`;
    await clock.advance(500_000);
    await first.call('POST', `${path}/pause`);
    await clock.advance(500_000);
    await first.call('POST', `${path}/resume`);
    await clock.advance(600_000);
    expect((await first.list())[0]).toMatchObject(waiting);
    await first.close();

    // Due in 60 s, and no grace has to be given: the service was not away when it was due.
    const again = createFakeClock(clock.wallMs());
    const second = await startService({ folder, clock: again });
    await again.advance(59_000);
    expect((await second.list())[0]).toMatchObject(waiting);
    await again.advance(2_000);
    await isListed(second, { status: 'DOWN', status_reason: expect.stringContaining(FIRST) });
  });

  test('a heartbeat created while the clock was ahead is not awaited until the clock gets there', async () => {
    const folder = await temporaryFolder();
    const ahead = createFakeClock();
    const first = await startService({ folder, clock: ahead });
    await first.create(backup);
    await first.close();
    const clock = createFakeClock(ahead.wallMs() - 365 * 86_400_000);
    const second = await startService({ folder, clock });
    await clock.advance(659_000);
    expect((await second.list())[0]).toMatchObject(waiting);
    await clock.advance(2_000);
    await isListed(second, { status: 'DOWN' });
  });

  test('keeps an acknowledged ping over a restart, and gives a missed one a grace period', async () => {
    const folder = await temporaryFolder();
    const clock = createFakeClock();
    const first = await startService({ folder, clock });
    const { push_url = '' } = await first.create(backup);
    await request(push_url, { method: 'POST' });
    const pingedAt = new Date(clock.wallMs()).toISOString();
    await first.close();

    const soon = createFakeClock(clock.wallMs() + 100_000);
    const second = await startService({ folder, clock: soon });
    expect((await second.list())[0]).toMatchObject({ status: 'UP', last_checked_at: pingedAt });
    await soon.advance(559_000);
    expect((await second.list())[0]).toMatchObject({ status: 'UP' });
    await second.close();

    const late = createFakeClock(clock.wallMs() + 10_000_000);
    const third = await startService({ folder, clock: late });
    await late.advance(59_000);
    expect((await third.list())[0]).toMatchObject({ status: 'UP' });
    await late.advance(2_000);
    await isListed(third, { status: 'DOWN', status_changes: 1 });
    const token = push_url.split('/').at(-1);
    const back = await request(`${third.url}/api/v1/public/push/${token}`, { method: 'POST' });
    expect(back.statusCode).toBe(200);
    expect((await third.list())[0]).toMatchObject({ status: 'UP', status_changes: 2 });
  });
});

/** Waits until the first monitor has this status, which is published once it is durable. */
async function isListed(service: Service, wanted: object) {
  await eventually(async () => {
    expect((await service.list())[0]).toMatchObject(wanted);
    return true;
  });
}
