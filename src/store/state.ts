import type { z } from 'zod';

/**
 * One large state that changes a little at a time. It is stored step by step, so that an update costs what it changes. A step
 * sets or removes one item, in the manner of a `Map`: one that is set takes the place of the item with its key, or is the
 * last of all.
 */
export interface StateDeclaration<T, S, R> {
  /** Lower-case words with hyphens. */
  name: string;
  step: z.ZodType<S>;
  /** All that is no item: little, and stored with every update. */
  rest: z.ZodType<R>;
  restOf(state: T): R;
  /** What leads from one state to another, in order, told piece by piece; what is the same object in both is the same. */
  stepsBetween(before: T | undefined, after: T): Iterable<S>;
  /** Goes step by step from a state to another. What no step is about stays the same object. */
  begin(before: T | undefined): StateBuilder<T, S, R>;
  itemOf(step: S): StateItem<S>;
  /** Freezes a state that `before` became, but for what steps hold: that is frozen piece by piece. */
  freeze(state: T, before: T | undefined): T;
  /** What this version makes of what an older one stored; the same object where that is nothing. */
  upgrade?(state: T): T;
}

export interface StateBuilder<T, S, R> {
  apply(step: S): void;
  end(rest: R): T;
}

/** The item that a step is about. */
export interface StateItem<S> {
  key: string;
  /** The key of the item that it goes with when that is removed. */
  inside?: string | undefined;
  /** The step that removes it; absent for a step that does. */
  removal?: S;
}

export interface State<T> {
  /** As last stored; `undefined` before the first update ever. Frozen: it is replaced, never altered. */
  current(): T | undefined;
  /**
   * Stores what `change` makes of the newest state, whole or not at all; the same object writes nothing. Updates run one after
   * another. `change` is pure and may run again. When writing fails, nothing has changed; of a database that could not be
   * reached it may turn out later that it had.
   */
  update(change: (current: T | undefined) => T | undefined): Promise<void>;
  /** As `update`, and nothing that is kept holds what `change` took away. It may cost writing all of it anew. */
  erase(change: (current: T | undefined) => T | undefined): Promise<void>;
}

/** An update that waits for its turn. */
export interface AskedUpdate<T> {
  erases: boolean;
  change: (current: T | undefined) => T | undefined;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** What became of an update in memory: the state that it left, or what it threw. */
export type MadeUpdate<T> =
  | { asked: AskedUpdate<T>; result: T | undefined }
  | { asked: AskedUpdate<T>; error: unknown };

/** What some updates make of a state, one after another. Pure. */
export function makeUpdates<T, S, R>(
  declaration: StateDeclaration<T, S, R>,
  before: T | undefined,
  updates: ReadonlyArray<AskedUpdate<T>>,
) {
  let next = before;
  let erases = false;
  const made = updates.map((asked): MadeUpdate<T> => {
    try {
      const now = next;
      const wanted = asked.change(now);
      if (wanted !== now) {
        if (wanted === undefined) throw new Error('A state can be changed, not removed.');
        next = declaration.freeze(wanted, now);
        erases ||= asked.erases;
      }
      return { asked, result: next };
    } catch (error) {
      return { asked, error };
    }
  });
  return { next, erases, made };
}

/** Updates that come while others are written are made together with one `write`. */
export function queueUpdates<T>(write: (updates: ReadonlyArray<AskedUpdate<T>>) => Promise<void>) {
  let waiting: Array<AskedUpdate<T>> = [];
  let isWriting = false;

  async function writeWaiting() {
    isWriting = true;
    // What comes in the same breath is written together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const updates = waiting;
      waiting = [];
      await write(updates);
    }
    isWriting = false;
  }

  const enqueue = (erases: boolean) => (change: AskedUpdate<T>['change']) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ erases, change, resolve, reject });
      if (!isWriting) void writeWaiting();
    });

  return { update: enqueue(false), erase: enqueue(true) };
}

/** Who alters what is stored gets a TypeError, instead of a change that is lost or half stored. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}
