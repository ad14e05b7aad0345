import { useEffect, useState } from 'preact/hooks';

export const addressOf = (id: string) => `#/${encodeURIComponent(id)}`;

/** Reads the id of the opened monitor from the address, `#/<id>`. */
export function monitorInAddress(): string | undefined {
  const part = /^#\/([^/]+)$/.exec(location.hash)?.[1];
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    // A mistyped address opens nothing.
    return undefined;
  }
}

/** The tag in the address, `?tag=eu`; choosing another one replaces the address. */
export function useTag() {
  const [tag, setTag] = useState(tagInAddress);
  return [
    tag,
    (next: string | undefined) => {
      const query = next === undefined ? '' : `?tag=${encodeURIComponent(next)}`;
      history.replaceState(history.state, '', location.pathname + query + location.hash);
      setTag(next);
    },
  ] as const;
}

const tagInAddress = () =>
  new URLSearchParams(location.search).get('tag')?.trim().toLowerCase() || undefined;

export function useNowMs(everyMs: number): number {
  const [nowMs, setNowMs] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}
