import { useEffect, useState } from 'preact/hooks';
import type { Client } from './client.ts';
import type { State } from './state.ts';

/** The client's state; the component is drawn again when it changes. */
export function useClientState(client: Client): State {
  const [state, setState] = useState(client.state());
  useEffect(() => {
    setState(client.state());
    return client.subscribe(() => setState(client.state()));
  }, [client]);
  return state;
}

/** The message named in the address, `#/general/<message>`: the thread that is open. */
export function useThreadInAddress(): [string | undefined, (root: string | undefined) => void] {
  const [root, setRoot] = useState(threadInAddress());
  useEffect(() => {
    const follow = () => setRoot(threadInAddress());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  const go = (next: string | undefined) => {
    location.hash = next === undefined ? '#/general' : `#/general/${encodeURIComponent(next)}`;
  };
  return [root, go];
}

function threadInAddress(): string | undefined {
  const part = /^#\/general\/([^/]+)$/.exec(location.hash)?.[1];
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
