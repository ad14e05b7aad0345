import { z } from 'zod';
import { CorruptDocumentError } from '../../store/errors.ts';
import type { Journal } from '../../store/store.ts';
import type { Watching } from '../incidents/watch-state.ts';
import { createReplay, Rest, Step } from './state-patch.ts';

/** A part of an update of what the watch knows; most updates have one. */
export const UpdatePart = z.object({
  atMs: z.int(),
  /** Counts updates, also those that were refused, or killed in the middle. */
  number: z.int().positive(),
  /** The update that this one changes; absent when it starts from nothing. */
  after: z.int().positive().optional(),
  part: z.int().nonnegative(),
  parts: z.int().positive(),
  rest: Rest,
  steps: z.array(Step),
});
export type UpdatePart = z.infer<typeof UpdatePart>;

interface Update {
  number: number;
  after: number | undefined;
  parts: Map<number, UpdatePart>;
  isWhole: boolean;
  journal: Journal<UpdatePart>;
  /** Characters of its steps. */
  length: number;
}

/** What journals hold of the watch. */
export interface Found {
  last: Watching | undefined;
  /** The update that made it, and the journal that has that. */
  tip: { number: number; journal: Journal<UpdatePart> } | undefined;
  /** The highest number in use. */
  lastNumber: number;
  /** Characters of the steps that lead to it, of the first update of the chain and of the others. */
  length: { first: number; others: number };
  /** All updates that lead to it are in the journal of the last. */
  isInOneJournal: boolean;
}

/**
 * Reads the last state: the updates from one that starts from nothing to the last, each naming the one before. Updates that
 * are not whole, or that no later one stands on, were never acknowledged. Throws `CorruptDocumentError` where one is missing.
 */
export async function readChain(journals: readonly Journal<UpdatePart>[]): Promise<Found> {
  const updates = await readUpdates(journals);
  const lastNumber = Math.max(0, ...updates.keys());
  const whole = [...updates.values()].filter(({ isWhole }) => isWhole);
  const tip = whole.reduce<Update | undefined>(
    (last, update) => (last && last.number > update.number ? last : update),
    undefined,
  );
  if (!tip) {
    // The first of all updates starts from nothing: it was killed or refused.
    const orphan = [...updates.values()].find(({ after }) => after !== undefined);
    if (orphan) throw gapBefore(orphan);
    const length = { first: 0, others: 0 };
    return { last: undefined, tip: undefined, lastNumber, length, isInOneJournal: false };
  }
  const chain = chainTo(tip, updates);
  const [first = tip, ...others] = chain;
  return {
    last: stateAfter(chain),
    tip,
    lastNumber,
    length: { first: first.length, others: others.reduce((sum, { length }) => sum + length, 0) },
    isInOneJournal: chain.every(({ journal }) => journal === tip.journal),
  };
}

async function readUpdates(journals: readonly Journal<UpdatePart>[]) {
  const updates = new Map<number, Update>();
  for (const journal of journals) {
    for await (const part of journal.read()) {
      const { number, after } = part;
      const update = updates.get(number) ?? {
        number,
        after,
        journal,
        parts: new Map<number, UpdatePart>(),
        isWhole: false,
        length: 0,
      };
      updates.set(number, update);
      update.parts.set(part.part, part);
      update.isWhole = update.parts.size === part.parts;
      update.length += lengthOf(part.steps);
    }
  }
  return updates;
}

/** Oldest first. */
function chainTo(tip: Update, updates: ReadonlyMap<number, Update>): Update[] {
  const chain = [tip];
  for (let update = tip; update.after !== undefined; ) {
    const before = updates.get(update.after);
    if (!before?.isWhole || before.number >= update.number) throw gapBefore(update);
    chain.push(before);
    update = before;
  }
  return chain.reverse();
}

function stateAfter(chain: readonly Update[]): Watching {
  const replay = createReplay();
  let last: Rest = { learnt: false, shortLooks: 0 };
  for (const { parts } of chain) {
    for (const [, { steps, rest }] of [...parts].sort(([a], [b]) => a - b)) {
      for (const step of steps) replay.apply(step);
      last = rest;
    }
  }
  return { ...replay.result(), ...last };
}

/** Characters of steps as they are stored. */
export function lengthOf(steps: Step | readonly Step[]): number {
  return JSON.stringify(steps).length;
}

function gapBefore({ number, after }: Update): CorruptDocumentError {
  return new CorruptDocumentError(
    `What is stored of the watch has a gap: update ${number} changes update ${after}, which is missing. Restore the folders watching-a and watching-b of the data folder from a backup, or remove both to start without what they held.`,
  );
}
