import type { Logger } from 'pino';
import { beginTurn, yieldToEventLoop } from '../../contracts/event-loop.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import type { Journal, Store } from '../../store/store.ts';
import type { Watching } from '../incidents/watch-state.ts';
import { lengthOf, readChain, UpdatePart } from './journal-replay.ts';
import { NOTHING, type Step, stepsBetween } from './state-patch.ts';

/** Characters of steps in a part: some milliseconds of work, and far below what a record of a journal takes. */
const PART_LENGTH = 64 * 1024;

/** Characters of steps after a whole state until the next one is written, if that was not longer. */
const COMPACT_AFTER_LENGTH = 4 * 1024 * 1024;

/** What the watch knows, on the disk; an update costs what it changes. */
export interface WatchJournal {
  /** Resolves once it is durable. One call at a time, each with what the last good one stored. */
  write(before: Watching | undefined, after: Watching): Promise<void>;
  /** Writes all of it anew: then nothing of what was written before is left, or soon, when the disk refuses to remove it. */
  rewrite(after: Watching): Promise<void>;
}

/**
 * Opens the journals `watching-a` and `-b`. Updates are appended to one of them, each naming the one that it changes; when
 * it has grown, the next goes to the other one, as a whole state, and the first is cleared. What a kill or a full disk
 * leaves in either is no part of the chain that leads to the last update. Throws `CorruptDocumentError` when that has a gap
 * or a record cannot be read, since all later ones stand on it.
 */
export async function openWatchJournal(options: {
  store: Store;
  log: Logger;
  compactAfterLength?: number;
  partLength?: number;
}): Promise<{ journal: WatchJournal; last: Watching | undefined }> {
  const { store, log } = options;
  const { compactAfterLength = COMPACT_AFTER_LENGTH, partLength = PART_LENGTH } = options;
  const [first, second] = ['watching-a', 'watching-b'].map((name) =>
    store.journal({ name, schema: UpdatePart, whenUnreadable: 'refuse' }),
  ) as [Journal<UpdatePart>, Journal<UpdatePart>];
  const { last: stored, tip, length, ...found } = await readChain([first, second]);
  const last = stored && withoutSecrets(stored);
  let { lastNumber } = found;
  /** Updates that lead to the last, or what a kill before it was cleared or a refused write left there, which nobody needs. */
  let inSpare: 'needed' | 'left over' | 'nothing' = found.isInOneJournal ? 'left over' : 'needed';
  let tipNumber = tip?.number;
  let [active, spare] = tip?.journal === second ? [second, first] : [first, second];
  let wholeLength = length.first;
  // What an older version stored of the secrets of targets is gone with the next update, which is written anew.
  let grownLength = last === stored ? length.others : Number.POSITIVE_INFINITY;

  /** Gives the length of what it wrote. */
  async function append(
    journal: Journal<UpdatePart>,
    before: Watching | undefined,
    { known, alerts, downs, closed, ...rest }: Watching,
  ): Promise<number> {
    // What is to be written was made in this turn of the loop.
    await yieldToEventLoop();
    lastNumber += 1;
    const number = lastNumber;
    const after = { known, alerts, downs, closed };
    const { parts, length } = await partsOf(stepsBetween(before ?? NOTHING, after), partLength);
    const outcomes: Array<Promise<{ error: unknown } | undefined>> = [];
    for (const [part, steps] of parts.entries()) {
      if (part > 0) await yieldToEventLoop();
      const record: UpdatePart = {
        atMs: Date.now(),
        number,
        part,
        parts: parts.length,
        rest,
        steps,
        ...(before && tipNumber !== undefined && { after: tipNumber }),
      };
      const outcome = journal.append(record);
      // Looked at when all are written: until then a failure must not count as one that nobody hears.
      outcomes.push(
        outcome.then(
          () => undefined,
          (error: unknown) => ({ error }),
        ),
      );
    }
    const failure = (await Promise.all(outcomes)).find((outcome) => outcome !== undefined);
    if (failure) throw failure.error;
    tipNumber = number;
    return length;
  }

  /** Writes it to the other journal, and goes on from there. */
  async function rewrite(after: Watching): Promise<void> {
    // Counted anew also when it fails, so that a full disk is not tried with a whole state each time.
    grownLength = 0;
    if (inSpare === 'nothing') inSpare = 'left over';
    wholeLength = await append(spare, undefined, after);
    [active, spare] = [spare, active];
    inSpare = 'left over';
    await clearSpare();
  }

  /** Whether it could be. */
  async function compact(after: Watching): Promise<boolean> {
    try {
      await rewrite(after);
      return true;
    } catch (error) {
      log.error(
        { err: error },
        'the journal of the watch cannot be made smaller; tried again later',
      );
      return false;
    }
  }

  async function clearSpare(): Promise<void> {
    if (inSpare !== 'left over') return;
    try {
      await spare.clear();
      inSpare = 'nothing';
    } catch (error) {
      log.error({ err: error }, 'an old journal of the watch cannot be removed; tried again later');
    }
  }

  await clearSpare();

  return {
    last: frozen(last),
    journal: {
      async write(before, after) {
        if (before && grownLength > Math.max(compactAfterLength, wholeLength)) {
          if (await compact(after)) return;
        }
        grownLength += await append(active, before, after);
        await clearSpare();
      },
      rewrite,
    },
  };
}

/** The same where no target holds a secret. */
function withoutSecrets(watching: Watching): Watching {
  let isSame = true;
  const alerts = watching.alerts.map((alert) => {
    if (alert.kind !== 'incident') return alert;
    const target = maskedTarget(alert.target);
    if (target === alert.target) return alert;
    isSame = false;
    return { ...alert, target };
  });
  return isSame ? watching : { ...watching, alerts };
}

/** Who alters what is stored gets a TypeError, instead of a change that is lost or half stored. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}

/** Steps in parts of a bearable length, one at least. */
async function partsOf(
  steps: Iterable<Step>,
  maxLength: number,
): Promise<{ parts: Step[][]; length: number }> {
  let part: Step[] = [];
  const parts = [part];
  let ownLength = 0;
  let length = 0;
  const turn = beginTurn();
  for (const step of steps) {
    if (turn.isOver()) await turn.next();
    const own = lengthOf(step);
    length += own;
    if (part.length > 0 && ownLength + own > maxLength) {
      part = [];
      parts.push(part);
      ownLength = 0;
    }
    part.push(frozen(step));
    ownLength += own;
  }
  return { parts, length };
}
