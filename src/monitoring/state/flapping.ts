/** So many flips within so long are flapping, which is over after as long without one. Our choice. */
const FLAPPING_FLIPS = 5;
const FLAPPING_MS = 15 * 60_000;

/** Successes in a row before a monitor that flaps is UP. */
export const FLAPPING_TO_UP = 3;

/** When something last went DOWN or came back, oldest first, Unix milliseconds; and whether that is too often. */
interface Flips {
  flips: number[];
  flapping: boolean;
}

/** With one more flip. Pure. */
export function flipped<T extends Flips>(state: T, nowMs: number): T {
  const flips = [...state.flips, nowMs].slice(-FLAPPING_FLIPS);
  const [first = nowMs] = flips;
  const often = flips.length === FLAPPING_FLIPS && isWithin(first, nowMs);
  return { ...state, flips, flapping: state.flapping || often };
}

/** Without its flapping, once it has been calm for long enough. Pure. */
export function calmed<T extends Flips>(state: T, nowMs: number): T {
  const last = state.flips.at(-1);
  if (!state.flapping || (last !== undefined && isWithin(last, nowMs))) return state;
  return { ...state, flapping: false, flips: [] };
}

/** Either way from now: the clock may have been set back. */
function isWithin(flipMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - flipMs) <= FLAPPING_MS;
}
