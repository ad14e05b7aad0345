/**
 * Listeners that come and go all the time, in no order: a set over an array. A `Set` would do the same, but its tables, replaced again and again as listeners come and go, keep what
 * was in them alive for V8's garbage collector: with a listener a request, twice the memory outlived each collection.
 */
export function createListenerSet<T>() {
  const places: Array<{ at: number; listener: T }> = [];
  return {
    get size() {
      return places.length;
    },
    /** Adds one; the returned function removes it, once. */
    add(listener: T): () => void {
      const place = { at: places.length, listener };
      places.push(place);
      return () => {
        if (places[place.at] !== place) return;
        const last = places.pop();
        if (!last || last === place) return;
        last.at = place.at;
        places[place.at] = last;
      };
    },
    // Over a copy, because a listener that is called may leave.
    *[Symbol.iterator](): Generator<T> {
      for (const { listener } of [...places]) yield listener;
    },
  };
}
