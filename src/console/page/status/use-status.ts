import { useEffect, useState } from 'preact/hooks';

/** Where a monitor is opened. */
export const addressOf = (id: string) => `#/${encodeURIComponent(id)}`;

/** The monitor named in the address, `#/<id>`: the one that is open. */
export function monitorInAddress(): string | undefined {
  const part = /^#\/([^/]+)$/.exec(location.hash)?.[1];
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    // Somebody's own address, which names nothing.
    return undefined;
  }
}

/** The time now, again every `everyMs`. */
export function useNowMs(everyMs: number): number {
  const [nowMs, setNowMs] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}
