import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeInvalid } from '../../bot/incidents/invalid-monitors.ts';
import { overallOf, sortByUrgency } from '../../bot/incidents/monitor-order.ts';
import type { InvalidMonitor, MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { StatusDays, StatusMonitor, StatusPlanned, StatusReport } from './api-types.ts';
import type { KnownDays } from './days.ts';
import type { KnownMaintenance } from './maintenance.ts';
import { isUnchanged, statusMonitor } from './report.ts';

/** Without an answer for so long, the state of all monitors is unknown. */
const UNKNOWN_AFTER_MS = 60_000;

/** A request waits so long for a poll if there are older monitors to show. */
const WAIT_MS = 3_000;

/** Times of checks are sent so often if nothing else changes. */
const FRESHEN_MS = 60_000;

/** The state of the monitors. An unchanged monitor is the same object in the next snapshot. */
export interface StatusSnapshot {
  /** The last poll, Unix milliseconds. */
  atMs: number;
  overall: StatusReport['overall'];
  /** A problem with the list: `shown` for anyone, `why` for members. */
  notice: { shown?: string; why: string } | undefined;
  /** Unchanged maintenance is the same object. */
  maintenance: StatusPlanned | undefined;
  /** In the order of the page. */
  monitors: readonly StatusMonitor[];
  intervalSeconds(monitor: string): number | undefined;
}

interface StatusPollerOptions {
  monitoring: () => MonitoringClient;
  days: KnownDays;
  maintenance: KnownMaintenance;
  pollMs: number;
  log: Logger;
}

/**
 * Polls the monitoring service, one poll at a time, only while someone wants to know:
 * - idle: no poll and no timer. `current` with an old snapshot or the first follower starts a poll.
 * - polling: all callers share the poll. Afterwards the poller waits if it has followers, else it is idle.
 * - waiting: the timer starts the next poll. The last follower to leave makes it idle.
 * `close` ends all of it.
 */
export class StatusPoller {
  private readonly options: StatusPollerOptions;
  private readonly closing = new AbortController();
  private readonly followers = new Set<(snapshot: StatusSnapshot) => void>();
  private snapshot: StatusSnapshot = NOTHING;
  private polling: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private refreshing: Promise<void> | undefined;
  private hasReadDays = false;

  private listed: readonly Monitor[] = [];
  private invalid: readonly InvalidMonitor[] = [];
  private lastGoodMs = Number.NEGATIVE_INFINITY;
  private failure: string | undefined;
  /** Monitors as in the last snapshot. */
  private shown = new Map<string, { monitor: StatusMonitor; days: StatusDays | undefined }>();
  private freshenedMs = 0;

  constructor(options: StatusPollerOptions) {
    this.options = options;
  }

  /** Resolves to the snapshot, after a poll if it is older than `pollMs`. */
  async current(): Promise<StatusSnapshot> {
    const isFresh = Date.now() - this.snapshot.atMs < this.options.pollMs;
    if (this.polling === undefined && isFresh) return this.snapshot;
    const polling = this.poll();
    if (this.snapshot.monitors.length === 0) await polling;
    else await atMost(WAIT_MS, polling);
    // The first visitors wait a moment for the bars.
    if (!this.hasReadDays && this.refreshing) await atMost(WAIT_MS, this.refreshing);
    return this.snapshot;
  }

  /** Keeps polling and calls `onSnapshot` after each poll, until the returned function is called. */
  follow(onSnapshot: (snapshot: StatusSnapshot) => void): () => void {
    this.followers.add(onSnapshot);
    if (this.followers.size === 1) void this.poll();
    return () => {
      this.followers.delete(onSnapshot);
      if (this.followers.size === 0) clearTimeout(this.timer);
    };
  }

  /** Polls now if someone follows. */
  pollSoon(): void {
    if (this.followers.size > 0) void this.poll();
  }

  async close(): Promise<void> {
    this.closing.abort();
    clearTimeout(this.timer);
    this.followers.clear();
    await this.polling;
    await this.refreshing;
  }

  private poll(): Promise<void> {
    this.polling ??= this.readList().finally(() => {
      this.polling = undefined;
      if (this.followers.size === 0 || this.closing.signal.aborted) return;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.poll(), this.options.pollMs).unref();
    });
    return this.polling;
  }

  private async readList() {
    const { signal } = this.closing;
    try {
      const invalid: InvalidMonitor[] = [];
      const onInvalid = (row: InvalidMonitor) => invalid.push(row);
      this.listed = await this.options.monitoring().list({ signal, onInvalid });
      this.invalid = invalid;
      this.lastGoodMs = Date.now();
      this.failure = undefined;
    } catch (error) {
      if (signal.aborted) return;
      this.failure = error instanceof Error ? error.message : String(error);
      this.options.log.debug(
        { err: error },
        'could not poll the monitoring service for the status page',
      );
    }
    this.publish();
    if (this.failure === undefined) this.refreshing ??= this.refresh();
  }

  /** Runs beside the polls, because the days of ten thousand monitors take many requests. */
  private async refresh() {
    const { maintenance, days } = this.options;
    if (await maintenance.refresh(this.closing.signal)) this.publish();
    if (await days.refresh(this.closing.signal)) this.publish();
    this.hasReadDays = true;
    this.refreshing = undefined;
  }

  private publish() {
    const now = Date.now();
    const monitors = sortByUrgency(this.monitorsAt(now));
    const intervals = new Map(this.listed.map((one) => [one.id, one.interval_seconds]));
    this.snapshot = {
      atMs: now,
      overall: now - this.lastGoodMs >= UNKNOWN_AFTER_MS ? 'unknown' : overallOf(monitors),
      notice: this.notice(),
      maintenance: this.options.maintenance.at(now),
      monitors,
      intervalSeconds: (id) => intervals.get(id),
    };
    for (const onSnapshot of this.followers) onSnapshot(this.snapshot);
  }

  private monitorsAt(now: number): StatusMonitor[] {
    const isTimeToFreshen = now - this.freshenedMs >= FRESHEN_MS;
    if (isTimeToFreshen) this.freshenedMs = now;
    const before = this.shown;
    this.shown = new Map();
    return this.listed.map((listed) => {
      const known = before.get(listed.id);
      const days = this.options.days.of(listed.id);
      const next = statusMonitor(listed, days);
      const isSame =
        known && known.days === days && isUnchanged(known.monitor, next, isTimeToFreshen);
      const monitor = isSame ? known.monitor : next;
      this.shown.set(listed.id, { monitor, days });
      return monitor;
    });
  }

  private notice(): StatusSnapshot['notice'] {
    if (this.failure !== undefined) {
      const shown = Number.isFinite(this.lastGoodMs)
        ? `The monitoring service isn't responding. This is what it reported at ${new Date(this.lastGoodMs).toISOString()}.`
        : "The monitoring service isn't responding, so there is nothing to show yet.";
      return { shown, why: `${shown} ${this.failure}` };
    }
    if (this.invalid.length === 0) return undefined;
    // Only members can do something about it.
    return {
      why: `The monitoring service returned monitors that don't match its contract. The readable ones are shown. ${describeInvalid(this.invalid)}.`,
    };
  }
}

const NOTHING: StatusSnapshot = {
  atMs: 0,
  overall: 'unknown',
  notice: undefined,
  maintenance: undefined,
  monitors: [],
  intervalSeconds: () => undefined,
};

const atMost = (ms: number, work: Promise<void>) =>
  Promise.race([work, pause(ms, undefined, { ref: false })]);
