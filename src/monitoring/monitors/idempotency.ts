import { createHash, createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import { HttpError } from '../../http/errors.ts';
import type { Store } from '../../store/store.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import { DAY_MS } from '../time/clock.ts';

/** A repeat is recognized for this long. */
const KEPT_MS = DAY_MS;

/** 256 bits, like the hash. An idempotency key alone, without the salt, doesn't reveal the push token. */
const SALT_BYTES = 32;

/** A create with an idempotency key; its ID is the hash of that key and the API key's ID. */
const StoredCreate = z.object({
  atMs: z.int(),
  bodyHash: z.string().length(64),
  monitor: z.string(),
  /** The push token is derived from this and the idempotency key, which isn't stored. */
  salt: z.string(),
  /** The monitor was removed; a repeat must not create it again. */
  removed: z.literal(true).optional(),
});
type StoredCreate = z.infer<typeof StoredCreate>;

export interface IdempotencyKey {
  apiKeyId: string;
  key: string;
  /** Throws if the monitor isn't allowed. Called before anything is stored, and not for a repeat. */
  admit?: () => Promise<void>;
}

/** A create and its repeats share these. */
export interface KnownCreate {
  id: string;
  monitor: string;
  /** The push token, for HEARTBEAT: the same at every repeat. */
  token: string;
}

export type IdempotentCreates = ReturnType<typeof openIdempotentCreates>;

/** Opens `monitor-creates`: creates of the last 24 hours that came with an idempotency key. */
export function openIdempotentCreates(options: {
  store: Store;
  wallMs: () => number;
  newMonitorId: () => string;
  exists: (monitor: string) => boolean;
}) {
  const { store, wallMs, newMonitorId, exists } = options;
  const collection = store.collection({
    name: 'monitor-creates',
    schema: StoredCreate,
    version: 1,
    whenCorrupt: 'refuse',
  });
  const running = new Map<string, { bodyHash: string; work: Promise<unknown> }>();
  const isOld = ({ atMs }: StoredCreate, nowMs: number) => nowMs - atMs >= KEPT_MS;

  /** Reads the stored create, or stores a new one. Admits it first, so that a refused key may come again with another body. */
  async function readOrStore(
    id: string,
    bodyHash: string,
    { admit }: IdempotencyKey,
  ): Promise<StoredCreate> {
    const nowMs = wallMs();
    const earlier = await collection.get(id);
    const isRepeat = earlier && !isOld(earlier, nowMs) && exists(earlier.monitor);
    if (!isRepeat) await admit?.();
    const fresh: StoredCreate = {
      atMs: nowMs,
      bodyHash,
      monitor: newMonitorId(),
      salt: randomBytes(SALT_BYTES).toString('base64url'),
    };
    // Before the monitor, and with its ID: a repeat after a crash between the two creates this one, not a second.
    const known =
      (await collection.update(id, (current) =>
        current && !isOld(current, nowMs) ? current : fresh,
      )) ?? fresh;
    if (known.bodyHash !== bodyHash) throw otherBody();
    if (known.removed && !exists(known.monitor)) throw removedSince();
    return known;
  }

  return {
    /**
     * Runs `create`, with the ID and token of the first create if this is a repeat. A repeat waits for a running create, and
     * throws the same refusal. Throws a 409 if the body differs or if the monitor was removed since.
     */
    async run<T>(
      idempotency: IdempotencyKey,
      definition: MonitorDefinition,
      create: (known: KnownCreate) => Promise<T>,
    ): Promise<T> {
      const id = createIdOf(idempotency);
      const body = canonical(definition);
      // Keyed, because the key isn't stored: the file alone doesn't help to guess secrets in the body.
      const bodyHash = createHmac('sha256', idempotency.key).update(body).digest('hex');
      for (let other = running.get(id); other; other = running.get(id)) {
        const error = await failureOf(other.work);
        // If the store failed instead, this create continues from what was stored.
        if (other.bodyHash === bodyHash && error instanceof HttpError) throw error;
      }
      const work = readOrStore(id, bodyHash, idempotency).then(({ monitor, salt }) =>
        create({ id, monitor, token: tokenOf(salt, idempotency.key) }),
      );
      running.set(id, { bodyHash, work });
      try {
        return await work;
      } finally {
        running.delete(id);
      }
    },
    async markRemoved(createId: string): Promise<void> {
      await collection.update(createId, (current) => current && { ...current, removed: true });
    },
    async prune(nowMs: number): Promise<void> {
      for (const { id, document } of await collection.list()) {
        if (!isOld(document, nowMs)) continue;
        await collection.update(id, (current) =>
          current && isOld(current, nowMs) ? undefined : current,
        );
      }
    },
  };
}

/** JSON separates the two unambiguously. */
const createIdOf = ({ apiKeyId, key }: IdempotencyKey) => sha256(JSON.stringify([apiKeyId, key]));

const tokenOf = (salt: string, key: string) =>
  createHmac('sha256', Buffer.from(salt, 'base64url')).update(key).digest('base64url');

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

const otherBody = () =>
  new HttpError(
    409,
    ErrorCode.idempotencyMismatch,
    'This Idempotency-Key was used with another body within the last 24 hours. Nothing was created. Send a new key with ' +
      'the new body, or the same body again to get the first answer.',
  );

const removedSince = () =>
  new HttpError(
    409,
    ErrorCode.idempotencyMismatch,
    'The monitor created with this Idempotency-Key has since been removed. Nothing was created. To create ' +
      'it again, send a new key.',
  );
