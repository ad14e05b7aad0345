/** Waits for what cannot be aborted itself, no longer than until the signal aborts: then it throws the signal's reason. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // Nobody may be there to hear of it any more.
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

/** What a promise gives within a time; `undefined` where that comes later. */
export async function orLate<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = AbortSignal.timeout(ms);
  return await orAborted(promise, late).catch((error: unknown) => {
    if (error === late.reason) return undefined;
    throw error;
  });
}
