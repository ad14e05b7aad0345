interface Timers {
  live: Map<unknown, { ms: number | undefined; timer: NodeJS.Timeout }>;
}

const KEY = Symbol.for('askwatch.test.timers');

type Callback = (...given: unknown[]) => void;

/** Follows the timers of tests and program. Vitest's own come and go at any time, so what Node counts as active says nothing. */
function followTimers(): Timers['live'] {
  const known = globalThis as { [KEY]?: Timers['live'] };
  if (known[KEY]) return known[KEY];
  const live: Timers['live'] = new Map();
  known[KEY] = live;
  const { setTimeout: startTimeout, setInterval: startInterval } = globalThis;
  const { clearTimeout: endTimeout, clearInterval: endInterval } = globalThis;
  const follow = (timer: NodeJS.Timeout, ms: number | undefined) => {
    live.set(timer, { ms, timer });
    return timer;
  };
  const set = (run: Callback, ms?: number, ...given: unknown[]) => {
    const timer = startTimeout(() => {
      live.delete(timer);
      run(...given);
    }, ms);
    return follow(timer, ms);
  };
  const repeat = (run: Callback, ms?: number, ...given: unknown[]) =>
    follow(startInterval(run, ms, ...given), ms);
  const clear = (timer?: Parameters<typeof clearTimeout>[0]) => {
    live.delete(timer);
    endTimeout(timer);
    endInterval(timer);
  };
  globalThis.setTimeout = Object.assign(set, startTimeout) as typeof setTimeout;
  globalThis.setInterval = Object.assign(repeat, startInterval) as typeof setInterval;
  globalThis.clearTimeout = clear;
  globalThis.clearInterval = clear;
  return live;
}

const timers = followTimers();

/** The timers that keep this process alive, such as "timer of 1000 ms". */
export const liveTimers = () =>
  [...timers.values()].filter(({ timer }) => timer.hasRef()).map(({ ms }) => `timer of ${ms} ms`);
