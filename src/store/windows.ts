import type { Awaitable } from './awaitable.ts';
import type { SlidingWindow } from './sliding-window.ts';

export interface WindowsDeclaration {
  /** Lower-case words with hyphens. */
  name: string;
  /** Up to half an hour. */
  windowMs: number;
  /** What comes within so long may be counted as one, until the last of it has left; exact when absent. */
  stepMs?: number;
  /** A clock that never goes back, milliseconds. Windows that processes share go by the database's, and are told by this one. */
  steadyMs?: () => number;
}

/**
 * Sliding windows, one for each `who`: none ever holds more than its limit, in whatever processes it is taken from. Answers
 * are there at once where they are in memory; elsewhere they may reject with `StoreUnavailableError`.
 */
export interface Windows {
  /** Counts one of `who` while the window holds less than `limit`. */
  take(who: string, limit: number): Awaitable<Taken>;
  /** Counts it no more, as if it had never been. */
  takeBack(who: string, taken: Taken): Awaitable<void>;
  /** What counts now. */
  look(who: string): Awaitable<WindowView>;
  /** The same as this process has last heard of it, if it has. */
  known(who: string): WindowView | undefined;
}

/** A window as it can be read. */
export type WindowView = Pick<SlidingWindow, 'used' | 'waitMs' | 'oldestMs' | 'emptyMs'>;

export interface Taken {
  /** Where it is counted; `undefined` when it is not, since the window is full. */
  place: number | undefined;
  /** How many count, this one included. */
  used: number;
  window: WindowView;
}
