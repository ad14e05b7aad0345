import { createSlidingWindow } from '../sliding-window.ts';
import type { WindowView } from '../windows.ts';
import { WINDOW_SLOTS } from './migrations/state-migration.ts';

/** A window as the database has it. Slots are numbered from 1970. */
export interface Slots {
  /** Database time, milliseconds. */
  moment: number;
  /** The slot that is under way. */
  at: number;
  /** Amount of each slot, up to `at`. */
  slots: readonly number[];
}

/** The window by a clock of this process, which is at `nowMs`: late by the time that the answer took. */
export function windowOfSlots(
  { at, moment, slots }: Slots,
  { windowMs, nowMs }: { windowMs: number; nowMs: number },
): WindowView {
  const slotMs = windowMs / WINDOW_SLOTS;
  const entries = slots.map((amount, index) => {
    const endsAtMs = (at + index - WINDOW_SLOTS + 1) * slotMs;
    return { atMs: nowMs - (moment - endsAtMs), amount };
  });
  return createSlidingWindow(
    windowMs,
    0,
    entries.filter(({ amount }) => amount > 0),
  );
}
