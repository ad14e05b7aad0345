import { createQueues } from './queues.ts';

/** A change of a document that waits for its turn. */
export interface WaitingChange<T> {
  make: (current: T | undefined) => T | undefined;
  /** No file may hold the content that it deletes. */
  erases: boolean;
  resolve: (document: T | undefined) => void;
  reject: (error: unknown) => void;
}

export type ChangeOutcome<T> = { change: WaitingChange<T> } & (
  | { result: T | undefined }
  | { error: unknown }
);

/** Changes of one document run one after another. The ones that wait together share a write. */
export class ChangeQueue<T> {
  readonly #waiting = new Map<string, WaitingChange<T>[]>();
  readonly #queues: ReturnType<typeof createQueues>;
  readonly #apply: (id: string, changes: WaitingChange<T>[]) => Promise<ChangeOutcome<T>[]>;

  /** `apply` stores the first of the changes, at least one, and resolves to their outcomes. */
  constructor(
    apply: (id: string, changes: WaitingChange<T>[]) => Promise<ChangeOutcome<T>[]>,
    queues = createQueues(),
  ) {
    this.#apply = apply;
    this.#queues = queues;
  }

  /** `queue` is the name of the queue in which the document waits. */
  add(
    id: string,
    make: WaitingChange<T>['make'],
    { erases = false, queue = id } = {},
  ): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const change = { make, erases, resolve, reject };
      const waiting = this.#waiting.get(id);
      if (waiting) return void waiting.push(change);
      this.#waiting.set(id, [change]);
      void this.#queues.run(queue, () => this.#applyAll(id));
    });
  }

  async #applyAll(id: string): Promise<void> {
    let changes = this.#waiting.get(id) ?? [];
    this.#waiting.delete(id);
    try {
      while (changes.length > 0) {
        const outcomes = await this.#apply(id, changes);
        changes = changes.slice(outcomes.length);
        for (const { change, ...outcome } of outcomes) {
          if ('error' in outcome) change.reject(outcome.error);
          else change.resolve(outcome.result);
        }
      }
    } catch (error) {
      for (const { reject } of changes) reject(error);
    }
  }
}

/** Makes changes in memory, each of the result of the one before. `next` is what to store, `undefined` for a deletion. */
export function attempt<T, Prepared extends { document: T }>(
  before: T | undefined,
  changes: readonly WaitingChange<T>[],
  prepare: (wanted: T) => Prepared,
) {
  let document = before;
  let next: Prepared | undefined;
  let erases = false;
  const outcomes: ChangeOutcome<T>[] = [];
  for (const change of changes) {
    try {
      const wanted = change.make(document);
      if (wanted !== document) {
        erases ||= change.erases;
        next = wanted === undefined ? undefined : prepare(wanted);
        document = next?.document;
      }
      outcomes.push({ change, result: document });
    } catch (error) {
      outcomes.push({ change, error });
    }
    // A deletion gets a write of its own: overwritten, the deleted document would stay on as the previous version.
    if (document === undefined && before !== undefined) break;
  }
  return { document, next, erases, outcomes, isChanged: document !== before };
}
