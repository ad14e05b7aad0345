/** Things that come and go all the time, in no order. */
export interface ListenerSet<T> extends Iterable<T> {
  readonly size: number;
  /** Puts a thing in; the returned function takes it out again, once. */
  add(thing: T): () => void;
}

/**
 * A bag over an array. A `Set` would do the same, but its tables, replaced again and again as things come and go, keep what
 * was in them alive for V8's garbage collector: with a thing a request, twice the memory outlived each collection.
 */
export function createListenerSet<T>(): ListenerSet<T> {
  const places: Array<{ at: number; thing: T }> = [];
  return {
    get size() {
      return places.length;
    },
    add(thing) {
      const place = { at: places.length, thing };
      places.push(place);
      return () => {
        if (places[place.at] !== place) return;
        const last = places.pop();
        if (!last || last === place) return;
        last.at = place.at;
        places[place.at] = last;
      };
    },
    // Over a copy, because what is told may leave.
    *[Symbol.iterator]() {
      for (const { thing } of [...places]) yield thing;
    },
  };
}
