/** Waits for what cannot be aborted itself, no longer than until the signal aborts: then it throws the signal's reason. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
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
