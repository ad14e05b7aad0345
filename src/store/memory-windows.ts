import { createSlidingWindow, type SlidingWindow } from './sliding-window.ts';
import type { Taken, Windows, WindowsDeclaration } from './windows.ts';

/**
 * Sliding windows of one process, exact to the millisecond. Empty ones are forgotten, so memory is bounded by the amount
 * taken within one window.
 */
export function createMemoryWindows({
  windowMs,
  stepMs = 0,
  steadyMs = () => performance.now(),
}: Omit<WindowsDeclaration, 'name'>) {
  const windowOf = new Map<string, SlidingWindow>();
  let sweepAtMs = steadyMs() + windowMs;

  function sweep(now: number) {
    for (const [who, window] of windowOf) {
      if (window.used(now) === 0) windowOf.delete(who);
    }
    sweepAtMs = now + windowMs;
  }

  function windowFor(who: string): SlidingWindow {
    const known = windowOf.get(who);
    if (known) return known;
    const fresh = createSlidingWindow(windowMs, stepMs);
    windowOf.set(who, fresh);
    return fresh;
  }

  return {
    take(who: string, limit: number): Taken {
      const now = steadyMs();
      if (now >= sweepAtMs) sweep(now);
      const window = windowFor(who);
      const used = window.used(now);
      if (used >= limit) return { place: undefined, used, window };
      return { place: window.add(1, now), used: used + 1, window };
    },
    takeBack(_who: string, { place, window }: Taken): void {
      // From the window that it was taken of: a later one has places of its own.
      if (place !== undefined) (window as SlidingWindow).takeBack(place, 1);
    },
    look: windowFor,
    known: windowFor,
  } satisfies Windows;
}
