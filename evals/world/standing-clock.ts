/**
 * Stops this process's clock at a time, because the bot reads `Date.now`. Durations use `performance.now`, which continues. The
 * returned function restores the clock.
 */
export function standAt(ms: number): () => void {
  const { now } = Date;
  Date.now = () => ms;
  return () => {
    Date.now = now;
  };
}
