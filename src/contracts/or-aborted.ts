/** Waits for a promise that can't be aborted itself. Throws the signal's reason as soon as the signal aborts. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // It may fail when nobody waits any more.
  promise.catch(() => {});
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  return await Promise.race([promise, aborted]).finally(() =>
    signal.removeEventListener('abort', abort),
  );
}

/** Waits for a promise for at most `ms`; returns `undefined` if it takes longer. */
export async function orLate<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = AbortSignal.timeout(ms);
  return await orAborted(promise, late).catch((error: unknown) => {
    if (error === late.reason) return undefined;
    throw error;
  });
}
