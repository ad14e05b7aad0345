import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Collection, CollectionDeclaration, StoreKey } from '../store.ts';

/** 256 bits as base64url; the word `lost` is what an operator writes in place of a key that is gone for good. */
const SecretKey = z.object({ key: z.union([z.string().regex(/^[\w-]{43}$/), z.literal('lost')]) });

export const SECRET_KEY: CollectionDeclaration<z.infer<typeof SecretKey>> = {
  name: 'secret-key',
  schema: SecretKey,
  version: 1,
  whenCorrupt: 'refuse',
};

export const SECRET_KEY_ID = 'key';
const KEY_BYTES = 32;

/** The key of the stored data, in a row of its own. Processes that create it at once get the same one. */
export function createSecretKey(
  collection: Collection<z.infer<typeof SecretKey>>,
  schema: string,
): StoreKey {
  return {
    place: `the collection '${SECRET_KEY.name}' in ${schema}.document`,
    async read() {
      const stored = await collection.get(SECRET_KEY_ID);
      if (stored === undefined) return 'missing';
      return stored.key === 'lost' ? 'given up' : { key: stored.key };
    },
    async make() {
      const made = await collection.update(SECRET_KEY_ID, (stored) =>
        stored && stored.key !== 'lost'
          ? stored
          : { key: randomBytes(KEY_BYTES).toString('base64url') },
      );
      if (made === undefined) throw new Error('Could not create the key of the stored data.');
      return made.key;
    },
    async restore(stored) {
      const key = stored === 'given up' ? 'lost' : stored;
      await collection.update(SECRET_KEY_ID, () => {
        if (key === 'missing') return undefined;
        return typeof key === 'object' ? key : { key };
      });
    },
  };
}
