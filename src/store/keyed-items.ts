import { z } from 'zod';
import { beginTurn } from '../contracts/event-loop.ts';
import { freeze, notStorable } from './documents.ts';
import type { KeyedChanges, KeyedDeclaration } from './store.ts';

export interface EncodedItem {
  id: string;
  text: string;
}

/** Changes with their values as JSON. Throws if a value, read back from its JSON, wouldn't fit the schema. */
export async function encodeItems<T>(
  { name, schema }: KeyedDeclaration<T>,
  changes: KeyedChanges<T>,
) {
  const puts: EncodedItem[] = [];
  const deletes: string[] = [];
  const turn = beginTurn();
  for (const [id, value] of changes) {
    if (turn.isOver()) await turn.next();
    if (value === undefined) {
      deletes.push(id);
      continue;
    }
    const text = JSON.stringify(value);
    const { error } = schema.safeParse(JSON.parse(text));
    if (error) throw notStorable(name, new Error(z.prettifyError(error)));
    freeze(value);
    puts.push({ id, text });
  }
  return { puts, deletes };
}

/** Items as their schema wants them. `onMisfit` is called for each one that doesn't fit, which is left out. */
export function fitItems<T>(
  { schema }: KeyedDeclaration<T>,
  found: ReadonlyMap<string, unknown>,
  onMisfit: (id: string, reason: string) => void,
): Map<string, T> {
  const items = new Map<string, T>();
  for (const [id, value] of found) {
    const { data, error } = schema.safeParse(value);
    if (error) onMisfit(id, z.prettifyError(error));
    else items.set(id, freeze(data));
  }
  return items;
}

export function applyChanges<T>(items: Map<string, T>, changes: KeyedChanges<T>): void {
  for (const [id, value] of changes) {
    if (value === undefined) items.delete(id);
    else items.set(id, value);
  }
}
