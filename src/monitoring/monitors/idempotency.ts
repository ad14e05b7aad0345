import { createHash, createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import { HttpError } from '../../http/errors.ts';
import type { Store } from '../../store/store.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import { DAY_MS } from '../time/clock.ts';

/** How long a repeat of a create is known as one. */
const KEPT_MS = DAY_MS;

/** As much salt as the hash has bits; without it nobody who knows an idempotency key can tell a push token. */
const SALT_BYTES = 32;

/** A create that came with an idempotency key; its id is the hash of that key and the API key's id. */
const StoredCreate = z.object({
  atMs: z.int(),
  bodyHash: z.string().length(64),
  monitor: z.string(),
  /** What the push token is made from, together with the idempotency key itself, which is not stored. */
  salt: z.string(),
  /** The monitor was removed: a repeat must not bring it back. */
  removed: z.literal(true).optional(),
});
type StoredCreate = z.infer<typeof StoredCreate>;

/** What makes two creates the same, and what the first of them has to pass. */
export interface IdempotencyKey {
  apiKeyId: string;
  key: string;
  /** Throws when there must be no such monitor; not called when there is one already. Nothing has been stored yet. */
  admit?: () => Promise<void>;
}

/** What a create and its repeats share. */
export interface KnownCreate {
  /** Of this create; goes with the monitor. */
  id: string;
  monitor: string;
  /** The push token, for HEARTBEAT: the same at every repeat. */
  token: string;
}

/** Opens `monitor-creates`: creates of the last 24 hours that came with an idempotency key. */
export function openIdempotentCreates(options: {
  store: Store;
  wallMs: () => number;
  newMonitorId: () => string;
  /** Whether there is such a monitor. */
  exists: (monitor: string) => boolean;
}) {
  const { store, wallMs, newMonitorId, exists } = options;
  const collection = store.collection({
    name: 'monitor-creates',
    schema: StoredCreate,
    version: 1,
    whenCorrupt: 'refuse',
  });
  const underWay = new Map<string, { bodyHash: string; work: Promise<unknown> }>();
  const isOld = ({ atMs }: StoredCreate, nowMs: number) => nowMs - atMs >= KEPT_MS;

  /** What is known of a create, stored when nothing was; older versions hashed the body without a key. Admission comes before: a refused key may take another body. */
  async function learn(
    id: string,
    [bodyHash, formerBodyHash]: readonly [string, string],
    { admit }: IdempotencyKey,
  ): Promise<StoredCreate> {
    const nowMs = wallMs();
    const earlier = await collection.get(id);
    const isMade = earlier && !isOld(earlier, nowMs) && exists(earlier.monitor);
    if (!isMade) await admit?.();
    const fresh: StoredCreate = {
      atMs: nowMs,
      bodyHash,
      monitor: newMonitorId(),
      salt: randomBytes(SALT_BYTES).toString('base64url'),
    };
    // Before the monitor, and with its id: a repeat after a crash between the two makes this one, not a second.
    const known =
      (await collection.update(id, (current) =>
        current && !isOld(current, nowMs) ? current : fresh,
      )) ?? fresh;
    if (![bodyHash, formerBodyHash].includes(known.bodyHash)) throw otherBody();
    if (known.removed && !exists(known.monitor)) throw removedSince();
    return known;
  }

  return {
    /**
     * Runs `create`; of one that is the same as another, only when that one has ended, and not when that one was refused:
     * then the refusal is thrown here too. The id and token given are those of the first. Throws the 409 when the body is
     * another or when the monitor was removed since.
     */
    async run<T>(
      idempotency: IdempotencyKey,
      definition: MonitorDefinition,
      create: (known: KnownCreate) => Promise<T>,
    ): Promise<T> {
      const id = createIdOf(idempotency);
      const body = canonical(definition);
      // With the key, which is not stored: who has the file alone cannot try out what secrets the body held.
      const bodyHash = createHmac('sha256', idempotency.key).update(body).digest('hex');
      for (let other = underWay.get(id); other; other = underWay.get(id)) {
        const error = await failureOf(other.work);
        // Where nobody refused and the store failed, what it has stored says what is left to do.
        if (other.bodyHash === bodyHash && error instanceof HttpError) throw error;
      }
      const hashes = [bodyHash, sha256(body)] as const;
      const work = learn(id, hashes, idempotency).then(({ monitor, salt }) =>
        create({ id, monitor, token: tokenOf(salt, idempotency.key) }),
      );
      underWay.set(id, { bodyHash, work });
      try {
        return await work;
      } finally {
        underWay.delete(id);
      }
    },
    /** Notes, durably, that the monitor of a create is being removed. */
    async markRemoved(createId: string): Promise<void> {
      await collection.update(createId, (current) => current && { ...current, removed: true });
    },
    /** Removes what is older than 24 hours. */
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

/** JSON parts the two without a doubt where one ends. */
const createIdOf = ({ apiKeyId, key }: IdempotencyKey) => sha256(JSON.stringify([apiKeyId, key]));

/** The push token of a create, the same at every repeat. */
const tokenOf = (salt: string, key: string) =>
  createHmac('sha256', Buffer.from(salt, 'base64url')).update(key).digest('base64url');

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** JSON in which the order of keys says nothing. */
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
