import type { Clock } from '../time/clock.ts';

/** A gap this long that nobody worked in is sleep. Our choice. */
const SLEEP_MS = 5_000;

/** What became of time since the last call. */
export interface TimeGap {
  /** How long the machine or the process slept; 0 when it did not. */
  sleptMs: number;
  /** How much of that the monotonic clock has not seen. */
  unseenMs: number;
  /** The wall clock was set back. */
  setBack: boolean;
}

/**
 * Notices that the machine slept. A process that was stopped finds its timer late without having worked; a machine that
 * was suspended finds that the wall clock has gone on and the monotonic one has not, for on Linux that one stands still
 * meanwhile. A wall clock that was set forward looks the same, and the same is to be done.
 */
export function createSleepDetector(clock: Clock): (timerMs: number | undefined) => TimeGap {
  const offset = () => clock.wallMs() - clock.monotonicMs();
  let offsetMs = offset();
  let workedMs = clock.workedMs();
  return (timerMs) => {
    const jumpMs = offset() - offsetMs;
    const lateMs = timerMs === undefined ? 0 : clock.monotonicMs() - timerMs;
    const idleMs = lateMs - (clock.workedMs() - workedMs);
    offsetMs += jumpMs;
    workedMs = clock.workedMs();
    const unseenMs = jumpMs > SLEEP_MS ? jumpMs : 0;
    return {
      sleptMs: unseenMs + (idleMs > SLEEP_MS ? lateMs : 0),
      unseenMs,
      setBack: jumpMs < -SLEEP_MS,
    };
  };
}
