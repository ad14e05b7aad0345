import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/** Holds the timers of this length, in milliseconds, that start from now on, until `expire` ends them all. */
export function holdTimers(isHeld: number | ((ms: number) => boolean)) {
  const held: Array<() => void> = [];
  const holds = (ms: unknown) => (typeof isHeld === 'number' ? ms === isHeld : isHeld(Number(ms)));
  const { setTimeout: start } = globalThis;
  const { setTimeout: pause } = timers;
  const timeout = AbortSignal.timeout.bind(AbortSignal);

  const timeouts = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    if (!holds(ms)) return timeout(ms);
    const controller = new AbortController();
    held.push(() => controller.abort(new DOMException('It took too long.', 'TimeoutError')));
    return controller.signal;
  });
  const startHeld = (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) => {
    if (!holds(ms)) return start(run, ms, ...given);
    const timer = start(() => {}, ms);
    held.push(() => {
      clearTimeout(timer);
      run(...given);
    });
    return timer;
  };
  const starts = vi.spyOn(globalThis, 'setTimeout');
  starts.mockImplementation(startHeld as typeof setTimeout);
  const pauseHeld: typeof pause = (ms, value, options) => {
    if (!holds(ms)) return pause(ms, value, options);
    return new Promise((resolve) => void held.push(() => resolve(value as never)));
  };
  const pauses = vi.spyOn(timers, 'setTimeout').mockImplementation(pauseHeld);
  syncBuiltinESMExports();
  onTestFinished(() => {
    for (const spy of [timeouts, starts, pauses]) spy.mockRestore();
    syncBuiltinESMExports();
  });
  return {
    count: () => held.length,
    expire() {
      for (const end of held.splice(0)) end();
    },
  };
}
