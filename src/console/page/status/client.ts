import type { StatusDetails, StatusEvent } from '../../status/api-types.ts';
import { leadsToLogin, leadToLoginIfRefused } from '../shared/session.ts';
import { applyEvent, emptyStatus, type StatusState } from './state.ts';

/** Pause before a refused event stream is asked for again. */
const RECONNECT_AFTER_MS = 1_500;

/** What the status page knows, kept live, and what it can ask. */
export interface StatusClient {
  state(): StatusState;
  subscribe(listener: () => void): () => void;
  /** What is known of one monitor over the last hours; undefined when there is none such. Throws an `Error` with a sentence. */
  details(id: string, hours: number, signal: AbortSignal): Promise<StatusDetails | undefined>;
}

/** Connects to the server this page came from. */
export function createStatusClient(): StatusClient {
  const listeners = new Set<() => void>();
  let state = emptyStatus;

  function set(next: StatusState) {
    if (next === state) return;
    state = next;
    for (const listener of listeners) listener();
  }

  function connect() {
    const source = new EventSource('/status/events');
    source.onopen = () => set({ ...state, connection: 'open' });
    source.onmessage = (message: MessageEvent<string>) =>
      set(applyEvent(state, JSON.parse(message.data) as StatusEvent));
    source.onerror = () => {
      set({ ...state, connection: 'lost' });
      // The browser comes back by itself after a cut, but not after a refusal such as 503.
      if (source.readyState !== EventSource.CLOSED) return;
      void leadToLoginIfRefused('/status.json');
      setTimeout(connect, RECONNECT_AFTER_MS);
    };
  }

  connect();
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async details(id, hours, signal) {
      const path = `/status/monitors/${encodeURIComponent(id)}?hours=${hours}`;
      const response = await fetch(path, { signal });
      if (response.status === 404) return undefined;
      if (leadsToLogin(response)) throw new Error('The session is over.');
      if (!response.ok) throw new Error(`Askwatch answered with status ${response.status}.`);
      return (await response.json()) as StatusDetails;
    },
  };
}
