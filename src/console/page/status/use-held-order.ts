import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** What is known stays where it is, what is new comes last, what is gone goes. Pure. */
export function heldOrder(before: readonly string[], now: readonly string[]): string[] {
  const known = new Set(before);
  const left = new Set(now);
  return [...before.filter((id) => left.has(id)), ...now.filter((id) => !known.has(id))];
}

/**
 * The order of the rows of a list: the given one, but what somebody points at or has the focus in does not move, and
 * when rows above the window move, what stands in the window does not.
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

/** The first row that is whole in the window; none at the top of the page, where what comes first is what matters. */
function firstVisible(list: HTMLUListElement | null) {
  if (!list || window.scrollY <= list.offsetTop) return null;
  for (const row of list.children) {
    const topPx = row.getBoundingClientRect().top;
    if (topPx >= 0) return { row, topPx };
  }
  return null;
}
