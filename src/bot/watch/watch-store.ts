import type { Logger } from 'pino';
import type { Store } from '../../store/store.ts';
import type { Watching, WatchState } from '../incidents/watch-state.ts';
import { openWatchJournal } from './watch-journal.ts';

type Change = Parameters<WatchState['update']>[0];

interface Update {
  erases: boolean;
  change: Change;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Opens what the watch knows; throws `CorruptDocumentError` when it is there and cannot be trusted. */
export async function openWatchState(
  store: Store,
  log: Logger,
  options: { compactAfterLength?: number; partLength?: number } = {},
): Promise<WatchState> {
  const journal = await openWatchJournal({ store, log, ...options });
  let current = journal.last;
  let waiting: Update[] = [];
  let isWriting = false;

  /** Makes the changes that have come with one write. */
  async function writeTogether(updates: readonly Update[]) {
    const before = current;
    let next = before;
    let erases = false;
    const made: Array<{ update: Update; result: Watching | undefined }> = [];
    for (const update of updates) {
      try {
        const now = next;
        next = changed(now, update.change);
        erases ||= update.erases && next !== now;
        made.push({ update, result: next });
      } catch (error) {
        update.reject(error);
      }
    }
    let failure: { error: unknown } | undefined;
    try {
      if (next && next !== before) {
        await (erases ? journal.rewrite(next) : journal.write(before, next));
      }
      current = next;
    } catch (error) {
      failure = { error };
    }
    for (const { update, result } of made) {
      // What left everything as it is on the disk is true, whatever became of the others.
      if (failure && result !== before) update.reject(failure.error);
      else update.resolve();
    }
  }

  async function writeWaiting() {
    isWriting = true;
    // What comes in the same breath is written together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const updates = waiting;
      waiting = [];
      await writeTogether(updates);
    }
    isWriting = false;
  }

  const enqueue = (erases: boolean) => (change: Change) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ erases, change, resolve, reject });
      if (!isWriting) void writeWaiting();
    });

  return {
    current: () => current,
    update: enqueue(false),
    erase: enqueue(true),
  };
}

function changed(now: Watching | undefined, change: Change): Watching | undefined {
  const wanted = change(now);
  if (wanted === now) return now;
  if (!wanted) throw new Error('What the watch knows can be changed, not removed.');
  return frozen(wanted, now);
}

/** The lists; what they hold is frozen while it is written, piece by piece. */
function frozen(watching: Watching, before: Watching | undefined): Watching {
  for (const [at, alert] of watching.alerts.entries()) {
    // Of what stays in its place, nothing is read: there may be ten thousand.
    if (alert !== before?.alerts[at] && alert.kind === 'group') {
      Object.freeze(alert.members);
      Object.freeze(alert);
    }
  }
  Object.freeze(watching.known);
  Object.freeze(watching.alerts);
  Object.freeze(watching.downs);
  Object.freeze(watching.closed);
  return Object.freeze(watching);
}
