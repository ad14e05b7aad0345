export interface TurnsDeclaration {
  /** Lower-case words with hyphens. */
  name: string;
  /** How many may wait for the turn of one key. */
  maxWaiting: number;
}

/** Lets one at a time through for each key, in the order in which they came, whichever process they came to. */
export interface Turns {
  /**
   * Waits for the turn of a key; `undefined` when too many wait for it already. `id` is whose turn it is: who goes on with what a
   * dead process did has the place that it had there, if not too much time has passed. Rejects with the signal's reason when
   * that aborts first.
   */
  take(key: string, id: string, signal: AbortSignal): Promise<Turn | undefined>;
  /** Whether somebody has the turn of a key, or waits for it. */
  isTaken(key: string): Promise<boolean>;
}

export interface Turn {
  /** It is over, and for the next. Never throws; again is harmless. */
  end(): void;
  /** This process has no more to do with it: whoever goes on with it has it, or the next some time later. */
  leave(): void;
}
