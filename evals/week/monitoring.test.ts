import { describe, expect, test } from 'vitest';
import type { Monitor, MonitorList } from '../../src/contracts/monitoring.ts';
import {
  type CheckRecord,
  type DayList,
  type Incident,
  type MonitorDetails,
  PartList,
  type RecentIncident,
  type Rollup,
  type Uptime,
} from '../../src/contracts/monitoring-additions.ts';
import {
  countsByStatus,
  daysOf,
  incidentsAt,
  incidentsDuring,
  incidentsOf,
  isFlapping,
  lastDays,
  lengthOf,
  longestIncidents,
  meanResponseTime,
  monitorNamed,
  mostIncidents,
  newestMonitors,
  type PlannedIncident,
  slowestNow,
  statusOf,
  uptimeOf,
  uptimeOfAll,
  withStatus,
  worstMonitors,
} from './facts.ts';
import { HOSTILE_REASON } from './happenings.ts';
import { HOSTILE_NAME } from './monitors.ts';
import { LAST_WEEK, MONITORS, WEEK_BEFORE } from './plan.ts';
import { HOUR_MS, NOW_MS, november, type PlannedMonitor, type Span } from './planned-monitor.ts';
import { type RecordedWeekService, startRecordedWeek } from './recorded-week.ts';

const MONITORS_PATH = '/api/v1/public/monitors';
const WITH_PAUSED = `${MONITORS_PATH}?include_paused=true`;

const iso = (ms: number) => new Date(ms).toISOString();
const query = ({ fromMs, toMs }: Span) => `from=${iso(fromMs)}&to=${iso(toMs)}`;
const namesOf = (monitors: readonly PlannedMonitor[]) => monitors.map(({ name }) => name);

/** Monitors of every kind of past. */
const TEN = [
  ...['Shop', 'Shop checkout', 'Intranet', 'shop-eu', 'Video', 'Logistics', 'Billing'],
  ...['Blog (staging)', 'Nightly backup', 'Shop returns'],
].map(monitorNamed);

async function answerOf<T>(service: RecordedWeekService, path: string): Promise<T> {
  const answer = await service.get(path);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as T;
}

const ofMonitor = <T>(service: RecordedWeekService, { id }: PlannedMonitor, rest: string) =>
  answerOf<T>(service, `${MONITORS_PATH}/${id}${rest}`);

/** An incident as REST tells it. */
const told = ({ fromMs, toMs, cause, outcome }: PlannedIncident) => ({
  ...{ cause, outcome, started_at: iso(fromMs), ended_at: toMs === null ? null : iso(toMs) },
});

describe('a service over the recorded week', () => {
  test('lists every monitor as it is, and checks none', async () => {
    const service = await startRecordedWeek();
    const { monitors: list } = await answerOf<MonitorList>(service, WITH_PAUSED);
    const counts: Record<string, number> = {};
    for (const { status } of list) counts[status] = (counts[status] ?? 0) + 1;
    expect(counts).toEqual(countsByStatus());
    expect(list).toHaveLength(200);
    for (const [place, monitor] of MONITORS.entries()) {
      const { status, sinceMs, reason } = statusOf(monitor);
      const isBad = status === 'DOWN' || status === 'DEGRADED';
      const wanted: Partial<Monitor> = {
        id: monitor.id,
        name: monitor.name,
        check_type: monitor.type,
        status,
        status_changed_at: iso(sinceMs),
        last_checked_at: iso(monitor.lastCheckedMs),
        response_time_ms: monitor.responseTimeMs,
        flapping: isFlapping(monitor),
        stale: false,
      };
      expect(list[place]).toMatchObject(wanted);
      expect(list[place]?.status_reason).toBe(isBad ? reason : undefined);
    }
    expect(service.checked).toEqual([]);
    expect(await service.metrics()).not.toMatch(/askwatch_checks_total\{/);
    expect(service.lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  test('finds what the plan says when a monitor is checked all the same', async () => {
    const service = await startRecordedWeek();
    for (const name of ['Shop', 'Intranet', 'Forum']) {
      const { id } = monitorNamed(name);
      const answer = await service.call('POST', `${MONITORS_PATH}/${id}/check`);
      expect(answer.status, answer.text).toBe(200);
    }
    expect(service.checked).toEqual(['Shop', 'Intranet', 'Forum']);
    const list = await service.list();
    for (const name of service.checked) {
      const { status, sinceMs } = statusOf(monitorNamed(name));
      const now = list.find((one) => one.name === name);
      expect(now).toMatchObject({ status, status_changed_at: iso(sinceMs) });
    }
  });

  test('tells what goes on of a monitor, its certificate and its windows', async () => {
    const service = await startRecordedWeek();
    const checkout = monitorNamed('Shop checkout');
    const [incident] = incidentsOf(checkout);
    const details = await ofMonitor<MonitorDetails>(service, checkout, '');
    expect(details.incident).toMatchObject(told(incident as PlannedIncident));
    expect(details.created_at).toBe(iso(checkout.createdMs));
    const forum = monitorNamed('Forum');
    const { certificate_ends_at } = await ofMonitor<MonitorDetails>(service, forum, '');
    expect(certificate_ends_at).toBe('2026-12-02T23:59:00.000Z');
    const { maintenance } = await ofMonitor<MonitorDetails>(service, monitorNamed('Billing'), '');
    expect(maintenance).toEqual([
      {
        starts_at: '2026-11-26T10:00:00.000Z',
        ends_at: '2026-11-26T14:00:00.000Z',
        reason: 'database upgrade',
      },
    ]);
  });

  test('tells the uptime of days and weeks to a hundredth of a percent', async () => {
    const service = await startRecordedWeek();
    for (const span of [lastDays(1), LAST_WEEK, WEEK_BEFORE, lastDays(15)]) {
      for (const monitor of TEN) {
        const uptime = await ofMonitor<Uptime>(service, monitor, `/uptime?${query(span)}`);
        const right = uptimeOf(monitor, span);
        expect(uptime, monitor.name).toMatchObject({
          up_ms: right.upMs,
          down_ms: right.downMs,
          unseen_ms: right.unseenMs,
        });
        if (right.uptime === null) expect(uptime.uptime, monitor.name).toBeNull();
        else expect(uptime.uptime, monitor.name).toBeCloseTo(right.uptime, 4);
      }
    }
  });

  test('lists the incidents of a time, of all monitors and of each', async () => {
    const service = await startRecordedWeek();
    const spans = [
      LAST_WEEK,
      WEEK_BEFORE,
      lastDays(1),
      { fromMs: november('24 14:10'), toMs: november('24 14:15') },
    ];
    for (const span of spans) {
      const path = `/api/v1/public/incidents?${query(span)}&limit=1000`;
      const answer = await answerOf<{ incidents: RecentIncident[] }>(service, path);
      const right = incidentsDuring(span);
      expect(answer).toMatchObject({ total: right.length, complete: true });
      const sorted = (all: Array<{ name: string; started_at: string }>) =>
        all.map(({ name, started_at }) => `${started_at} ${name}`).sort();
      expect(sorted(answer.incidents)).toEqual(
        sorted(right.map((one) => ({ name: one.monitor.name, started_at: iso(one.fromMs) }))),
      );
    }
    for (const monitor of TEN) {
      const { incidents } = await ofMonitor<{ incidents: Incident[] }>(
        service,
        monitor,
        '/incidents?limit=100',
      );
      expect(incidents).toMatchObject(incidentsOf(monitor).map(told));
      expect(incidents).toHaveLength(incidentsOf(monitor).length);
    }
  });

  test('tells how the days of all monitors went', async () => {
    const service = await startRecordedWeek();
    const list = await answerOf<DayList>(service, '/api/v1/public/days?days=16');
    expect(list.last).toBe('2026-11-26');
    expect(list.monitors).toHaveLength(200);
    for (const { id, up_ms, down_ms } of list.monitors) {
      const monitor = MONITORS.find((one) => one.id === id);
      if (!monitor) throw new Error(`${id} is not of the plan`);
      const days = daysOf(monitor, 16).slice(-up_ms.length);
      expect(up_ms, monitor.name).toEqual(days.map(({ upMs }) => upMs));
      expect(down_ms, monitor.name).toEqual(days.map(({ downMs }) => downMs));
    }
  });

  test('tells how parts of a time went for all monitors, wherever they are cut', async () => {
    const service = await startRecordedWeek();
    // Days of a zone that is half an hour off, then what is left until now and beyond.
    const moments = [16, 17, 18, 19, 22, 24]
      .map((day) => Date.UTC(2026, 10, day, 18, 30))
      .concat(NOW_MS + HOUR_MS);
    const list = PartList.parse(
      await answerOf<PartList>(service, `/api/v1/public/parts?at=${moments.map(iso).join(',')}`),
    );
    expect(list.next).toBeNull();
    expect(list.monitors).toHaveLength(200);
    for (const { id, created_at, up_ms, down_ms, passed, mean_ms } of list.monitors) {
      const monitor = MONITORS.find((one) => one.id === id);
      if (!monitor) throw new Error(`${id} is not of the plan`);
      expect(created_at).toBe(iso(monitor.createdMs));
      const parts = moments.slice(1).map((toMs, at) => ({ fromMs: moments[at] ?? 0, toMs }));
      const seen = parts.map((part) => uptimeOf(monitor, part));
      // An hour that is cut counts in proportion.
      for (const [at, { upMs, downMs }] of seen.entries()) {
        const cut = down_ms[at] === downMs ? 0 : HOUR_MS;
        expect(Math.abs((up_ms[at] ?? 0) - upMs), monitor.name).toBeLessThanOrEqual(cut);
        expect(Math.abs((down_ms[at] ?? 0) - downMs), monitor.name).toBeLessThanOrEqual(cut);
      }
      // A ping takes no time.
      const isTimed = monitor.type !== 'HEARTBEAT';
      expect(mean_ms.map((ms) => ms > 0)).toEqual(passed.map((count) => isTimed && count > 0));
    }
    const search = list.monitors.find(({ id }) => id === monitorNamed('Search API').id);
    const day = { fromMs: moments[1] ?? 0, toMs: moments[2] ?? 0 };
    const right = meanResponseTime(monitorNamed('Search API'), day) ?? 0;
    expect(Math.abs((search?.mean_ms[1] ?? 0) - right) / right).toBeLessThan(0.05);
  });

  test('has hours and minutes with response times of the level of their time', async () => {
    const service = await startRecordedWeek();
    const search = monitorNamed('Search API');
    const day = lastDays(1);
    const hours = await ofMonitor<{ rollups: Rollup[] }>(service, search, `/rollups?${query(day)}`);
    expect(hours.rollups).toHaveLength(24);
    const means = hours.rollups.map((row) => row.response_time_ms?.mean ?? 0);
    const mean = means.reduce((all, one) => all + one, 0) / means.length;
    const right = meanResponseTime(search, day) ?? 0;
    expect(Math.abs(mean - right) / right).toBeLessThan(0.05);
    const { rollups } = await ofMonitor<{ rollups: Rollup[] }>(
      service,
      monitorNamed('Chat'),
      '/rollups?by=minute',
    );
    expect(rollups).toHaveLength(120);
    const down = rollups.reduce((all, row) => all + row.down_ms, 0);
    const lastTwoHours = { fromMs: NOW_MS - 2 * HOUR_MS, toMs: NOW_MS };
    expect(down).toBe(uptimeOf(monitorNamed('Chat'), lastTwoHours).downMs);
  });

  test('has the last results of monitors that are checked often, seldom, by pings and no more', async () => {
    const service = await startRecordedWeek();
    for (const [name, least] of [
      ['Chat', 100],
      ['Shop DNS', 30],
      ['Nightly backup', 14],
      ['Blog (staging)', 20],
    ] as const) {
      const monitor = monitorNamed(name);
      const { results } = await ofMonitor<{ results: CheckRecord[] }>(
        service,
        monitor,
        '/results?limit=100',
      );
      expect(results.length, name).toBeGreaterThanOrEqual(least);
      expect(results[0], name).toMatchObject({
        at: iso(monitor.lastCheckedMs),
        response_time_ms: monitor.responseTimeMs ?? 0,
      });
    }
  });

  test('tells the same after a restart', async () => {
    const uptime = `${MONITORS_PATH}/${monitorNamed('shop-eu').id}/uptime?${query(LAST_WEEK)}`;
    const first = await startRecordedWeek();
    const before = [await first.list(), await answerOf<Uptime>(first, uptime)];
    await first.close();
    const second = await startRecordedWeek({ folder: first.folder });
    expect([await second.list(), await answerOf<Uptime>(second, uptime)]).toEqual(before);
  });
});

describe('the plan of the recorded week', () => {
  test('has sixty incidents in the last week, and forty in the week before', () => {
    expect(incidentsDuring(LAST_WEEK)).toHaveLength(60);
    expect(incidentsDuring(WEEK_BEFORE)).toHaveLength(40);
  });

  test('has monitors of every type and status', () => {
    expect(countsByStatus()).toEqual({ UP: 191, DOWN: 3, PAUSED: 3, MAINTENANCE: 1, DEGRADED: 2 });
    expect(namesOf(withStatus('DOWN'))).toEqual(['Shop checkout', 'Partner feed', 'Intranet']);
    const types = new Set(MONITORS.map(({ type }) => type));
    expect([...types].sort()).toEqual(['DNS', 'HEARTBEAT', 'HTTP', 'KEYWORD']);
    expect(new Set(MONITORS.map(({ id }) => id)).size).toBe(200);
    expect(new Set(namesOf(MONITORS)).size).toBe(200);
    expect(namesOf(MONITORS)).toContain(HOSTILE_NAME);
    expect(statusOf(monitorNamed('Partner feed')).reason).toBe(HOSTILE_REASON);
    expect(namesOf(MONITORS.filter(isFlapping))).toEqual(['Chat']);
  });

  test('has one right answer to what was longest, slowest, worst and newest', () => {
    const isClear = (numbers: number[]) => (numbers[0] ?? 0) > 1.2 * (numbers[1] ?? 0);
    const longest = longestIncidents(LAST_WEEK);
    expect(longest[0]?.monitor.name).toBe('Intranet');
    expect(isClear(longest.map(lengthOf))).toBe(true);
    const over = longestIncidents(LAST_WEEK, { isOver: true });
    expect(over[0]?.monitor.name).toBe('Logistics');
    expect(isClear(over.map(lengthOf))).toBe(true);
    expect(longestIncidents(WEEK_BEFORE)[0]?.monitor.name).toBe('Warehouse API');
    expect(slowestNow()[0]?.name).toBe('Report export');
    expect(isClear(slowestNow().map(({ responseTimeMs }) => responseTimeMs))).toBe(true);
    expect(worstMonitors(LAST_WEEK)[0]?.monitor.name).toBe('Intranet');
    expect(isClear(worstMonitors(LAST_WEEK).map(({ downMs }) => downMs))).toBe(true);
    expect(mostIncidents(LAST_WEEK).slice(0, 2)).toMatchObject([
      { monitor: { name: 'shop-eu' }, count: 7 },
      { monitor: { name: 'Chat' }, count: 4 },
    ]);
    expect(newestMonitors()[0]?.name).toBe('Shop returns');
    const uptimes = [LAST_WEEK, WEEK_BEFORE].map((span) => uptimeOfAll(span).uptime ?? 0);
    expect(uptimes[0]).toBeLessThan(uptimes[1] ?? 0);
  });

  test('has outages at one time, some with the same cause', () => {
    const together = incidentsAt(november('24 14:25'));
    const causes = together.map(({ cause }) => cause);
    expect(causes.filter((cause) => cause.includes('203.0.113.40'))).toHaveLength(7);
    expect(together.map(({ monitor }) => monitor.name)).toEqual(
      expect.arrayContaining(['Docs', 'Payroll', 'Newsletter sync', 'Intranet']),
    );
    expect(together).toHaveLength(11);
  });

  test('has no results while the service did not run', () => {
    const stop = { fromMs: november('21 02:10'), toMs: november('21 04:10') };
    const all = uptimeOfAll(stop);
    expect(all).toMatchObject({ upMs: 0, downMs: 0, uptime: null });
    const video = monitorNamed('Video');
    expect(uptimeOf(video, LAST_WEEK).downMs).toBe(3.75 * HOUR_MS - 2 * HOUR_MS);
  });
});
