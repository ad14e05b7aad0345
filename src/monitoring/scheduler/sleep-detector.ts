import type { ServiceClock } from '../time/clock.ts';

/** A gap this long without work is sleep. Our choice. */
const SLEEP_MS = 5_000;

/** Time since the last call. */
export interface TimeGap {
  /** Sleep of the machine or the process; 0 if there was none. */
  sleptMs: number;
  /** Part of the sleep that the monotonic clock missed. */
  unseenMs: number;
  setBack: boolean;
}

/**
 * Notices that the machine slept. If the process was stopped, a timer is late although the process did no work. If the machine was
 * suspended, the wall clock moved and the monotonic clock did not, because it stops on Linux. A wall clock that was set forward
 * looks the same and needs the same treatment.
 */
export function createSleepDetector(clock: ServiceClock): (timerMs: number | undefined) => TimeGap {
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
