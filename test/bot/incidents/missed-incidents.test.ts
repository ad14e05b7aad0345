import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { alertCard } from '../../../src/bot/alerts/alert-card.ts';
import { askMissed, withMissedChanges } from '../../../src/bot/incidents/missed-incidents.ts';
import { createRequestQuota } from '../../../src/bot/incidents/poll-quota.ts';
import type { Incident, Watching } from '../../../src/bot/incidents/watch-state.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { type Monitor, MonitoringPath } from '../../../src/contracts/monitoring.ts';
import type { Incident as Outage } from '../../../src/contracts/monitoring-additions.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { startSteppedWatch } from '../../helpers/bot/stepped-watch.ts';
import { long } from '../../helpers/long.ts';
import { startService } from '../../helpers/monitoring/service.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

/** A watch over the real service that polls when told to. */
async function openWatch(service: { url: string; key: string }) {
  const watch = await startSteppedWatch(service, { nowMs: Date.now() });
  return async () => {
    await watch.poll(Date.now());
    return watch.incidents();
  };
}

test('an outage between two polls is reported, with its times and its cause', async () => {
  const service = await startService();
  const job = await service.create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'db1' });
  const push = new URL(job.push_url ?? '').pathname;
  const poll = await openWatch(service);
  await service.call('POST', push);
  expect(await poll()).toEqual([]);

  await service.call('POST', `${push}/fail`);
  await service.call('POST', push);
  const [missed, ...others] = await poll();
  expect(others).toEqual([]);
  const times = { startedAtMs: expect.any(Number), endedAtMs: expect.any(Number) };
  expect(missed).toMatchObject({
    status: 'UP',
    reason: 'the job reported that it failed',
    ...times,
  });
  expect(alertCard(missed as Incident, {}).title).toMatch(/^Backup was down for \d+ s$/);
  expect(await poll()).toEqual([missed]);

  // An open incident that was UP for a moment is ended, and another opens. No message was delivered, so each one counts
  // the earlier ones.
  await service.call('POST', `${push}/7`);
  expect(await poll()).toMatchObject([
    { change: 3, status: 'DOWN', deliveries: [{ earlier: { count: 1 } }] },
  ]);
  await service.call('POST', push);
  await service.call('POST', `${push}/fail`);
  const [last, ...rest] = await poll();
  expect(rest).toEqual([]);
  // The third within a moment flaps, and counts those it carries.
  expect(last).toMatchObject({ change: 5, flapping: { downs: 3, counted: [1, 3, 5] } });
  expect(last?.deliveries).toEqual([expect.not.objectContaining({ earlier: expect.anything() })]);
  expect(last?.endedAtMs).toBeUndefined();
});

test('an outage is ongoing while a team pauses its monitor, however often, until the monitor is UP', async () => {
  const service = await startService();
  const job = await service.create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'db1' });
  const push = new URL(job.push_url ?? '').pathname;
  const act = (verb: string) =>
    service.call('POST', `${MonitoringPath.monitors}/${job.id}/${verb}`);
  const poll = await openWatch(service);
  await service.call('POST', push);
  await service.call('POST', `${push}/fail`);
  const [begun] = await poll();
  expect(begun).toMatchObject({ status: 'DOWN', change: 1 });
  const ongoing = { id: begun?.id, startedAtMs: begun?.startedAtMs };
  for (let time = 0; time < 4; time += 1) {
    await act('pause');
    await act('resume');
    const [now, ...others] = await poll();
    expect(others).toEqual([]);
    expect(now).toMatchObject({ ...ongoing, status: 'DOWN' });
    expect(now?.flapping).toBeUndefined();
    expect(now?.endedAtMs).toBeUndefined();
  }
  await act('pause');
  for (const _ of [1, 2, 3]) {
    const [now] = await poll();
    expect(now).toMatchObject({ ...ongoing, status: 'PAUSED' });
    expect(now?.endedAtMs).toBeUndefined();
  }
  await act('resume');
  await service.call('POST', push);
  expect(await poll()).toMatchObject([{ ...ongoing, status: 'UP', endedAtMs: expect.any(Number) }]);
  const shown = await service.call('GET', `${MonitoringPath.monitors}/${job.id}`);
  expect(shown.body).toMatchObject({ flapping: false });
});

/** Everything that ever happened to one monitor: `DOWN` or not, change by change. */
interface History {
  /** The statuses one after another, the first is change 0. */
  statuses: string[];
  /** Changes before each poll. */
  polls: number[];
  /** Which looks could not ask. */
  unasked: boolean[];
}

const histories: fc.Arbitrary<History> = fc
  .record({
    statuses: fc.array(fc.constantFrom('UP', 'DOWN', 'DOWN', 'DEGRADED', 'PAUSED', 'MAINTENANCE'), {
      minLength: 1,
      maxLength: 30,
    }),
    steps: fc.array(fc.nat({ max: 4 }), { minLength: 2, maxLength: 20 }),
    unasked: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
  })
  .map(({ statuses: raw, steps, unasked }) => {
    const statuses = raw.filter((status, at) => status !== raw[at - 1]);
    let at = 0;
    const polls = steps.map((step) => {
      at = Math.min(at + step, statuses.length - 1);
      return at;
    });
    return { statuses, polls, unasked };
  });

const START = 1_800_000_000_000;
const timeOf = (change: number) => new Date(START + change * 1000).toISOString();

/** Two changes to DOWN are one outage for people unless UP came in between. */
const isSameOutage = ({ statuses }: History, a: number, b: number) =>
  !statuses.slice(Math.min(a, b), Math.max(a, b)).includes('UP');

function monitorAt({ statuses }: History, change: number): Monitor {
  return {
    id: 'a',
    name: 'A',
    check_type: 'HTTP',
    target: 'https://a.example',
    status: statuses[change] ?? 'UP',
    interval_seconds: 60,
    status_changes: change,
    status_changed_at: timeOf(change),
  };
}

function outagesAt({ statuses }: History, change: number): Outage[] {
  return statuses.slice(0, change + 1).flatMap((status, at): Outage[] =>
    status === 'DOWN'
      ? [
          {
            ...{ id: `a:${at}`, change: at, started_at: timeOf(at), cause: 'x', outcome: 'status' },
            ended_at: at < change ? timeOf(at + 1) : null,
            ended_as: at < change ? (statuses[at + 1] ?? null) : null,
          },
        ]
      : [],
  );
}

test('every outage since the first poll is reported once, with its times, whenever the service is polled', () => {
  fc.assert(
    fc.property(histories, (history) => {
      let watching: Watching | undefined;
      let made = 0;
      const around = {
        nowMs: 2_000_000_000_000,
        newId: () => `i${++made}`,
        placesFor: () => [],
      };
      // The last poll can always ask.
      for (const [at, change] of [...history.polls, history.polls.at(-1) ?? 0].entries()) {
        const monitor = monitorAt(history, change);
        const changed = withMissedChanges(watching, [monitor]);
        const isAsked = !history.unasked[at] || at === history.polls.length;
        const outages = outagesAt(history, change).reverse();
        const between = {
          missed: isAsked ? changed.map((each) => ({ ...each, outages })) : [],
          later: new Set(isAsked ? [] : changed.map((each) => each.monitor.id)),
        };
        ({ watching } = applyPoll(watching, [monitor], around, between));
      }
      const [first = 0] = history.polls;
      const last = history.polls.at(-1) ?? 0;
      // PAUSED and DEGRADED end an outage at the service, but only UP ends a message that people see growing.
      const wanted = outagesAt(history, last).filter(({ change }) => change >= first);
      const told = ((watching?.alerts ?? []) as Incident[]).filter(
        ({ degraded }) => degraded === undefined,
      );
      for (const outage of wanted) {
        const own = told.filter(
          ({ flapping, startedAtMs, endedAtMs = Number.POSITIVE_INFINITY }) =>
            !flapping &&
            startedAtMs <= Date.parse(outage.started_at) &&
            endedAtMs >= Date.parse(outage.ended_at ?? timeOf(last)),
        );
        // While nobody could be asked, it was opened as the list showed it.
        const counts = told.some(({ flapping, change = -1 }) =>
          (flapping?.counted ?? [change]).some((one) => isSameOutage(history, one, outage.change)),
        );
        expect(own.length, JSON.stringify({ outage, told })).toBeLessThanOrEqual(1);
        expect(own.length === 1 || counts, JSON.stringify({ outage, told })).toBe(true);
      }
      // Maintenance, pause or DEGRADED end nothing.
      for (const { status, endedAtMs, flapping } of told) {
        if (flapping || endedAtMs === undefined || status !== 'UP') continue;
        expect(history.statuses[(endedAtMs - START) / 1000]).toBe('UP');
      }
      const began = wanted.map(({ started_at }) => Date.parse(started_at));
      for (const { startedAtMs, flapping } of told) {
        expect(began).toContain(startedAtMs);
        if (!flapping) continue;
        expect(began).toContain(flapping.fromMs);
        // DOWN again after PAUSED is the same outage, with a number of its own.
        expect(flapping.counted.length).toBeGreaterThanOrEqual(flapping.downs);
      }
    }),
    {
      numRuns: long ? 20_000 : 100,
      examples: [
        [
          {
            // It was UP between PAUSED and DOWN, which is known late.
            statuses: ['DOWN', 'UP', 'DOWN', 'UP', 'DOWN', 'PAUSED', 'DOWN', 'UP', 'DOWN'],
            polls: [0, 4, 4, 5, 8],
            unasked: [false, true, true, false, true],
          },
        ],
      ],
    },
  );
});

test('a service that lists missed incidents slowly delays alerts by one answer, not by ten', async () => {
  const { log } = recordingLog();
  const { url: baseUrl, requests } = await startWebTarget((_, response) => {
    const answer = () => response.end(JSON.stringify({ incidents: [] }));
    response.setHeader('content-type', 'application/json');
    if (requests.length === 1) setTimeout(answer, 300);
    else answer();
  });
  const monitoring = createMonitoringClient({ baseUrl, apiKey: 'k' });
  onTestFinished(() => monitoring.close());
  const monitor = { check_type: 'HTTP', target: 'https://a.example', status: 'UP' };
  const changed = ['a', 'b', 'c'].map((id) => ({
    monitor: { ...monitor, id, name: id, interval_seconds: 60 },
    sinceChange: 0,
  }));
  const around = { monitoring, signal: new AbortController().signal, log };
  const quota = createRequestQuota({ nowMs: Date.now });
  const first = await askMissed(changed, { ...around, quota, waitMs: 200 });
  expect(first.missed.map((one) => one.monitor.id)).toEqual(['a']);
  expect([...first.later]).toEqual(['b', 'c']);
  expect(requests).toHaveLength(1);
  const second = await askMissed(changed.slice(1), { ...around, quota });
  expect(second.missed.map((one) => one.monitor.id)).toEqual(['b', 'c']);
  expect(second.later.size).toBe(0);
});
