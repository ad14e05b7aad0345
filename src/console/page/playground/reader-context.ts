import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Someone } from '../../shared/api-types.ts';
import type { Client } from './client.ts';

/** What every part of the page knows of whoever reads it. */
export interface ReaderContext {
  person: Someone;
  names: ReadonlyMap<string, string>;
  suggest: Client['suggest'];
}

export const Reader = createContext<ReaderContext>({
  person: { id: '', name: '' },
  names: new Map(),
  suggest: async () => [],
});

/** What somebody is called now; those who are no longer known keep the name of their message. */
export function useName(): (someone: Someone) => string {
  const { names } = useContext(Reader);
  return ({ id, name }) => names.get(id) ?? name;
}
