/** What can stand in a heap: when it is due, and where it stands (-1: in no heap). The heap keeps `heapIndex`. */
export interface HeapItem {
  dueMs: number;
  heapIndex: number;
}

/** Items ordered by when they are due: a binary heap in an array, so every change costs the logarithm of the size. */
export function createDueHeap<T extends HeapItem>() {
  const items: T[] = [];

  function place(item: T, index: number) {
    items[index] = item;
    item.heapIndex = index;
  }

  function rise(item: T) {
    let index = item.heapIndex;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = items[above];
      if (parent === undefined || parent.dueMs <= item.dueMs) break;
      place(parent, index);
      index = above;
    }
    place(item, index);
  }

  function sink(item: T) {
    let index = item.heapIndex;
    for (;;) {
      const left = items[2 * index + 1];
      const right = items[2 * index + 2];
      const child = left && right && right.dueMs < left.dueMs ? right : left;
      if (child === undefined || child.dueMs >= item.dueMs) break;
      const below = child.heapIndex;
      place(child, index);
      index = below;
    }
    place(item, index);
  }

  return {
    /** The item that is due first, left where it is. */
    peek: () => items[0],
    /** Puts the item where its `dueMs` belongs, whether it was in the heap or not. */
    put(item: T): void {
      if (item.heapIndex === -1) {
        items.push(item);
        item.heapIndex = items.length - 1;
      }
      rise(item);
      sink(item);
    },
    remove(item: T): void {
      if (item.heapIndex === -1) return;
      const last = items.pop();
      if (last !== undefined && last !== item) {
        place(last, item.heapIndex);
        rise(last);
        sink(last);
      }
      item.heapIndex = -1;
    },
  };
}
