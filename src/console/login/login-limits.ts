import type { Store } from '../../bot/platform.ts';
import { HttpError } from '../../http/errors.ts';
import { rateLimitHeaders } from '../../http/rate-limit.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const ALL_PER_MINUTE = 60;
const ONE_PER_MINUTE = 5;
const ONE_PER_HOUR = 20;

/** A logged-in browser counts by its session alone, so that no stranger can hold it up. */
export type Guesser = { session: string } | { address: string };

export function createLoginLimits(
  store: Pick<Store, 'windows'>,
  steadyMs: () => number = () => performance.now(),
) {
  const minutes = store.windows({ name: 'console-logins', windowMs: MINUTE_MS, steadyMs });
  const hours = store.windows({ name: 'console-logins-hour', windowMs: HOUR_MS, steadyMs });

  function limitsFor(guesser: Guesser) {
    const [who, from] =
      'session' in guesser
        ? [`session ${guesser.session}`, 'from this browser']
        : [`address ${guesser.address}`, 'from this address'];
    const own = [
      { windows: minutes, who, limit: ONE_PER_MINUTE, from },
      { windows: hours, who, limit: ONE_PER_HOUR, from },
    ];
    if ('session' in guesser) return own;
    // The limit of all comes first, so that a flood from many addresses opens no window for each of them.
    return [{ windows: minutes, who: 'all', limit: ALL_PER_MINUTE, from: 'in all' }, ...own];
  }

  /**
   * Counts an attempt before its password is checked, so that attempts at the same moment count, too. Throws the 429. Call
   * the returned function after a right password: only wrong ones count.
   */
  return async function countAttempt(guesser: Guesser): Promise<() => Promise<void>> {
    const undos: Array<() => unknown> = [];
    const undo = async () => {
      for (const one of undos) await one();
    };
    for (const { windows, who, limit, from } of limitsFor(guesser)) {
      const taken = await windows.take(who, limit);
      if (taken.place === undefined) {
        await undo();
        throw tooManyAttempts(from, limit, taken.window.waitMs(limit - 1, steadyMs()));
      }
      undos.push(() => windows.takeBack(who, taken));
    }
    return undo;
  };
}

function tooManyAttempts(from: string, limit: number, resetMs: number): HttpError {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  const wait = seconds <= 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return new HttpError(
    429,
    'rate_limit_exceeded',
    `Too many wrong passwords ${from}. Try again in ${wait}.`,
    { headers: rateLimitHeaders({ allowed: false, limit, remaining: 0, resetMs }) },
  );
}
