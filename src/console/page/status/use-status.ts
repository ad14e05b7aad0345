import { useEffect, useState } from 'preact/hooks';
import type { StatusClient } from './client.ts';
import type { StatusState } from './state.ts';

/** The client's state; the component is drawn again when it changes. */
export function useStatus(client: StatusClient): StatusState {
  const [state, setState] = useState(client.state());
  useEffect(() => {
    setState(client.state());
    return client.subscribe(() => setState(client.state()));
  }, [client]);
  return state;
}

/** Where a monitor is opened. */
export const addressOf = (id: string) => `#/${encodeURIComponent(id)}`;

/** The monitor named in the address, `#/<id>`: the one that is open. */
export function useMonitorInAddress(): string | undefined {
  const [id, setId] = useState(monitorInAddress());
  useEffect(() => {
    const follow = () => setId(monitorInAddress());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return id;
}

function monitorInAddress(): string | undefined {
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
