import type { Logger } from 'pino';

/** Time between two requests for something that the service doesn't offer. */
const NOT_OFFERED_MS = 30 * 60_000;

/** Creates a function that reads something when it is due. It resolves to true if there is news, and never rejects. */
export function createRefresh<T>(options: {
  what: string;
  everyMs: number;
  afterFailureMs?: number;
  /** Resolves to `undefined` if the service doesn't offer it. */
  read: (signal: AbortSignal) => Promise<T | undefined>;
  apply: (value: T | undefined) => boolean;
  log: Logger;
}) {
  const { what, everyMs, afterFailureMs = everyMs, read, apply, log } = options;
  let nextMs = 0;
  return async (signal: AbortSignal): Promise<boolean> => {
    if (Date.now() < nextMs) return false;
    nextMs = Date.now() + everyMs;
    try {
      const value = await read(signal);
      if (value === undefined) nextMs = Date.now() + NOT_OFFERED_MS;
      return apply(value);
    } catch (error) {
      nextMs = Date.now() + afterFailureMs;
      log.debug({ err: error }, `could not load ${what} for the status page`);
      return false;
    }
  };
}
