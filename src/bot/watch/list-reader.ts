import type { Logger } from 'pino';
import { ContractError, StatusError } from '../../clients/errors.ts';
import type { InvalidMonitor, MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';

/** Interval of whole lists while changes are read, in case one was missed, and until another try. */
const LIST_EVERY_MS = 600_000;
const LIST_AGAIN_MS = 60_000;

/**
 * Good lists in a row that are required after one lost monitors that nobody removed. Until then every poll reads the
 * whole list, or one bad list would count several times.
 */
const LISTS_AFTER_LOSS = 2;

interface HeldList {
  byId: Map<string, Monitor>;
  /** Stays the same array until something changes. */
  listed: readonly Monitor[];
  cursor: string;
}

interface ListReading {
  /** Stays the same array until something changes, if the service reports changes. */
  listed: readonly Monitor[];
  invalid: readonly InvalidMonitor[];
}

/**
 * Reads the monitors of a service. A service that reports changes (its list has a cursor) is asked for these, and for
 * the whole list at the start, after a reset, and every 10 minutes in the background. Any other service is asked for
 * its list each time.
 */
export function createListReader(options: {
  monitoring: Pick<MonitoringClient, 'list' | 'changes'>;
  nowMs: () => number;
  log: Logger;
}) {
  const { monitoring, nowMs, log } = options;
  let held: HeldList | undefined;
  /** Read in the background. Its cursor may be older, so it counts once its changes are read too. */
  let fresh: HeldList | undefined;
  let listing: Promise<void> | undefined;
  let last: ReadonlyMap<string, Monitor> | undefined;
  let listsToRead = 0;
  let listDueMs = 0;
  let changesFromMs = 0;

  /** A time further away was set before the clock was set back. */
  const isOver = (ms: number) => nowMs() >= ms || ms - nowMs() > LIST_EVERY_MS;

  async function readList(
    signal: AbortSignal,
  ): Promise<ListReading & { held: HeldList | undefined }> {
    const invalid: InvalidMonitor[] = [];
    let cursor: string | undefined;
    const listed = await monitoring.list({
      signal,
      onInvalid: (row) => invalid.push(row),
      onCursor(given) {
        cursor = given;
      },
    });
    listDueMs = nowMs() + LIST_EVERY_MS;
    // Lists with invalid rows are read again each time.
    if (cursor === undefined || invalid.length > 0) return { listed, invalid, held: undefined };
    const byId = new Map(listed.map((monitor) => [monitor.id, monitor]));
    return { listed, invalid, held: { byId, listed, cursor } };
  }

  /** A failure doesn't fail the poll. */
  async function listInBackground(signal: AbortSignal) {
    try {
      fresh = (await readList(signal)).held;
    } catch (error) {
      listDueMs = nowMs() + LIST_AGAIN_MS;
      if (!signal.aborted)
        log.warn({ err: error }, 'could not read the whole list of monitors; retrying');
    }
  }

  async function readChanges({ byId, listed, cursor }: HeldList, signal: AbortSignal) {
    const changes = await monitoring.changes(cursor, { signal });
    for (const id of changes.removed) byId.delete(id);
    for (const monitor of changes.monitors) byId.set(monitor.id, monitor);
    const isSame = changes.removed.length === 0 && changes.monitors.length === 0;
    const now = isSame ? listed : [...byId.values()];
    return { held: { byId, listed: now, cursor: changes.cursor }, removed: changes.removed };
  }

  /** `undefined` if the whole list must be read. */
  async function followChanges(from: HeldList, signal: AbortSignal): Promise<HeldList | undefined> {
    try {
      const { held: now, removed } = await readChanges(from, signal);
      if (!hasLost(last, now.byId, new Set(removed))) return now;
      listsToRead = LISTS_AFTER_LOSS;
    } catch (error) {
      if (!lacksChanges(error)) throw error;
      if (!isReset(error)) {
        changesFromMs = nowMs() + LIST_EVERY_MS;
        log.warn(
          { err: error },
          'could not read the changes of the monitor list; reading the whole list for 10 minutes',
        );
      }
    }
    return undefined;
  }

  async function readWhole(signal: AbortSignal): Promise<ListReading> {
    const { listed, invalid, held: now } = await readList(signal);
    if (hasLost(last, now?.byId)) listsToRead = LISTS_AFTER_LOSS;
    else if (listsToRead > 0) listsToRead -= 1;
    held = listsToRead === 0 ? now : undefined;
    last = now?.byId;
    return { listed, invalid };
  }

  return {
    /** Throws if the service can't be read. That says nothing about any monitor. */
    async read(signal: AbortSignal): Promise<ListReading> {
      held = fresh ?? held;
      fresh = undefined;
      if (held === undefined || !isOver(changesFromMs)) return await readWhole(signal);
      if (isOver(listDueMs)) {
        listing ??= listInBackground(signal).finally(() => {
          listing = undefined;
        });
      }
      held = await followChanges(held, signal);
      if (held === undefined) return await readWhole(signal);
      last = held.byId;
      return { listed: held.listed, invalid: [] };
    },
    /** Resolves when no list is being read in the background. */
    idle: async () => await listing,
  };
}

/** Monitors are missing that nobody removed. */
function hasLost(
  before: ReadonlyMap<string, Monitor> | undefined,
  after: ReadonlyMap<string, Monitor> | undefined,
  removed: ReadonlySet<string> = new Set(),
): boolean {
  if (!before || !after || before === after) return false;
  for (const id of before.keys()) if (!after.has(id) && !removed.has(id)) return true;
  return false;
}

/** The cursor is too old, so the list comes first. */
const isReset = (error: unknown) => error instanceof StatusError && error.status === 410;

/** Refusals of the key, or for now, not of the route. */
const PASSING = new Set([401, 403, 408, 429]);

/** The service no longer reports changes, so its list is read instead. */
function lacksChanges(error: unknown): boolean {
  if (error instanceof ContractError) return true;
  if (!(error instanceof StatusError)) return false;
  return error.status === 501 || (error.status < 500 && !PASSING.has(error.status));
}
