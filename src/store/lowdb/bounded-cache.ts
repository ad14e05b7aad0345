/** Recently used things by name, as many as fit. */
export interface BoundedCache<V> {
  get(name: string): V | undefined;
  /** Puts one in, and the longest unused ones out. */
  set(name: string, value: V, size: number): void;
  /** Whether one of this size goes in without another going out. */
  hasRoomFor(size: number): boolean;
}

/** What an entry costs beside its value. */
const ENTRY_SIZE = 200;

/** A cache of at most `maxSize`, in the unit of the sizes given to `set`. */
export function createBoundedCache<V>(maxSize: number): BoundedCache<V> {
  // A Map keeps the order of insertion: what is used is put in again, so the first is the longest unused.
  const entries = new Map<string, { value: V; size: number }>();
  let total = 0;

  function drop(name: string) {
    total -= entries.get(name)?.size ?? 0;
    entries.delete(name);
  }

  return {
    get(name) {
      const entry = entries.get(name);
      if (!entry) return undefined;
      entries.delete(name);
      entries.set(name, entry);
      return entry.value;
    },
    set(name, value, size) {
      drop(name);
      entries.set(name, { value, size: size + ENTRY_SIZE });
      total += size + ENTRY_SIZE;
      for (const oldest of entries.keys()) {
        if (total <= maxSize) break;
        drop(oldest);
      }
    },
    hasRoomFor: (size) => total + size + ENTRY_SIZE <= maxSize,
  };
}
