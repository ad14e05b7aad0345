import type { Logger } from 'pino';
import { z } from 'zod';
import { beginTurn, yieldToEventLoop } from '../../contracts/event-loop.ts';
import { CorruptDocumentError } from '../errors.ts';
import {
  type AskedUpdate,
  frozen,
  makeUpdates,
  queueUpdates,
  type State,
  type StateDeclaration,
} from '../state.ts';
import type { Journal, Store } from '../store.ts';

/** How long what is written may become; tests make it short. */
export interface StateSizes {
  compactAfterLength?: number;
  partLength?: number;
}

/** A part of an update; most updates have one. */
export const UpdatePart = z.object({
  atMs: z.int(),
  /** Counts updates, also those that were refused, or killed in the middle. */
  number: z.int().positive(),
  /** The update that this one changes; absent when it starts from nothing. */
  after: z.int().positive().optional(),
  part: z.int().nonnegative(),
  parts: z.int().positive(),
  rest: z.unknown(),
  steps: z.array(z.unknown()),
});
export type UpdatePart<S = unknown, R = unknown> = Omit<
  z.infer<typeof UpdatePart>,
  'rest' | 'steps'
> & { rest: R; steps: S[] };

/** Characters of steps in a part: some milliseconds of work, and far below what a record of a journal takes. */
export const PART_LENGTH = 64 * 1024;

/** Characters of steps after a whole state until the next one is written, if that was not longer. */
const COMPACT_AFTER_LENGTH = 4 * 1024 * 1024;

/** The two journals of a state. */
export const stateJournals = (name: string) => [`${name}-a`, `${name}-b`] as const;

type Options = StateSizes & { journal: Store['journal']; log: Logger };

/** Opens a state; throws `CorruptDocumentError` when it is there and cannot be trusted. */
export async function openStateInJournals<T, S, R>(
  declaration: StateDeclaration<T, S, R>,
  options: Options,
): Promise<State<T>> {
  const journals = await openJournals(declaration, options);
  let current = journals.last;

  /** Makes the changes that have come with one write. */
  async function writeTogether(updates: ReadonlyArray<AskedUpdate<T>>) {
    const before = current;
    const { next, erases, made } = makeUpdates(declaration, before, updates);
    for (const one of made) if ('error' in one) one.asked.reject(one.error);
    const whole = made.filter((one) => 'result' in one);
    try {
      if (next && next !== before) {
        await (erases ? journals.rewrite(next) : journals.write(before, next));
      }
      current = next;
      for (const { asked } of whole) asked.resolve();
    } catch (error) {
      for (const { asked, result } of whole) {
        // What left everything as it is on the disk is true, whatever became of the others.
        if (result === before) asked.resolve();
        else asked.reject(error);
      }
    }
  }

  return { current: () => current, ...queueUpdates(writeTogether) };
}

/**
 * Opens the journals `<name>-a` and `-b`. Updates are appended to one of them, each naming the one that it changes; when it
 * has grown, the next goes to the other one, as a whole state, and the first is cleared. What a kill or a full disk leaves in
 * either is no part of the chain that leads to the last update. Throws `CorruptDocumentError` when that has a gap or a record
 * cannot be read, since all later ones stand on it.
 */
async function openJournals<T, S, R>(declaration: StateDeclaration<T, S, R>, options: Options) {
  const { name, upgrade = (state) => state, restOf, stepsBetween } = declaration;
  const { compactAfterLength = COMPACT_AFTER_LENGTH, partLength = PART_LENGTH, log } = options;
  type Part = UpdatePart<S, R>;
  const schema: z.ZodType<Part> = UpdatePart.extend({
    rest: declaration.rest,
    steps: z.array(declaration.step),
  }) as z.ZodType<Part>;
  const [first, second] = stateJournals(name).map((each) =>
    options.journal({ name: each, schema, whenUnreadable: 'refuse' }),
  ) as [Journal<Part>, Journal<Part>];
  const { last: stored, tip, length, ...found } = await readChain(declaration, [first, second]);
  const last = stored && upgrade(stored);
  let { lastNumber } = found;
  /** Updates that lead to the last, or what a kill before it was cleared or a refused write left there, which nobody needs. */
  let inSpare: 'needed' | 'left over' | 'nothing' = found.isInOneJournal ? 'left over' : 'needed';
  let tipNumber = tip?.number;
  let [active, spare] = tip?.journal === second ? [second, first] : [first, second];
  let wholeLength = length.first;
  // What an older version stored and this one does not is gone with the next update, which is written anew.
  let grownLength = last === stored ? length.others : Number.POSITIVE_INFINITY;

  /** Gives the length of what it wrote. */
  async function append(journal: Journal<Part>, before: T | undefined, after: T): Promise<number> {
    // What is to be written was made in this turn of the loop.
    await yieldToEventLoop();
    lastNumber += 1;
    const number = lastNumber;
    const rest = restOf(after);
    const { parts, length } = await partsOf(stepsBetween(before, after), partLength);
    const appended: Array<Promise<void>> = [];
    for (const [part, steps] of parts.entries()) {
      if (part > 0) await yieldToEventLoop();
      const record: Part = {
        atMs: Date.now(),
        number,
        part,
        parts: parts.length,
        rest,
        steps,
        ...(before && tipNumber !== undefined && { after: tipNumber }),
      };
      const one = journal.append(record);
      // Awaited when all are written: until then a failure must not count as one that nobody handles.
      one.catch(() => undefined);
      appended.push(one);
    }
    await Promise.allSettled(appended);
    await Promise.all(appended);
    tipNumber = number;
    return length;
  }

  async function rewrite(after: T): Promise<void> {
    // Counted anew also when it fails, so that a full disk is not tried with a whole state each time.
    grownLength = 0;
    if (inSpare === 'nothing') inSpare = 'left over';
    wholeLength = await append(spare, undefined, after);
    [active, spare] = [spare, active];
    inSpare = 'left over';
    await clearSpare();
  }

  async function clearSpare(): Promise<void> {
    if (inSpare !== 'left over') return;
    try {
      await spare.clear();
      inSpare = 'nothing';
    } catch (error) {
      log.error({ err: error }, `could not remove an old journal of '${name}'; retrying later`);
    }
  }

  await clearSpare();

  return {
    last: frozen(last),
    /** Resolves once an update is durable, which costs what it changes. One call at a time, each with what the last stored. */
    async write(before: T | undefined, after: T) {
      if (before && grownLength > Math.max(compactAfterLength, wholeLength)) {
        try {
          return await rewrite(after);
        } catch (error) {
          log.error({ err: error }, `could not compact the journal of '${name}'; retrying later`);
        }
      }
      grownLength += await append(active, before, after);
      await clearSpare();
    },
    /**
     * Writes all of it anew, to the other journal: then nothing of what was written before is left, or soon, when the disk
     * refuses to remove it.
     */
    rewrite,
  };
}

/** Steps in parts of a bearable length, one at least. */
async function partsOf<S>(steps: Iterable<S>, maxLength: number) {
  let part: S[] = [];
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

/** Characters of steps as they are stored. */
const lengthOf = (steps: unknown) => JSON.stringify(steps).length;

type Update<S, R> = ReturnType<typeof newUpdate<S, R>>;

/** An update of which no part was read yet; `length` is that of its steps in characters. */
const newUpdate = <S, R>(journal: ReadableJournal<S, R>, { number, after }: UpdatePart<S, R>) => ({
  number,
  after,
  journal,
  isWhole: false,
  length: 0,
  parts: new Map<number, UpdatePart<S, R>>(),
});

interface ReadableJournal<S, R> {
  read(): AsyncIterable<UpdatePart<S, R>>;
}

/** Reads the last state: where its chain leads to. */
async function readChain<T, S, R>(
  declaration: StateDeclaration<T, S, R>,
  journals: ReadonlyArray<Journal<UpdatePart<S, R>>>,
) {
  const { chain, tip, lastNumber } = await chainIn(declaration.name, journals);
  const [first, ...others] = chain;
  return {
    last: tip && stateAfter(declaration, chain),
    /** The update that made it. */
    tip,
    /** The highest number in use. */
    lastNumber,
    /** Characters of the steps that lead to it, of the first update of the chain and of the others. */
    length: { first: first?.length ?? 0, others: others.reduce((sum, one) => sum + one.length, 0) },
    /** All updates that lead to it are in its journal, where there are any. */
    isInOneJournal: tip !== undefined && chain.every(({ journal }) => journal === tip.journal),
  };
}

/**
 * The updates from one that starts from nothing to the last, each naming the one before. Updates that are not whole, or that
 * no later one stands on, were never acknowledged. Throws `CorruptDocumentError` where one is missing.
 */
export async function chainIn<S, R>(name: string, journals: ReadonlyArray<ReadableJournal<S, R>>) {
  const updates = await readUpdates(journals);
  const inOrder = [...updates.values()].sort((a, b) => a.number - b.number);
  const tip = inOrder.findLast(({ isWhole }) => isWhole);
  // The first of all updates starts from nothing: where none is whole, it was killed or refused.
  const orphan = tip ? undefined : inOrder.find(({ after }) => after !== undefined);
  if (orphan) throw gapBefore(name, orphan);
  return {
    chain: tip ? chainTo(name, tip, updates) : [],
    tip,
    lastNumber: inOrder.at(-1)?.number ?? 0,
  };
}

async function readUpdates<S, R>(journals: ReadonlyArray<ReadableJournal<S, R>>) {
  const updates = new Map<number, Update<S, R>>();
  for (const journal of journals) {
    for await (const part of journal.read()) {
      const update = updates.get(part.number) ?? newUpdate(journal, part);
      updates.set(part.number, update);
      update.parts.set(part.part, part);
      update.isWhole = update.parts.size === part.parts;
      update.length += lengthOf(part.steps);
    }
  }
  return updates;
}

/** Oldest first. */
function chainTo<S, R>(
  name: string,
  tip: Update<S, R>,
  updates: ReadonlyMap<number, Update<S, R>>,
): Array<Update<S, R>> {
  const chain = [tip];
  for (let update = tip; update.after !== undefined; ) {
    const before = updates.get(update.after);
    if (!before?.isWhole || before.number >= update.number) throw gapBefore(name, update);
    chain.push(before);
    update = before;
  }
  return chain.reverse();
}

/** The parts of a chain in their order. */
export function* partsIn<S, R>(chain: ReadonlyArray<Update<S, R>>): Generator<UpdatePart<S, R>> {
  for (const { parts } of chain) {
    for (const [, part] of [...parts].sort(([a], [b]) => a - b)) yield part;
  }
}

/** Goes step by step from nothing to a state. */
function stateAfter<T, S, R>(
  { begin }: StateDeclaration<T, S, R>,
  chain: ReadonlyArray<Update<S, R>>,
): T | undefined {
  const builder = begin(undefined);
  let last: { rest: R } | undefined;
  for (const part of partsIn(chain)) {
    for (const step of part.steps) builder.apply(step);
    last = part;
  }
  return last && builder.end(last.rest);
}

function gapBefore(
  name: string,
  { number, after }: Pick<UpdatePart, 'number' | 'after'>,
): CorruptDocumentError {
  const [first, second] = stateJournals(name);
  return new CorruptDocumentError(
    `The stored state '${name}' has a gap: update ${number} changes update ${after}, which is missing. Restore the folders ${first} and ${second} of the data folder from a backup, or remove both to start without their data.`,
  );
}
