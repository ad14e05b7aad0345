/** Size of an entry without its value. */
const ENTRY_SIZE = 200;

/** Recently used things by name, as many as fit: at most `maxSize`, in the unit of the sizes given to `set`. */
export function createBoundedCache<V>(maxSize: number) {
  // A Map keeps the order of insertion: what is used is put in again, so the first is the longest unused.
  const entries = new Map<string, { value: V; size: number }>();
  let total = 0;

  function drop(name: string) {
    total -= entries.get(name)?.size ?? 0;
    entries.delete(name);
  }

  return {
    get(name: string): V | undefined {
      const entry = entries.get(name);
      if (!entry) return undefined;
      entries.delete(name);
      entries.set(name, entry);
      return entry.value;
    },
    /** Puts one in, and the longest unused ones out. */
    set(name: string, value: V, size: number): void {
      drop(name);
      entries.set(name, { value, size: size + ENTRY_SIZE });
      total += size + ENTRY_SIZE;
      for (const oldest of entries.keys()) {
        if (total <= maxSize) break;
        drop(oldest);
      }
    },
  };
}
