import type { Clock } from '../../../src/bot/shared/clock.ts';

/** A clock that the test moves. */
export function createHandClock(startMs: number) {
  let nowMs = startMs;
  let waiting: Array<{ untilMs: number; done: () => void }> = [];
  const clock: Clock = {
    nowMs: () => nowMs,
    async pause(ms, signal) {
      if (signal.aborted) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          signal.removeEventListener('abort', done);
          resolve();
        };
        waiting.push({ untilMs: nowMs + ms, done });
        signal.addEventListener('abort', done);
      });
    },
  };
  /** Moves on, and ends the pauses whose time has come. */
  function goOn(ms: number) {
    nowMs += ms;
    const due = waiting.filter(({ untilMs }) => untilMs <= nowMs);
    waiting = waiting.filter(({ untilMs }) => untilMs > nowMs);
    for (const { done } of due) done();
  }
  return {
    ...clock,
    goOn,
    /** Moves on to the end of the next pause. */
    goToNext: () => goOn(Math.min(...waiting.map(({ untilMs }) => untilMs)) - nowMs),
    /** Ends all pauses, whatever the time: they are measured by a clock that nobody sets. */
    endPauses() {
      for (const { done } of waiting.splice(0)) done();
    },
    /** True if anything waits for the clock. */
    isAwaited: () => waiting.length > 0,
  };
}
