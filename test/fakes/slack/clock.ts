import { setTimeout as pause } from 'node:timers/promises';

/** The clock of the rate limits. */
export interface SlackClock {
  nowMs(): number;
  /** True if time passes without `advance`. */
  runs(): boolean;
  /** Moves it on, without anyone waiting. */
  advance(ms: number): void;
  /** Stops it at a time, from where only `advance` moves it. */
  set(ms: number): void;
  /** From now on it runs so many times as fast as the real time, for a program whose paces are as much faster. */
  run(times: number): void;
  /** Resolves when so much has passed; false when `signal` aborts before. */
  passed(ms: number, signal: AbortSignal): Promise<boolean>;
}

const LOOK_EVERY_MS = 10;

/** Starts with the real time. */
export function createSlackClock(): SlackClock {
  let base = { ms: 0, realMs: performance.now() };
  let speed = 1;
  const nowMs = () => base.ms + speed * (performance.now() - base.realMs);
  const moveTo = (ms: number) => {
    base = { ms, realMs: performance.now() };
  };
  return {
    nowMs,
    runs: () => speed > 0,
    async passed(ms, signal) {
      const untilMs = nowMs() + ms;
      while (nowMs() < untilMs && !signal.aborted)
        await pause(LOOK_EVERY_MS, undefined, { ref: false });
      return !signal.aborted;
    },
    advance: (ms) => moveTo(nowMs() + ms),
    set(ms) {
      speed = 0;
      moveTo(ms);
    },
    run(times) {
      moveTo(nowMs());
      speed = times;
    },
  };
}
