/** An item with a due time. The heap sets `heapIndex`, -1 if the item is in no heap. */
export interface HeapItem {
  dueMs: number;
  heapIndex: number;
}

/** Orders items by due time in a binary heap, so every change costs the logarithm of the size. */
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
    peek: () => items[0],
    /** Inserts the item, or moves it to its new `dueMs`. */
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
