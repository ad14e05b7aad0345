import type { Logger } from 'pino';
import { ContractError, StatusError } from '../../clients/errors.ts';
import type { InvalidMonitor, MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';

/** How often all of the list is read where changes are told, in case something was not, and how soon after that failed. */
const LIST_EVERY_MS = 600_000;
const LIST_AGAIN_MS = 60_000;

/**
 * Lists in a row that are to hold all of the one before, after one that lacks monitors of which nobody said that they are removed:
 * as many as a list is not believed for. Until then each poll reads a list, or one bad list would count as many.
 */
const LISTS_AFTER_LOSS = 2;

/** A list, and from where on its changes are told. */
interface Held {
  byId: Map<string, Monitor>;
  /** The same array for as long as nothing changes. */
  listed: readonly Monitor[];
  cursor: string;
}

/** What the service lists now. */
interface Reading {
  /** The same array for as long as nothing changes, where the service tells changes. */
  listed: readonly Monitor[];
  invalid: readonly InvalidMonitor[];
}

/**
 * Reads the list of a monitoring service again and again. A service that tells changes (the cursor that comes with its list says
 * so) is asked for those, and for all of the list at the start, when it cannot tell what changed, and every 10 minutes in the
 * background. One of the contract alone is asked for its list each time, and for nothing else.
 */
export function createListReader(options: {
  monitoring: Pick<MonitoringClient, 'list' | 'changes'>;
  nowMs: () => number;
  log: Logger;
}) {
  const { monitoring, nowMs, log } = options;
  let held: Held | undefined;
  /** Read in the background. What changed since its cursor may be older than what is held: it counts once that is read, too. */
  let fresh: Held | undefined;
  let listing: Promise<void> | undefined;
  /** What was read last. */
  let last: ReadonlyMap<string, Monitor> | undefined;
  let listsToRead = 0;
  let listDueMs = 0;
  let changesFromMs = 0;

  /** A time that is further away than any was set: the clock was set back. */
  const isOver = (ms: number) => nowMs() >= ms || ms - nowMs() > LIST_EVERY_MS;

  async function readList(signal: AbortSignal): Promise<Reading & { held: Held | undefined }> {
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
    // Rows that cannot be read are looked for in each list.
    if (cursor === undefined || invalid.length > 0) return { listed, invalid, held: undefined };
    const byId = new Map(listed.map((monitor) => [monitor.id, monitor]));
    return { listed, invalid, held: { byId, listed, cursor } };
  }

  /** What is wrong with it is no matter of the poll, which goes on with changes. */
  async function listInBackground(signal: AbortSignal) {
    try {
      fresh = (await readList(signal)).held;
    } catch (error) {
      listDueMs = nowMs() + LIST_AGAIN_MS;
      if (!signal.aborted)
        log.warn({ err: error }, 'could not read the whole list of monitors; retrying');
    }
  }

  async function readChanges({ byId, listed, cursor }: Held, signal: AbortSignal) {
    const changes = await monitoring.changes(cursor, { signal });
    for (const id of changes.removed) byId.delete(id);
    for (const monitor of changes.monitors) byId.set(monitor.id, monitor);
    const isSame = changes.removed.length === 0 && changes.monitors.length === 0;
    const now = isSame ? listed : [...byId.values()];
    return { held: { byId, listed: now, cursor: changes.cursor }, removed: changes.removed };
  }

  /** What is held with what changed since; `undefined` where the list is to be read. */
  async function readOn(from: Held, signal: AbortSignal): Promise<Held | undefined> {
    try {
      const { held: now, removed } = await readChanges(from, signal);
      if (!hasLost(last, now.byId, new Set(removed))) return now;
      listsToRead = LISTS_AFTER_LOSS;
    } catch (error) {
      if (!saysNothing(error)) throw error;
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

  async function readWhole(signal: AbortSignal): Promise<Reading> {
    const { listed, invalid, held: now } = await readList(signal);
    if (hasLost(last, now?.byId)) listsToRead = LISTS_AFTER_LOSS;
    else if (listsToRead > 0) listsToRead -= 1;
    held = listsToRead === 0 ? now : undefined;
    last = now?.byId;
    return { listed, invalid };
  }

  return {
    /** Throws where the service cannot be asked, which says nothing about any monitor. */
    async read(signal: AbortSignal): Promise<Reading> {
      held = fresh ?? held;
      fresh = undefined;
      if (held === undefined || !isOver(changesFromMs)) return await readWhole(signal);
      if (isOver(listDueMs)) {
        listing ??= listInBackground(signal).finally(() => {
          listing = undefined;
        });
      }
      held = await readOn(held, signal);
      if (held === undefined) return await readWhole(signal);
      last = held.byId;
      return { listed: held.listed, invalid: [] };
    },
    /** Resolves when no list is read in the background. */
    idle: async () => await listing,
  };
}

/** Whether something that was read last is missing, and nobody has said that it is removed. */
function hasLost(
  before: ReadonlyMap<string, Monitor> | undefined,
  after: ReadonlyMap<string, Monitor> | undefined,
  removed: ReadonlySet<string> = new Set(),
): boolean {
  if (!before || !after || before === after) return false;
  for (const id of before.keys()) if (!after.has(id) && !removed.has(id)) return true;
  return false;
}

/** The list is to be read, and then changes are told again. */
const isReset = (error: unknown) => error instanceof StatusError && error.status === 410;

/** Refusals that are none of the route: of the key, or for now. */
const PASSING = new Set([401, 403, 408, 429]);

/** Whether a service does not tell changes after all, while its list may be read: it is another one by now. */
function saysNothing(error: unknown): boolean {
  if (error instanceof ContractError) return true;
  if (!(error instanceof StatusError)) return false;
  return error.status === 501 || (error.status < 500 && !PASSING.has(error.status));
}
