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

/** Who has not known for so long what was revoked takes no stored key any more. */
const MAX_STALE_MS = 10_000;

const AGAIN_SECONDS = 5;

/** Who has not known for so long asks first: a process that stood still must not take what was revoked meanwhile. */
const FRESH_MS = 1_500;

const StoredKey = z.object({
  name: z.string(),
  /** SHA-256 of the whole key, hex. A random key of 238 bits needs no slow hash. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAtMs: z.int(),
  limits: KeyLimits.optional(),
  /** Absent of those that may write. */
  readOnly: z.boolean().optional(),
});

/** A key as it may be shown: never the key itself. */
export interface KeyInfo {
  id: string;
  name: string;
  createdAtMs: number;
  limits?: KeyLimits;
  /** Of a key that may change nothing. */
  readOnly?: true;
  /** Of a key that lives in this process alone. */
  isTransient?: true;
}

interface KnownKey {
  info: KeyInfo;
  hash: Buffer;
  usedAtMs: number | undefined;
}

/**
 * The API keys of one service, stored as hashes. For look-ups memory holds what the store says, so that a key that was made,
 * limited or revoked in another process counts here moments later.
 */
export type Keys = Awaited<ReturnType<typeof openKeys>>;

/** Opens the keys of one service. Call once a process and service. */
export async function openKeys(
  store: Store,
  service: Service,
  options: { maxStaleMs?: number; randomText?: (length: number) => string } = {},
) {
  const { maxStaleMs = MAX_STALE_MS, randomText = randomLettersAndDigits } = options;
  const collection = store.collection({
    name: `${service}-keys`,
    schema: StoredKey,
    version: 1,
    whenCorrupt: 'refuse',
  });
  const stored = new Map<string, KnownKey>();
  /** Those that only this process knows. */
  const transient = new Map<string, KnownKey>();
  const following = await collection.follow((changed) => {
    for (const { id, document } of changed) {
      if (document) stored.set(id, knownOf(infoOf(id, document), document.hash, stored.get(id)));
      else stored.delete(id);
    }
  });
  const prefix = KeyPrefix[service];
  const keyLength = prefix.length + KEY_RANDOM_LENGTH;
  const noHash = Buffer.alloc(HASH_LENGTH);
  const presented = Buffer.alloc(HASH_LENGTH);

  const isTaken = (id: string) => stored.has(id) || transient.has(id);

  function make(name: string) {
    let random: string;
    do random = randomText(KEY_RANDOM_LENGTH);
    while (isTaken(random.slice(0, ID_LENGTH)));
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
      `Keys of the ${service} service cannot have their own limits: every key has the same one. Leave the limits out.`,
    );
  }

  function assertReadable() {
    if (service === 'monitoring') return;
    throw new HttpError(
      400,
      ErrorCode.invalidValue,
      `Keys of the ${service} service cannot be read-only: they exist to send requests. Leave that out.`,
      { param: 'readOnly' },
    );
  }

  async function create(
    name: string,
    limits: KeyLimits = {},
    { readOnly = false } = {},
  ): Promise<KeyInfo & { key: string }> {
    assertLimitable(limits);
    if (readOnly) assertReadable();
    while (true) {
      const { key, id, hash, createdAtMs } = make(name);
      const document = {
        ...{ name, hash, createdAtMs, ...asField(limits) },
        ...(readOnly && { readOnly }),
      };
      const there = await collection.update(id, (other) => other ?? document);
      // Another process may have made one with the same id, and nobody has told yet.
      if (there?.hash === hash) return { ...infoOf(id, document), key };
    }
  }

  /** Throws the 503 when it is not known any more which keys count: a 401 would have callers throw theirs away. */
  function assertKnowing() {
    if (following.staleMs() <= maxStaleMs) return;
    throw new HttpError(
      503,
      ErrorCode.unavailable,
      `The service cannot reach its database, so it cannot tell whether this key is still valid. Keep the key, wait ${AGAIN_SECONDS} s (Retry-After) and try again.`,
      { headers: { 'retry-after': String(AGAIN_SECONDS) } },
    );
  }

  return {
    service,
    /** Makes a key; `key` exists only in this answer. Throws a 400 for what keys of the service cannot have. */
    create,
    /** Makes the first key of a service that has none, in one of the processes that ask for it; `undefined` in all others. */
    async createFirst(name: string): Promise<string | undefined> {
      if (stored.size > 0) return undefined;
      const lease = await store.lease(`first-${service}-key`);
      try {
        // Whoever had the lease before may have made it.
        if (!lease || (await collection.list()).length > 0) return undefined;
        return (await create(name)).key;
      } finally {
        await lease?.release();
      }
    },
    /**
     * Makes a key that lives as long as the process and is not stored: the bot's own, for the embedded services. Its id is
     * its name, so that who looks at usage sees one caller over all restarts.
     */
    createTransient(name: string): string {
      const { key, id, hash, createdAtMs } = make(name);
      transient.set(id, knownOf({ id: name, name, createdAtMs, isTransient: true }, hash));
      return key;
    },
    /** The stored keys, oldest first. */
    list: (): KeyInfo[] =>
      [...stored.values()].map(({ info }) => info).sort((a, b) => a.createdAtMs - b.createdAtMs),
    /** Changes limits of a key from now on; `undefined` when there is none with this id. Throws a 400 as `create` does. */
    async limit(id: string, change: KeyLimitsChange): Promise<KeyInfo | undefined> {
      assertLimitable(change);
      const document = await collection.update(id, (key) => {
        if (!key) return undefined;
        const { limits, ...rest } = key;
        return { ...rest, ...asField(changed(limits ?? {}, change)) };
      });
      return document && infoOf(id, document);
    },
    /** Refuses the key from now on; false when there is none with this id. */
    async revoke(id: string): Promise<boolean> {
      let wasThere = false;
      await collection.update(id, (key) => {
        wasThere = key !== undefined;
        return undefined;
      });
      return wasThere;
    },
    /**
     * Makes sure that a key still counts, where this process may not have heard that it was revoked; `undefined` where it
     * would have. Rejects with the 401 of one that does not, and with a 503 when that is not known.
     */
    confirm({ id, isTransient }: KeyInfo): Promise<void> | undefined {
      if (isTransient || following.staleMs() <= FRESH_MS) return undefined;
      return following
        .catchUp()
        ?.catch(assertKnowing)
        .then(() => {
          if (stored.has(id)) return;
          throw new HttpError(401, ErrorCode.invalidKey, 'This key was just revoked.', {
            headers: { 'www-authenticate': 'Bearer' },
          });
        });
    },
    /** When a key was presented last to this process, Unix time; `undefined` when it was not since it began. */
    lastUsedMs: (id: string) => stored.get(id)?.usedAtMs,
    /** Whose key this is, or `undefined`. Throws a 503 when that is not known now. */
    verify(key: string): KeyInfo | undefined {
      if (key.length !== keyLength || !key.startsWith(prefix)) return undefined;
      const id = key.slice(prefix.length, prefix.length + ID_LENGTH);
      const found = stored.get(id) ?? transient.get(id);
      // Compared also when the id is unknown, so that the time does not tell which ids exist.
      presented.write(hashOf(key), 'latin1');
      const same = timingSafeEqual(presented, found?.hash ?? noHash);
      if (!same || !found?.info.isTransient) assertKnowing();
      if (!found || !same) return undefined;
      found.usedAtMs = Date.now();
      return found.info;
    },
  };
}

/** A key as memory holds it, in place of what was known of it before. */
const knownOf = (info: KeyInfo, hash: string, before?: KnownKey): KnownKey => ({
  info,
  hash: Buffer.from(hash),
  usedAtMs: before?.usedAtMs,
});

function infoOf(id: string, stored: z.infer<typeof StoredKey>): KeyInfo {
  const { name, createdAtMs, limits, readOnly } = stored;
  return { id, name, createdAtMs, ...(limits && { limits }), ...(readOnly && { readOnly }) };
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

function randomLettersAndDigits(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
