/** Forgets what was put into a map or set first, until there is no more in it than `max`. */
export function forgetOldest(kept: Map<string, unknown> | Set<string>, max: number): void {
  for (const key of kept.keys()) {
    if (kept.size <= max) return;
    kept.delete(key);
  }
}
