import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { KEY_RANDOM_LENGTH, type KeyedService, KeyPrefix } from '../contracts/api-key.ts';
import { ErrorCode } from '../contracts/error.ts';
import { KeyLimits, type KeyLimitsChange, LIMIT_NAMES } from '../contracts/key-limits.ts';
import type { Collection, Following, Store } from '../store/store.ts';
import { HttpError, unavailable } from './errors.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Characters of the random part that are the key's id; 8 of 40 leave 190 bits secret. */
const ID_LENGTH = 8;

/** Characters of a SHA-256 in hex. */
const HASH_LENGTH = 64;

/** Stored keys are refused if revocations have been unknown for this long. */
const MAX_STALE_MS = 10_000;

/** `confirm` asks the store if revocations have been unknown for this long, because the process may have been frozen. */
const FRESH_MS = 1_500;

const StoredKey = z.object({
  name: z.string(),
  /** SHA-256 of the whole key, hex. A random key of 238 bits needs no slow hash. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdAtMs: z.int(),
  limits: KeyLimits.optional(),
  readOnly: z.boolean().optional(),
});

/** A key without its secret. */
export interface KeyInfo {
  id: string;
  name: string;
  createdAtMs: number;
  limits?: KeyLimits;
  readOnly?: true;
  /** The key exists only in this process. */
  isTransient?: true;
}

interface KnownKey {
  info: KeyInfo;
  hash: Buffer;
  usedAtMs: number | undefined;
}

interface KeysOptions {
  maxStaleMs?: number;
  randomText?: (length: number) => string;
}

const keysCollection = (service: KeyedService) => ({
  name: `${service}-keys`,
  schema: StoredKey,
  version: 1,
  whenCorrupt: 'refuse' as const,
});

export const openKeys = (store: Store, service: KeyedService, options: KeysOptions = {}) =>
  Keys.open(store, service, options);

/** API keys of one service, stored as hashes. Look-ups read a copy in memory that follows the store. */
export class Keys {
  readonly service: KeyedService;
  readonly #store: Store;
  readonly #collection: Collection<z.infer<typeof StoredKey>>;
  readonly #stored = new Map<string, KnownKey>();
  readonly #transient = new Map<string, KnownKey>();
  readonly #maxStaleMs: number;
  readonly #randomText: (length: number) => string;
  readonly #noHash = Buffer.alloc(HASH_LENGTH);
  readonly #presented = Buffer.alloc(HASH_LENGTH);
  #following!: Following;

  private constructor(store: Store, service: KeyedService, options: KeysOptions) {
    this.service = service;
    this.#store = store;
    this.#collection = store.collection(keysCollection(service));
    this.#maxStaleMs = options.maxStaleMs ?? MAX_STALE_MS;
    this.#randomText = options.randomText ?? randomLettersAndDigits;
  }

  static async open(store: Store, service: KeyedService, options: KeysOptions): Promise<Keys> {
    const keys = new Keys(store, service, options);
    const stored = keys.#stored;
    keys.#following = await keys.#collection.follow((changed) => {
      for (const { id, document } of changed) {
        if (document) stored.set(id, knownKey(infoOf(id, document), document.hash, stored.get(id)));
        else stored.delete(id);
      }
    });
    return keys;
  }

  /** Only this result contains the key itself. Throws a 400 for options that the service's keys can't have. */
  async create(
    name: string,
    limits: KeyLimits = {},
    { readOnly = false } = {},
  ): Promise<KeyInfo & { key: string }> {
    this.#assertLimitable(limits);
    if (readOnly) this.#assertReadable();
    while (true) {
      const { key, id, hash, createdAtMs } = this.#generate();
      const document = {
        name,
        hash,
        createdAtMs,
        ...limitsField(limits),
        ...(readOnly && { readOnly }),
      };
      const stored = await this.#collection.update(id, (current) => current ?? document);
      // Another process may have created a key with the same id that isn't known here yet.
      if (stored?.hash === hash) return { ...infoOf(id, document), key };
    }
  }

  /** `undefined` if there is a key already, or another process creates it. */
  async createFirst(name: string): Promise<string | undefined> {
    if (this.#stored.size > 0) return undefined;
    const lease = await this.#store.lease(`first-${this.service}-key`);
    try {
      // The last holder of the lease may have created it.
      if (!lease || (await this.#collection.list()).length > 0) return undefined;
      return (await this.create(name)).key;
    } finally {
      await lease?.release();
    }
  }

  /** The bot's own key, which isn't stored. Its id is its name, so that usage shows one caller across restarts. */
  createTransient(name: string): string {
    const { key, id, hash, createdAtMs } = this.#generate();
    this.#transient.set(id, knownKey({ id: name, name, createdAtMs, isTransient: true }, hash));
    return key;
  }

  list(): KeyInfo[] {
    const infos = [...this.#stored.values()].map(({ info }) => info);
    return infos.sort((a, b) => a.createdAtMs - b.createdAtMs);
  }

  async limit(id: string, change: KeyLimitsChange): Promise<KeyInfo | undefined> {
    this.#assertLimitable(change);
    const document = await this.#collection.update(id, (key) => {
      if (!key) return undefined;
      const { limits, ...rest } = key;
      return { ...rest, ...limitsField(changeLimits(limits ?? {}, change)) };
    });
    return document && infoOf(id, document);
  }

  async revoke(id: string): Promise<boolean> {
    let isRevoked = false;
    await this.#collection.update(id, (key) => {
      isRevoked = key !== undefined;
      return undefined;
    });
    return isRevoked;
  }

  /**
   * Rejects with the 401 for a key that was revoked lately, and with a 503 if that can't be determined; `undefined` if it can't have
   * been missed.
   */
  confirm({ id, isTransient }: KeyInfo): Promise<void> | undefined {
    if (isTransient || this.#following.staleMs() <= FRESH_MS) return undefined;
    return this.#following
      .catchUp()
      ?.catch(() => this.#assertFresh())
      .then(() => {
        if (this.#stored.has(id)) return;
        throw new HttpError(401, ErrorCode.invalidKey, 'This key was just revoked.', {
          headers: { 'www-authenticate': 'Bearer' },
        });
      });
  }

  /** Unix time at which a key was last sent to this process. */
  lastUsedMs(id: string): number | undefined {
    return this.#stored.get(id)?.usedAtMs;
  }

  /** Returns the key's info, or `undefined` for an invalid key. Throws a 503 if that can't be determined. */
  verify(key: string): KeyInfo | undefined {
    const prefix = KeyPrefix[this.service];
    if (key.length !== prefix.length + KEY_RANDOM_LENGTH || !key.startsWith(prefix)) {
      return undefined;
    }
    const id = key.slice(prefix.length, prefix.length + ID_LENGTH);
    const candidate = this.#stored.get(id) ?? this.#transient.get(id);
    // An unknown id is compared as well, so that the response time doesn't reveal which ids exist.
    this.#presented.write(hashOf(key), 'latin1');
    const isSame = timingSafeEqual(this.#presented, candidate?.hash ?? this.#noHash);
    if (!isSame || !candidate?.info.isTransient) this.#assertFresh();
    if (!candidate || !isSame) return undefined;
    candidate.usedAtMs = Date.now();
    return candidate.info;
  }

  #generate() {
    let random: string;
    do random = this.#randomText(KEY_RANDOM_LENGTH);
    while (this.#isTaken(random.slice(0, ID_LENGTH)));
    const key = KeyPrefix[this.service] + random;
    return { key, id: random.slice(0, ID_LENGTH), createdAtMs: Date.now(), hash: hashOf(key) };
  }

  #isTaken(id: string): boolean {
    return this.#stored.has(id) || this.#transient.has(id);
  }

  #assertLimitable(limits: KeyLimitsChange): void {
    if (this.service === 'gateway' || LIMIT_NAMES.every((name) => limits[name] == null)) return;
    throw new HttpError(
      400,
      ErrorCode.invalidValue,
      `Keys of the ${this.service} service cannot have their own limits: every key has the same one. Leave the limits out.`,
    );
  }

  #assertReadable(): void {
    if (this.service === 'monitoring') return;
    throw new HttpError(
      400,
      ErrorCode.invalidValue,
      `Keys of the ${this.service} service cannot be read-only: they exist to send requests. Leave that out.`,
      { param: 'readOnly' },
    );
  }

  /** Throws the 503 if revocations are unknown. After a 401, callers would discard a valid key. */
  #assertFresh(): void {
    if (this.#following.staleMs() <= this.#maxStaleMs) return;
    throw unavailable(
      'The service cannot reach its database, so it cannot tell whether this key is still valid. Keep the key, wait 5 s (Retry-After) and try again.',
      5,
    );
  }
}

const knownKey = (info: KeyInfo, hash: string, previous?: KnownKey): KnownKey => ({
  info,
  hash: Buffer.from(hash),
  usedAtMs: previous?.usedAtMs,
});

function infoOf(id: string, stored: z.infer<typeof StoredKey>): KeyInfo {
  const { name, createdAtMs, limits, readOnly } = stored;
  return { id, name, createdAtMs, ...(limits && { limits }), ...(readOnly && { readOnly }) };
}

function changeLimits(limits: KeyLimits, change: KeyLimitsChange): KeyLimits {
  const result = { ...limits };
  for (const name of LIMIT_NAMES) {
    const value = change[name];
    if (value === null) delete result[name];
    else if (value !== undefined) result[name] = value;
  }
  return result;
}

function limitsField(limits: KeyLimits): { limits?: KeyLimits } {
  return LIMIT_NAMES.some((name) => limits[name] !== undefined) ? { limits } : {};
}

/** SHA-256 as hex text; Node needs three times as long for a buffer. */
function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}

function randomLettersAndDigits(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
