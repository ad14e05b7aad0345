/** Remembers a function's results for its last `limit` new arguments; errors are not remembered. */
export function memoize<Key, Value>(limit: number, make: (key: Key) => Value): (key: Key) => Value {
  const kept = new Map<Key, Value>();
  return (key) => {
    const known = kept.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    if (kept.size >= limit) kept.delete(kept.keys().next().value as Key);
    kept.set(key, value);
    return value;
  };
}
