import type { Logger } from 'pino';
import { StatusError } from '../../clients/errors.ts';
import type { Channels } from '../channels/channels.ts';
import { newDelivery } from '../incidents/incidents.ts';
import type { Report, Watching, WatchState } from '../incidents/watch-state.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { placeKey } from '../shared/place.ts';
import type { ReportRound, Reports } from './reports.ts';
import { type DueReport, dueReport, nextDueMs } from './schedule.ts';

/** A new schedule or a change of the clock is noticed after this. */
const MAX_PAUSE_MS = 10_000;

/** Before the first poll there is no watch state to store a report in. */
const UNKNOWN_PAUSE_MS = 1_000;

/** Reports created at a time: each may wait for a model. */
const TOGETHER_COUNT = 4;

/** Maximum of a `Retry-After`. */
const MAX_WAIT_MS = 600_000;

type Scheduled = Awaited<ReturnType<Channels['schedules']>>[number];

/**
 * Creates each report once, when it is due. Storing it is one step with the record that it was created; the sender delivers it
 * like an alert. A report that a kill prevented is created at the next start, if that is within a day. If the service doesn't
 * answer, the reporter retries.
 */
export function createReporter(options: {
  state: Pick<WatchState, 'current' | 'update'>;
  channels: Pick<Channels, 'schedules' | 'settingsOf'>;
  reports: Pick<Reports, 'round'>;
  clock: Clock;
  random: () => number;
  /** Called after a report is stored. */
  onChange: () => void;
  log: Logger;
}) {
  const { state, channels, reports, clock, random, onChange, log } = options;
  const stopping = new AbortController();
  /** By place. */
  const failed = new Map<string, { dueMs: number; failures: number; nextTryAtMs: number }>();
  let running: Promise<void> | undefined;

  async function run() {
    let failures = 0;
    while (!stopping.signal.aborted) {
      let waitMs: number;
      try {
        waitMs = await makeDue();
        failures = 0;
      } catch (error) {
        failures += 1;
        log.error({ err: error }, 'could not read which reports are due; retrying');
        waitMs = backoffMs(failures, random);
      }
      await clock.pause(waitMs, stopping.signal);
    }
  }

  /** Creates the due reports; resolves to the time until the next one. */
  async function makeDue(): Promise<number> {
    if (!state.current()) return UNKNOWN_PAUSE_MS;
    const schedules = await channels.schedules();
    const kept = new Set(schedules.map(({ place }) => placeKey(place)));
    for (const key of failed.keys()) if (!kept.has(key)) failed.delete(key);
    const due = schedules.flatMap((scheduled) => {
      const found = dueFor(scheduled);
      return found ? [{ ...scheduled, ...found }] : [];
    });
    const round = reports.round();
    const waiting = due.values();
    const makeNext = async () => {
      for (const one of waiting) {
        if (stopping.signal.aborted) return;
        await make(one, round);
      }
    };
    await Promise.all(Array.from({ length: TOGETHER_COUNT }, makeNext));
    const nowMs = clock.nowMs();
    const nextMs = [
      ...schedules.map(({ schedule }) => nextDueMs(schedule, nowMs)),
      ...[...failed.values()].map(({ nextTryAtMs }) => nextTryAtMs),
    ];
    return Math.max(1, Math.min(MAX_PAUSE_MS, ...nextMs.map((ms) => ms - nowMs)));
  }

  /** The due report of a place, unless it is created already or waits for a retry. */
  function dueFor({ place, schedule }: Scheduled): DueReport | undefined {
    const nowMs = clock.nowMs();
    const due = dueReport(schedule, nowMs);
    const key = placeKey(place);
    if (!due || isMade(state.current(), key, due.dueMs)) {
      failed.delete(key);
      return undefined;
    }
    const before = failed.get(key);
    // A longer wait than the maximum means that the clock was set back.
    const isPutOff =
      before?.dueMs === due.dueMs &&
      before.nextTryAtMs > nowMs &&
      before.nextTryAtMs - nowMs <= MAX_WAIT_MS;
    return isPutOff ? undefined : due;
  }

  async function make({ place, schedule, dueMs, span }: Scheduled & DueReport, round: ReportRound) {
    const key = placeKey(place);
    try {
      const card = await round.of(place, span, stopping.signal);
      // It may have been turned off in the meantime.
      const { report } = await channels.settingsOf(key);
      if (JSON.stringify(report) !== JSON.stringify(schedule)) return;
      const nowMs = clock.nowMs();
      await state.update((watching) => withReport(watching, { place: key, dueMs, card, nowMs }));
      failed.delete(key);
      onChange();
    } catch (error) {
      if (stopping.signal.aborted) return;
      const before = failed.get(key);
      const failures = before?.dueMs === dueMs ? before.failures + 1 : 1;
      if (failures === 1)
        log.warn({ err: error, place: key }, 'could not create a report yet; retrying');
      const askedMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
      const waitMs = Math.min(MAX_WAIT_MS, Math.max(askedMs, backoffMs(failures, random)));
      failed.set(key, { dueMs, failures, nextTryAtMs: clock.nowMs() + waitMs });
    }
  }

  return {
    start() {
      running ??= run();
    },
    /** Aborts reports that are being created; the next start creates them. */
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

const reportOf = (watching: Watching | undefined, place: string) =>
  watching?.alerts.find(
    (alert): alert is Report => alert.kind === 'report' && alert.place === place,
  );

const isMade = (watching: Watching | undefined, place: string, dueMs: number) =>
  (reportOf(watching, place)?.dueMs ?? Number.NEGATIVE_INFINITY) >= dueMs;

/**
 * Adds a report and removes the previous one of its channel, even an undelivered one: that is a whole period old. Unchanged
 * if the report is there already. Pure.
 */
export function withReport(
  watching: Watching | undefined,
  report: Pick<Report, 'place' | 'dueMs' | 'card'> & { nowMs: number },
): Watching | undefined {
  const { place, dueMs, card, nowMs } = report;
  if (!watching || isMade(watching, place, dueMs)) return watching;
  const before = reportOf(watching, place);
  const id = `report:${dueMs}`;
  const made: Report = {
    kind: 'report',
    id: `${id}@${place}`,
    version: 1,
    openedAtMs: nowMs,
    place,
    dueMs,
    card,
    deliveries: [newDelivery(place, id)],
  };
  return { ...watching, alerts: [...watching.alerts.filter((one) => one !== before), made] };
}
