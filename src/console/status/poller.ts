import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeInvalid } from '../../bot/incidents/invalid-monitors.ts';
import type { InvalidMonitor, MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { StatusDays, StatusMonitor, StatusPlanned, StatusReport } from './api-types.ts';
import type { KnownDays } from './days.ts';
import type { KnownMaintenance } from './maintenance.ts';
import { inOrder, isNoNews, overallOf, statusMonitor } from './report.ts';

/** After so long without an answer nobody can say how the monitors are. */
const UNKNOWN_AFTER_MS = 60_000;

/** How long a request waits for a poll when there is something older to show. */
const WAIT_MS = 3_000;

/** How often times of checks and of answers are sent when nothing else is new. */
const FRESHEN_MS = 60_000;

/** What is known of the monitors. A new one is a new object; a monitor that has not changed is the same as before. */
export interface StatusSnapshot {
  /** When the service was last asked, Unix milliseconds. */
  atMs: number;
  overall: StatusReport['overall'];
  /** Why the list may be out of date, or is invalid: for anyone, and for those who may see it all. */
  notice: { shown?: string; why: string } | undefined;
  /** The same object while there is no news of it. */
  maintenance: StatusPlanned | undefined;
  /** In the order of the page. */
  monitors: readonly StatusMonitor[];
  /** Time between two checks of a monitor, where it is known. */
  intervalSeconds(monitor: string): number | undefined;
}

/** Polls the monitoring service while somebody wants to know. */
export type StatusPoller = ReturnType<typeof createStatusPoller>;

/** One poll at a time, however many want to know; `monitoring` is called at the first. */
export function createStatusPoller(options: {
  monitoring: () => MonitoringClient;
  days: KnownDays;
  maintenance: KnownMaintenance;
  pollMs: number;
  log: Logger;
}) {
  const { monitoring, days, maintenance, pollMs, log } = options;
  const closing = new AbortController();
  const followers = new Set<(snapshot: StatusSnapshot) => void>();
  let listed: readonly Monitor[] = [];
  let invalid: readonly InvalidMonitor[] = [];
  let snapshot: StatusSnapshot = { ...NOTHING, atMs: 0 };
  let goodAtMs = Number.NEGATIVE_INFINITY;
  let failure: string | undefined;
  let polling: Promise<void> | undefined;
  let refreshing: Promise<void> | undefined;
  let daysAsked = false;
  let timer: NodeJS.Timeout | undefined;
  /** Monitors as the page shows them, kept as they are while there is no news of them. */
  let shown = new Map<string, { shape: StatusMonitor; days: StatusDays | undefined }>();
  let freshAtMs = 0;

  function shapesAt(now: number): StatusMonitor[] {
    const isTold = now - freshAtMs >= FRESHEN_MS;
    if (isTold) freshAtMs = now;
    const next: typeof shown = new Map();
    const shapes = listed.map((monitor) => {
      const before = shown.get(monitor.id);
      const its = days.of(monitor.id);
      const shape = statusMonitor(monitor, its);
      const isSame = before && before.days === its && isNoNews(before.shape, shape, isTold);
      const kept = isSame ? before : { shape, days: its };
      next.set(monitor.id, kept);
      return kept.shape;
    });
    shown = next;
    return shapes;
  }

  /** Makes the snapshot of what is known, and hands it to the followers. */
  function publish() {
    const now = Date.now();
    const monitors = inOrder(shapesAt(now));
    const intervals = new Map(listed.map((one) => [one.id, one.interval_seconds]));
    const isUnknown = now - goodAtMs >= UNKNOWN_AFTER_MS;
    snapshot = {
      atMs: now,
      overall: isUnknown ? 'unknown' : overallOf(monitors),
      notice: failure === undefined ? invalidNotice(invalid) : failureNotice(failure, goodAtMs),
      maintenance: maintenance.at(now),
      monitors,
      intervalSeconds: (id) => intervals.get(id),
    };
    for (const onSnapshot of followers) onSnapshot(snapshot);
  }

  async function poll() {
    const { signal } = closing;
    try {
      const found: InvalidMonitor[] = [];
      listed = await monitoring().list({ signal, onInvalid: (row) => found.push(row) });
      invalid = found;
      goodAtMs = Date.now();
      failure = undefined;
    } catch (error) {
      if (signal.aborted) return;
      failure = error instanceof Error ? error.message : String(error);
      log.debug({ err: error }, 'could not poll the monitoring service for the status page');
    }
    publish();
    if (failure === undefined) refreshing ??= refreshDays();
  }

  async function refreshDays() {
    if (await maintenance.refresh(closing.signal)) publish();
    // Beside the polls: of ten thousand monitors they take many calls.
    if (await days.refresh(closing.signal)) publish();
    daysAsked = true;
    refreshing = undefined;
  }

  function pollNow(): Promise<void> {
    polling ??= poll().finally(() => {
      polling = undefined;
      if (followers.size === 0 || closing.signal.aborted) return;
      clearTimeout(timer);
      timer = setTimeout(pollNow, pollMs).unref();
    });
    return polling;
  }

  return {
    /** What is known; the service is polled first when the last poll was longer ago than `pollMs`. */
    async current() {
      if (polling === undefined && Date.now() - snapshot.atMs < pollMs) return snapshot;
      const poll = pollNow();
      if (snapshot.monitors.length === 0) await poll;
      else await atMost(WAIT_MS, poll);
      // The first who ask should not see a page without its bars, if they come soon.
      if (!daysAsked && refreshing) await atMost(WAIT_MS, refreshing);
      return snapshot;
    },
    /** Polls one time after another and calls `onSnapshot` with each outcome, until the returned function is called. */
    follow(onSnapshot: (snapshot: StatusSnapshot) => void) {
      followers.add(onSnapshot);
      if (followers.size === 1) void pollNow();
      return () => {
        followers.delete(onSnapshot);
        if (followers.size === 0) clearTimeout(timer);
      };
    },
    /** Ends what is under way. */
    async close() {
      closing.abort();
      clearTimeout(timer);
      followers.clear();
      await polling;
      await refreshing;
    },
  };
}

const NOTHING: Omit<StatusSnapshot, 'atMs'> = {
  overall: 'unknown',
  notice: undefined,
  maintenance: undefined,
  monitors: [],
  intervalSeconds: () => undefined,
};

function failureNotice(failure: string, goodAtMs: number): StatusSnapshot['notice'] {
  const shown = Number.isFinite(goodAtMs)
    ? `The monitoring service isn't responding. This is what it reported at ${new Date(goodAtMs).toISOString()}.`
    : "The monitoring service isn't responding, so there is nothing to show yet.";
  return { shown, why: `${shown} ${failure}` };
}

/** For those who can do something about it. */
function invalidNotice(invalid: readonly InvalidMonitor[]): StatusSnapshot['notice'] {
  if (invalid.length === 0) return undefined;
  return {
    why: `The monitoring service returned monitors that don't match its contract. The readable ones are shown. ${describeInvalid(invalid)}.`,
  };
}

const atMost = (ms: number, work: Promise<void>) =>
  Promise.race([work, pause(ms, undefined, { ref: false })]);
