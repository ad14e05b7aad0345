import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Someone } from '../../shared/api-types.ts';
import type { Client } from './client.ts';
import { emptyState, type State } from './state.ts';

/** What every part of the page knows of whoever reads it, and what it can do for them. */
export const Reader = createContext<
  Pick<State, 'person' | 'names' | 'commands'> & Pick<Client, 'suggest' | 'dismiss' | 'upload'>
>({
  ...emptyState,
  suggest: async () => [],
  dismiss: () => undefined,
  upload: async () => ({ id: '', name: '', picture: false }),
});

/** What somebody is called now; those who are no longer known keep the name of their message. */
export function useName(): (someone: Someone) => string {
  const { names } = useContext(Reader);
  return ({ id, name }) => names.get(id) ?? name;
}
