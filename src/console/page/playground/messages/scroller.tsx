import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** How near the end a reader is who wants to stay there, in pixels. */
const NEAR_PX = 80;

/** What stands before the first of a list, and is fetched when the reader comes near. */
export interface Older {
  /** Changes when what is older has come. */
  first: string;
  load(): Promise<void>;
}

/**
 * A list that stays at its end while it grows, unless the reader has scrolled up; then a button leads back.
 * `follow` changes with each new message; one of the reader's `own` is always shown.
 */
export function Scroller({
  label,
  follow,
  own,
  older,
  children,
}: {
  label: string;
  follow: string;
  own: boolean;
  older?: Older | undefined;
  children: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const height = useRef(0);
  const [missed, setMissed] = useState(false);
  const [loading, setLoading] = useState(false);
  /** How far from its end the list stood when older ones were asked for. */
  const fromEndPx = useRef<number | undefined>(undefined);

  const toEnd = () => {
    atEnd.current = true;
    setMissed(false);
    if (!box.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    height.current = box.current.scrollHeight + box.current.clientHeight;
  };

  // A streamed answer grows without a new message, and so does a picture of the list when the window narrows.
  useEffect(() => {
    if (!content.current || !box.current) return;
    const observer = new ResizeObserver(() => atEnd.current && toEnd());
    observer.observe(content.current);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  async function loadOlder() {
    if (!older || loading || !box.current) return;
    setLoading(true);
    // The browser's own anchoring works in some places of the list only.
    box.current.style.overflowAnchor = 'none';
    fromEndPx.current = box.current.scrollHeight - box.current.scrollTop;
    await older.load().catch(() => undefined);
    setLoading(false);
  }

  // What the reader sees stays where it is.
  useLayoutEffect(() => {
    if (fromEndPx.current === undefined || !box.current) return;
    box.current.scrollTop = box.current.scrollHeight - fromEndPx.current;
    box.current.style.overflowAnchor = '';
    fromEndPx.current = undefined;
  }, [older?.first]);

  useEffect(() => {
    if (atEnd.current || own) toEnd();
    else setMissed(true);
  }, [follow]);

  return (
    <div class="scroller">
      <section
        ref={box}
        class="scrolled"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        tabIndex={0}
        aria-label={label}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          const near = scrollHeight - clientHeight - scrollTop < NEAR_PX;
          // A list that was laid out anew scrolls by itself; only a reader scrolls one that stays the same.
          if (near || height.current === scrollHeight + clientHeight) atEnd.current = near;
          height.current = scrollHeight + clientHeight;
          if (near) setMissed(false);
          if (scrollTop < NEAR_PX && scrollHeight > clientHeight) void loadOlder();
        }}
      >
        <div ref={content} class="content">
          {older && (
            <button
              type="button"
              class="earlier"
              aria-disabled={loading}
              onClick={() => void loadOlder()}
            >
              {loading ? 'Loading earlier messages…' : 'Earlier messages'}
            </button>
          )}
          {children}
        </div>
      </section>
      {missed && (
        <button type="button" class="to-end filled" onClick={toEnd}>
          New messages ↓
        </button>
      )}
    </div>
  );
}
