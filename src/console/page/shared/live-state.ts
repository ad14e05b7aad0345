import { useEffect, useState } from 'preact/hooks';

/** Pause before a refused event stream is requested again. */
const RECONNECT_AFTER_MS = 1_500;

export interface LiveState<T> {
  state(): T;
  subscribe(listener: () => void): () => void;
}

export function createLiveState<T>(first: T): LiveState<T> & { set(next: T): void } {
  const listeners = new Set<() => void>();
  let state = first;
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(next) {
      if (next === state) return;
      state = next;
      for (const listener of listeners) listener();
    },
  };
}

/** Renders the component again when the state changes. */
export function useLiveState<T>(client: LiveState<T>): T {
  const [state, setState] = useState(client.state());
  useEffect(() => {
    setState(client.state());
    return client.subscribe(() => setState(client.state()));
  }, [client]);
  return state;
}

/**
 * Keeps an event stream open. Browsers reconnect after a cut, but not after a refusal such as 503: then this calls
 * `onRefused` and requests the stream again.
 */
export function keepConnected(options: {
  url: string;
  onOpen(): void;
  onMessage(message: MessageEvent<string>): void;
  onLost(): void;
  onRefused(): void;
}): void {
  const { url, onOpen, onMessage, onLost, onRefused } = options;
  const source = new EventSource(url);
  source.onopen = onOpen;
  source.onmessage = onMessage;
  source.onerror = () => {
    onLost();
    if (source.readyState !== EventSource.CLOSED) return;
    onRefused();
    setTimeout(() => keepConnected(options), RECONNECT_AFTER_MS);
  };
}
