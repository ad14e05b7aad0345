import { z } from 'zod';
import { StateMovedError } from './errors.ts';
import type { Store } from './store.ts';

/**
 * Marks state that the program must not use: an unfinished copy, until a run finishes it, or state that was moved away.
 */
export type StateMark = z.infer<typeof StateMark>;
export const StateMark = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('copying'), from: z.string() }),
  z.strictObject({ state: z.literal('moved'), to: z.string(), atMs: z.int() }),
]);

/** A store that is opened to move its state; no program uses it in the meantime. */
export interface MovableStore {
  readonly store: Store;
  /** The location, for people. */
  readonly place: string;
  readonly howToEmpty: string;
  /** Aborts when others may use it again. */
  readonly lost: AbortSignal;
  mark(): Promise<StateMark | undefined>;
  /** Durable when it resolves. */
  setMark(mark: StateMark | undefined): Promise<void>;
}

/** Throws `StateMovedError` if there is a mark. */
export function assertNotMarked(
  place: string,
  mark: StateMark | undefined,
  advice: { useOther: string; finishCopy: string; howToEmpty: string },
): void {
  if (mark === undefined) return;
  const { useOther, finishCopy, howToEmpty } = advice;
  if (mark.state === 'moved') {
    const day = new Date(mark.atMs).toISOString().slice(0, 10);
    throw new StateMovedError(
      `The state in ${place} was moved to ${mark.to} on ${day}. To use it, ${useOther}.`,
    );
  }
  throw new StateMovedError(
    `${capitalized(place)} holds an unfinished copy of ${mark.from}. Finish it with: ${finishCopy}. To discard it instead: ${howToEmpty}.`,
  );
}

export const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
