import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Keeps the order of known ids, appends new ones and drops missing ones. Pure. */
export function heldOrder(before: readonly string[], now: readonly string[]): string[] {
  const known = new Set(before);
  const present = new Set(now);
  return [...before.filter((id) => present.has(id)), ...now.filter((id) => !known.has(id))];
}

/**
 * Orders the rows of a list, without moving them while the list has the mouse or the focus. When rows above the window
 * move, the ones in the window keep their place.
 */
export function useHeldOrder(list: RefObject<HTMLUListElement | null>, now: readonly string[]) {
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const shown = useRef<readonly string[]>([]);
  const anchor = useRef<{ row: Element; topPx: number } | null>(null);
  const order = pointed || focused ? heldOrder(shown.current, now) : now;
  if (order.join() !== shown.current.join()) anchor.current = firstVisible(list.current);
  useLayoutEffect(() => {
    shown.current = order;
    const { row, topPx } = anchor.current ?? {};
    anchor.current = null;
    if (row?.isConnected && topPx !== undefined) {
      window.scrollBy(0, row.getBoundingClientRect().top - topPx);
    }
  });
  return {
    order,
    reading: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocusIn: () => setFocused(true),
      onFocusOut: () => setFocused(false),
    },
  };
}

/** Finds the first row that is fully visible; none at the top of the page, where the first rows matter most. */
function firstVisible(list: HTMLUListElement | null) {
  if (!list || window.scrollY <= list.offsetTop) return null;
  for (const row of list.children) {
    const topPx = row.getBoundingClientRect().top;
    if (topPx >= 0) return { row, topPx };
  }
  return null;
}
