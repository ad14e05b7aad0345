import type { StatusDetails, StatusEvent } from '../../status/api-types.ts';
import { createLiveState, keepConnected } from '../shared/live-state.ts';
import { leadsToLogin, leadToLoginIfRefused } from '../shared/session.ts';
import { applyEvent, emptyStatus } from './state.ts';

export type StatusClient = ReturnType<typeof createStatusClient>;

export function createStatusClient() {
  const { state, subscribe, set } = createLiveState(emptyStatus);

  keepConnected({
    url: '/status/events',
    onOpen: () => set({ ...state(), connection: 'open' }),
    onMessage: ({ data }) => set(applyEvent(state(), JSON.parse(data) as StatusEvent)),
    onLost: () => set({ ...state(), connection: 'lost' }),
    onRefused: () => void leadToLoginIfRefused('/status.json'),
  });
  return {
    state,
    subscribe,
    /** Loads a monitor over the last hours; undefined if there is none. Throws an `Error` with a sentence. */
    async details(id: string, hours: number, signal: AbortSignal) {
      const path = `/status/monitors/${encodeURIComponent(id)}?hours=${hours}`;
      const response = await fetch(path, { signal });
      if (response.status === 404) return undefined;
      if (leadsToLogin(response)) throw new Error('The session has ended.');
      if (!response.ok) throw new Error(`Askwatch answered with status ${response.status}.`);
      return (await response.json()) as StatusDetails;
    },
  };
}
