import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A reader this near the end, in pixels, wants to stay there. */
const NEAR_PX = 80;

type Box = RefObject<HTMLDivElement | null>;

/** Older items that are loaded when the reader scrolls up to the first one. */
export interface OlderPart {
  /** The first item; it changes when older ones have arrived. */
  first: string;
  load(): Promise<void>;
}

/**
 * A list that stays at its end while it grows, unless the reader has scrolled up; then a button leads back. `follow` changes with
 * each new message; the reader's `own` messages are always shown.
 */
export function Scroller(props: {
  label: string;
  follow: string;
  own: boolean;
  older?: OlderPart;
  children: ComponentChildren;
}) {
  const { label, follow, own, older, children } = props;
  const box: Box = useRef(null);
  const content = useRef<HTMLDivElement>(null);
  const { hasMissed, goToEnd, noteScroll } = useEnd(box, content, { follow, own });
  const { isLoading, loadOlder } = useOlder(box, older);
  return (
    <div class="scroller">
      <section
        ref={box}
        class="scrolled"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        tabIndex={0}
        aria-label={label}
        onScroll={({ currentTarget }) => {
          noteScroll(currentTarget);
          const { scrollTop, scrollHeight, clientHeight } = currentTarget;
          if (scrollTop < NEAR_PX && scrollHeight > clientHeight) void loadOlder();
        }}
      >
        <div ref={content} class="content">
          {older && (
            <button
              type="button"
              class="earlier"
              aria-disabled={isLoading}
              onClick={() => void loadOlder()}
            >
              {isLoading ? 'Loading earlier messages…' : 'Earlier messages'}
            </button>
          )}
          {children}
        </div>
      </section>
      {hasMissed && (
        <button type="button" class="to-end filled" onClick={goToEnd}>
          New messages ↓
        </button>
      )}
    </div>
  );
}

/** Keeps the list at its end. `hasMissed` is true if a message came while the reader was elsewhere. */
function useEnd(
  box: Box,
  content: RefObject<HTMLDivElement | null>,
  { follow, own }: { follow: string; own: boolean },
) {
  const isAtEnd = useRef(true);
  const layoutPx = useRef(0);
  const [hasMissed, setHasMissed] = useState(false);

  function goToEnd() {
    isAtEnd.current = true;
    setHasMissed(false);
    if (!box.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    layoutPx.current = layoutOf(box.current);
  }

  function noteScroll(element: HTMLElement) {
    const { scrollTop, scrollHeight, clientHeight } = element;
    const isNear = scrollHeight - clientHeight - scrollTop < NEAR_PX;
    // A new layout scrolls the list by itself. Only a reader scrolls a list of the same height.
    if (isNear || layoutPx.current === layoutOf(element)) isAtEnd.current = isNear;
    layoutPx.current = layoutOf(element);
    if (isNear) setHasMissed(false);
  }

  // An answer grows without a new message, and a narrower window makes the list longer.
  useEffect(() => {
    if (!content.current || !box.current) return;
    const observer = new ResizeObserver(() => isAtEnd.current && goToEnd());
    observer.observe(content.current);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (isAtEnd.current || own) goToEnd();
    else setHasMissed(true);
  }, [follow]);

  return { hasMissed, goToEnd, noteScroll };
}

const layoutOf = ({ scrollHeight, clientHeight }: HTMLElement) => scrollHeight + clientHeight;

/** Loads older items without moving the list under the reader's eyes. */
function useOlder(box: Box, older: OlderPart | undefined) {
  const [isLoading, setIsLoading] = useState(false);
  /** Distance from the end when the items were requested. */
  const fromEndPx = useRef<number | undefined>(undefined);

  async function loadOlder() {
    if (!older || isLoading || !box.current) return;
    setIsLoading(true);
    // The browser's own anchoring only works in some places of the list.
    box.current.style.overflowAnchor = 'none';
    fromEndPx.current = box.current.scrollHeight - box.current.scrollTop;
    await older.load().catch(() => undefined);
    setIsLoading(false);
  }

  useLayoutEffect(() => {
    if (fromEndPx.current === undefined || !box.current) return;
    box.current.scrollTop = box.current.scrollHeight - fromEndPx.current;
    box.current.style.overflowAnchor = '';
    fromEndPx.current = undefined;
  }, [older?.first]);

  return { isLoading, loadOlder };
}
