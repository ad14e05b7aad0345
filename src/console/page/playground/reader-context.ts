import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ConsolePerson } from '../../shared/api-types.ts';
import { type ChatState, emptyState } from './state.ts';

/** The person who reads the page, and everything that all its parts need. */
export const Reader = createContext<
  Pick<ChatState, 'person' | 'names' | 'commands'> & { dismiss(message: string): void }
>({ ...emptyState, dismiss: () => undefined });

/** Finds a person's current name. Someone who isn't known any more keeps the name of their message. */
export function useName(): (someone: ConsolePerson) => string {
  const { names } = useContext(Reader);
  return ({ id, name }) => names.get(id) ?? name;
}
