import type { Awaitable } from './awaitable.ts';
import type { SlidingWindow } from './sliding-window.ts';

export interface WindowsDeclaration {
  name: string;
  /** At most an hour: PostgreSQL deletes windows that were unused for that long. */
  windowMs: number;
  /** Takes within so long may count as one, until the last one expires. Exact if absent. */
  stepMs?: number;
  /** A clock that never goes back, milliseconds. Shared windows use the database's clock and convert to this one. */
  steadyMs?: () => number;
}

/** One window for each `who`, which never holds more than its limit, in all processes together. May reject with `StoreUnavailableError`. */
export interface Windows {
  /** Counts one of `who` while the window holds less than `limit`. */
  take(who: string, limit: number): Awaitable<Taken>;
  takeBack(who: string, taken: Taken): Awaitable<void>;
  look(who: string): Awaitable<WindowView>;
  known(who: string): WindowView | undefined;
}

/** A window as it can be read. */
export type WindowView = Pick<SlidingWindow, 'used' | 'waitMs' | 'oldestMs' | 'emptyMs'>;

export interface Taken {
  /** Place of the take; `undefined` if it was refused. */
  place: number | undefined;
  /** Amount in the window, this take included. */
  used: number;
  window: WindowView;
}
