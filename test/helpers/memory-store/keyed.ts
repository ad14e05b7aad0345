import { CorruptDocumentError } from '../../../src/store/errors.ts';
import { encodeItems, fitItems } from '../../../src/store/keyed-items.ts';
import type { Closable, StoreAccess } from '../../../src/store/local-store.ts';
import type { Keyed, KeyedChanges, KeyedDeclaration } from '../../../src/store/store.ts';

export function openMemoryKeyed<T>(
  declaration: KeyedDeclaration<T>,
  /** JSON of the values, by id. */
  stored: Map<string, string>,
  { assertWritable }: StoreAccess,
): Closable<Keyed<T>> {
  const found = new Map([...stored].map(([id, text]) => [id, JSON.parse(text) as unknown]));
  const items = fitItems(declaration, found, (id, reason) => {
    if (declaration.whenCorrupt === 'forget') return;
    throw new CorruptDocumentError(`The item ${id} of '${declaration.name}' is damaged: ${reason}`);
  });
  let last: Promise<void> = Promise.resolve();

  async function apply(changes: KeyedChanges<T>) {
    await encodeItems(declaration, changes);
    for (const [id, value] of changes) {
      if (value === undefined) {
        items.delete(id);
        stored.delete(id);
      } else {
        items.set(id, value);
        stored.set(id, JSON.stringify(value));
      }
    }
  }

  async function write(changes: KeyedChanges<T>): Promise<void> {
    assertWritable();
    const result = last.then(() => apply(changes));
    last = result.catch(() => {});
    await result;
  }

  return { items: () => items, write, erase: write, close: () => last };
}
