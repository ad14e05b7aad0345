import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { KEY_RANDOM_LENGTH, KeyPrefix, type Service } from '../contracts/api-key.ts';
import type { Store } from '../store/store.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Characters of the random part that stand as the key's id; 8 of 40 leave 190 bits secret. */
const ID_LENGTH = 8;

const StoredKey = z.object({
  name: z.string(),
  /** SHA-256 of the whole key, hex. A random key of 238 bits needs no slow hash. */
  hash: z.string().length(64),
  createdAtMs: z.int(),
});

/** A key as it may be shown: never the key itself. */
export interface KeyInfo {
  id: string;
  name: string;
  createdAtMs: number;
}

/** The API keys of one service, held in memory for look-ups and stored as hashes. */
export interface Keys {
  readonly service: Service;
  /** Makes a key; `key` exists only in this answer. */
  create(name: string): Promise<KeyInfo & { key: string }>;
  /** Makes a key that lives as long as the process and is not stored: the bot's own, for the embedded services. */
  createTransient(name: string): string;
  /** The stored keys, oldest first. */
  list(): KeyInfo[];
  /** Refuses the key from now on; false when there is none with this id. */
  revoke(id: string): Promise<boolean>;
  /** Whose key this is, or `undefined`. */
  verify(key: string): KeyInfo | undefined;
}

/** Opens the keys of one service. Call once a process and service. */
export async function openKeys(store: Store, service: Service): Promise<Keys> {
  const collection = store.collection({
    name: `${service}-keys`,
    schema: StoredKey,
    version: 1,
    whenCorrupt: 'refuse',
  });
  const known = new Map<string, { info: KeyInfo; hash: Buffer; transient: boolean }>();
  for (const { id, document } of await collection.list()) {
    const { name, createdAtMs } = document;
    const hash = Buffer.from(document.hash, 'hex');
    known.set(id, { info: { id, name, createdAtMs }, hash, transient: false });
  }
  const noHash = hashOf('');

  function make(name: string) {
    let random: string;
    do random = randomText(KEY_RANDOM_LENGTH);
    while (known.has(random.slice(0, ID_LENGTH)));
    const key = KeyPrefix[service] + random;
    const info = { id: random.slice(0, ID_LENGTH), name, createdAtMs: Date.now() };
    return { key, info, hash: hashOf(key) };
  }

  return {
    service,
    async create(name) {
      const { key, info, hash } = make(name);
      await collection.update(info.id, () => ({
        name,
        hash: hash.toString('hex'),
        createdAtMs: info.createdAtMs,
      }));
      known.set(info.id, { info, hash, transient: false });
      return { ...info, key };
    },
    createTransient(name) {
      const { key, info, hash } = make(name);
      known.set(info.id, { info, hash, transient: true });
      return key;
    },
    list: () =>
      [...known.values()]
        .filter((entry) => !entry.transient)
        .map((entry) => entry.info)
        .sort((a, b) => a.createdAtMs - b.createdAtMs),
    async revoke(id) {
      if (!known.has(id)) return false;
      // Removed on the disk first: were that to fail after it was gone here, it would be back with the next start.
      await collection.update(id, () => undefined);
      known.delete(id);
      return true;
    },
    verify(key) {
      const prefix = KeyPrefix[service];
      const id = key.startsWith(prefix) ? key.slice(prefix.length, prefix.length + ID_LENGTH) : '';
      const found = known.get(id);
      // Compared also when the id is unknown, so that the time does not tell which ids exist.
      const same = timingSafeEqual(hashOf(key), found?.hash ?? noHash);
      return found && same ? found.info : undefined;
    },
  };
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
