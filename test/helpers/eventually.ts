import { setTimeout as pause } from 'node:timers/promises';

/** For what takes no time of its own, on a machine that is busy; whole programs are given longer. */
const PATIENCE_MS = Number(process.env.ASKWATCH_TEST_PATIENCE_MS ?? 45_000);

/**
 * Asks `condition` every `everyMs` until its answer is truthy, and returns that answer.
 * Throws when `withinMs` has passed, naming `what` was waited for; what `condition` throws counts as "not yet" and is
 * given as the cause.
 */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: { withinMs?: number; everyMs?: number; what?: string } = {},
): Promise<Exclude<Awaited<T>, false | 0 | '' | null | undefined>> {
  const { withinMs = PATIENCE_MS, everyMs = 10, what = condition.toString() } = options;
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    let failure: unknown;
    try {
      const answer = await condition();
      if (answer) return answer as Exclude<Awaited<T>, false | 0 | '' | null | undefined>;
    } catch (error) {
      failure = error;
    }
    if (performance.now() >= deadlineMs) {
      throw new Error(`Waited ${withinMs} ms in vain for: ${what}`, { cause: failure });
    }
    await pause(everyMs);
  }
}
