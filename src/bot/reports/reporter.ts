import type { Logger } from 'pino';
import { StatusError } from '../../clients/errors.ts';
import type { Channels } from '../channels/channels.ts';
import { newDelivery } from '../incidents/incidents.ts';
import type { Report, Watching, WatchState } from '../incidents/watch-state.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { placeKey } from '../shared/place.ts';
import type { ReportRound, Reports } from './reports.ts';
import { type DueReport, dueReport, nextDueMs } from './schedule.ts';

/** How soon it is noticed that a channel has another schedule, or that the clock was set. */
const MAX_PAUSE_MS = 10_000;

/** Until the first poll nothing is known that a report could be kept with. */
const UNKNOWN_PAUSE_MS = 1_000;

/** Reports that are made at one time: a model may take its time for each. */
const TOGETHER_COUNT = 4;

/** Longest wait the service may ask for. */
const MAX_WAIT_MS = 600_000;

type Scheduled = Awaited<ReturnType<Channels['schedules']>>[number];

/**
 * Makes each report when it is due, once: it is stored with what is to be told, in one step with the note that it is made,
 * and the sender brings it to its place as it does with alerts. What a kill comes before is made anew at the next start, if
 * that is within a day. A service that does not answer is asked again; until then there is no report.
 */
export function createReporter(options: {
  state: Pick<WatchState, 'current' | 'update'>;
  channels: Pick<Channels, 'schedules' | 'settingsOf'>;
  reports: Pick<Reports, 'round'>;
  clock: Clock;
  random: () => number;
  /** Called when there is something to tell, with everything stored. */
  onChange: () => void;
  log: Logger;
}) {
  const { state, channels, reports, clock, random, onChange, log } = options;
  const stopping = new AbortController();
  /** By place, with the report that could not be made. */
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

  /** Makes all that is due; gives how long there is nothing more to do. */
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

  /** What is due in a place and neither made nor put off. */
  function dueFor({ place, schedule }: Scheduled): DueReport | undefined {
    const nowMs = clock.nowMs();
    const due = dueReport(schedule, nowMs);
    const key = placeKey(place);
    if (!due || isMade(state.current(), key, due.dueMs)) {
      failed.delete(key);
      return undefined;
    }
    const before = failed.get(key);
    // A longer wait than was ever set means that the clock was set back.
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
      // Whoever turned it off meanwhile wants none.
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
    /** Ends what is being made, which is made anew later. */
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
 * The document with a report to be told, in place of the one before of its channel, also where that did not reach it: by now it
 * is a period old. The same document where it is made already. Pure.
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
    ...{ kind: 'report', id: `${id}@${place}`, version: 1, openedAtMs: nowMs },
    ...{ place, dueMs, card },
    deliveries: [newDelivery(place, id)],
  };
  return { ...watching, alerts: [...watching.alerts.filter((one) => one !== before), made] };
}
