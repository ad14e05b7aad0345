/**
 * Has the clock of this process stand at a moment, for the bot reads it without being handed one. What measures a time uses
 * `performance.now`, which goes on. The function that is returned lets it go again.
 */
export function standAt(ms: number): () => void {
  const { now } = Date;
  Date.now = () => ms;
  return () => {
    Date.now = now;
  };
}
