/** Forgets what was put into a map first, until there is no more in it than `max`. */
export function forgetOldest(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
