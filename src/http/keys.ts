import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { KEY_RANDOM_LENGTH, KeyPrefix, type Service } from '../contracts/api-key.ts';
import { ErrorCode } from '../contracts/error.ts';
import { KeyLimits, type KeyLimitsChange, LIMIT_NAMES } from '../contracts/key-limits.ts';
import type { Store } from '../store/store.ts';
import { HttpError } from './errors.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Characters of the random part that stand as the key's id; 8 of 40 leave 190 bits secret. */
const ID_LENGTH = 8;

/** Characters of a SHA-256 in hex. */
const HASH_LENGTH = 64;

const StoredKey = z.object({
  name: z.string(),
  /** SHA-256 of the whole key, hex. A random key of 238 bits needs no slow hash. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAtMs: z.int(),
  limits: KeyLimits.optional(),
});

/** A key as it may be shown: never the key itself. */
export interface KeyInfo {
  id: string;
  name: string;
  createdAtMs: number;
  limits?: KeyLimits;
}

/** The API keys of one service, held in memory for look-ups and stored as hashes. */
export type Keys = Awaited<ReturnType<typeof openKeys>>;

/** Opens the keys of one service. Call once a process and service. */
export async function openKeys(store: Store, service: Service) {
  const collection = store.collection({
    name: `${service}-keys`,
    schema: StoredKey,
    version: 1,
    whenCorrupt: 'refuse',
  });
  const known = new Map<
    string,
    { info: KeyInfo; hash: Buffer; transient: boolean; usedAtMs?: number }
  >();
  for (const { id, document } of await collection.list()) {
    known.set(id, {
      info: infoOf(id, document),
      hash: Buffer.from(document.hash),
      transient: false,
    });
  }
  const prefix = KeyPrefix[service];
  const keyLength = prefix.length + KEY_RANDOM_LENGTH;
  const noHash = Buffer.alloc(HASH_LENGTH);
  const presented = Buffer.alloc(HASH_LENGTH);

  function make(name: string) {
    let random: string;
    do random = randomText(KEY_RANDOM_LENGTH);
    while (known.has(random.slice(0, ID_LENGTH)));
    const key = prefix + random;
    return {
      key,
      id: random.slice(0, ID_LENGTH),
      name,
      createdAtMs: Date.now(),
      hash: hashOf(key),
    };
  }

  function assertLimitable(limits: KeyLimitsChange) {
    if (service === 'gateway' || LIMIT_NAMES.every((name) => limits[name] == null)) return;
    throw new HttpError(
      400,
      ErrorCode.invalidValue,
      `Keys of the ${service} service take no limits of their own: its contract gives every key the same. Leave the limits out.`,
    );
  }

  return {
    service,
    /** Makes a key; `key` exists only in this answer. Throws a 400 for limits that the service does not have. */
    async create(name: string, limits: KeyLimits = {}): Promise<KeyInfo & { key: string }> {
      assertLimitable(limits);
      const { key, id, hash, createdAtMs } = make(name);
      const document = { name, hash, createdAtMs, ...asField(limits) };
      await collection.update(id, () => document);
      const info = infoOf(id, document);
      known.set(id, { info, hash: Buffer.from(hash), transient: false });
      return { ...info, key };
    },
    /**
     * Makes a key that lives as long as the process and is not stored: the bot's own, for the embedded services. Its id is
     * its name, so that who looks at usage sees one caller over all restarts.
     */
    createTransient(name: string): string {
      const { key, id, hash, createdAtMs } = make(name);
      const info = { id: name, name, createdAtMs };
      known.set(id, { info, hash: Buffer.from(hash), transient: true });
      return key;
    },
    /** The stored keys, oldest first. */
    list: (): KeyInfo[] =>
      [...known.values()]
        .filter((entry) => !entry.transient)
        .map((entry) => entry.info)
        .sort((a, b) => a.createdAtMs - b.createdAtMs),
    /** Changes limits of a key from now on; `undefined` when there is none with this id. Throws a 400 as `create` does. */
    async limit(id: string, change: KeyLimitsChange): Promise<KeyInfo | undefined> {
      assertLimitable(change);
      const document = await collection.update(id, (stored) => {
        if (!stored) return undefined;
        const { limits, ...rest } = stored;
        return { ...rest, ...asField(changed(limits ?? {}, change)) };
      });
      const entry = known.get(id);
      if (!document || !entry) return undefined;
      const info = infoOf(id, document);
      known.set(id, { ...entry, info });
      return info;
    },
    /** Refuses the key from now on; false when there is none with this id. */
    async revoke(id: string): Promise<boolean> {
      if (!known.has(id)) return false;
      // Removed on the disk first: were that to fail after it was gone here, it would be back with the next start.
      await collection.update(id, () => undefined);
      known.delete(id);
      return true;
    },
    /** When a key was presented last, Unix time; `undefined` when it was not since this process began. */
    lastUsedMs: (id: string) => known.get(id)?.usedAtMs,
    /** Whose key this is, or `undefined`. */
    verify(key: string): KeyInfo | undefined {
      if (key.length !== keyLength || !key.startsWith(prefix)) return undefined;
      const found = known.get(key.slice(prefix.length, prefix.length + ID_LENGTH));
      // Compared also when the id is unknown, so that the time does not tell which ids exist.
      presented.write(hashOf(key), 'latin1');
      const same = timingSafeEqual(presented, found?.hash ?? noHash);
      if (!found || !same) return undefined;
      found.usedAtMs = Date.now();
      return found.info;
    },
  };
}

function infoOf(id: string, { name, createdAtMs, limits }: z.infer<typeof StoredKey>): KeyInfo {
  return { id, name, createdAtMs, ...(limits && { limits }) };
}

function changed(limits: KeyLimits, change: KeyLimitsChange): KeyLimits {
  const result = { ...limits };
  for (const name of LIMIT_NAMES) {
    const value = change[name];
    if (value === null) delete result[name];
    else if (value !== undefined) result[name] = value;
  }
  return result;
}

function asField(limits: KeyLimits): { limits?: KeyLimits } {
  return LIMIT_NAMES.some((name) => limits[name] !== undefined) ? { limits } : {};
}

/** As hex: asked for a buffer, Node takes three times as long. */
function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
