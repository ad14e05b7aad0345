/** A value that is there already, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** Continues with a value, at once if it is in memory, so that it costs no turn of the event loop. */
export function whenKnown<T, R>(
  value: Awaitable<T>,
  next: (value: T) => Awaitable<R>,
): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
