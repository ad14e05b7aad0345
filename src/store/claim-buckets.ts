import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import { type Claims, type ClaimsDeclaration, keyOf } from './claims.ts';
import { createQueues } from './queues.ts';
import type { Collection, CollectionDeclaration } from './store.ts';

const Done = z.object({ atMs: z.int(), keptMs: z.int() });
/** `by` is one `Claims` object. */
const Begun = z.object({ atMs: z.int(), by: z.string(), request: z.unknown() });
const Entry = z.union([Done, Begun]);
type Entry = z.infer<typeof Entry>;

const Bucket = z.object({ entries: z.record(z.string(), Entry) });
type Bucket = z.infer<typeof Bucket>;

/** Things are spread over so many documents: each stays small, and none needs a clean-up of its own. */
const BUCKETS = 256;
const MAX_PER_BUCKET = 100;

/** An unfinished thing is forgotten after so long. */
const GIVEN_UP_MS = 7 * 86_400_000;

/** Things of a name that are being done; with more, the oldest may be done a second time. */
const MAX_DOING = 10_000;

/** Documents that hold the claims of a name. */
export const claimBuckets = (name: string): CollectionDeclaration<Bucket> => ({
  name,
  schema: Bucket,
  version: 1,
  whenCorrupt: 'forget',
});

export function createClaims<T>(
  { name, schema, keptMs: usuallyMs }: ClaimsDeclaration<T>,
  { collection, log }: { collection: Collection<Bucket>; log: Logger },
): Claims<T> {
  const own = randomBytes(6).toString('base64url');
  const doing = new Set<string>();
  const queues = createQueues();

  async function change(key: string, make: (entries: Bucket['entries']) => Bucket['entries']) {
    await collection.update(bucketOf(key), (bucket) => {
      const before = bucket?.entries ?? {};
      const entries = make(before);
      return entries === before ? bucket : { entries };
    });
  }

  async function take(key: string, request: T | undefined): Promise<boolean> {
    if (doing.has(key)) return false;
    let isFree = false;
    await change(key, (entries) => {
      const entry = entries[key];
      // Begun here and not being done, storing it seemed to fail.
      isFree = !entry || isOver(entry) || ('by' in entry && entry.by === own);
      const isStored = isFree && request !== undefined;
      return isStored ? withEntry(entries, key, { atMs: Date.now(), by: own, request }) : entries;
    });
    if (!isFree) return false;
    doing.add(key);
    for (const oldest of doing) {
      if (doing.size <= MAX_DOING) break;
      doing.delete(oldest);
    }
    return true;
  }

  async function finish(key: string, keptMs: number): Promise<void> {
    await change(key, (entries) => withEntry(entries, key, { atMs: Date.now(), keptMs }));
    doing.delete(key);
  }

  async function giveBack(key: string): Promise<void> {
    doing.delete(key);
    await change(key, (entries) => {
      const { [key]: entry, ...others } = entries;
      return entry ? others : entries;
    });
  }

  /** Runs what is about one thing after what is being done with its entry. */
  function inTurn<R>(id: string, task: (key: string) => Promise<R>): Promise<R> {
    const key = keyOf(id);
    return queues.run(key, () => task(key));
  }

  return {
    claim: (id, request) => inTurn(id, (key) => take(key, request)),
    finish: (id, keptMs = usuallyMs) => inTurn(id, (key) => finish(key, keptMs)),
    release: (id) => inTurn(id, giveBack),
    async eraseFinished() {
      for (const { id } of await collection.list()) {
        await collection.erase(id, (bucket) => bucket && { ...bucket });
      }
    },
    async unfinished() {
      const buckets = await collection.list();
      return buckets
        .flatMap(({ document }) => Object.values(document.entries))
        .filter((entry) => 'by' in entry)
        .filter((entry) => entry.by !== own && !isOver(entry))
        .sort((a, b) => a.atMs - b.atMs)
        .flatMap(({ request }) => {
          const found = schema.safeParse(request);
          if (found.success) return [found.data];
          log.error(`could not read a request of '${name}'; it will not be continued`);
          return [];
        });
    },
  };
}

const isOver = (entry: Entry) =>
  entry.atMs <= Date.now() - ('by' in entry ? GIVEN_UP_MS : entry.keptMs);

/** A full bucket evicts expired entries first, and then the oldest. */
function withEntry(entries: Bucket['entries'], key: string, entry: Entry): Bucket['entries'] {
  const kept = Object.entries(entries)
    .filter(([other, one]) => other !== key && !isOver(one))
    .slice(-(MAX_PER_BUCKET - 1));
  return Object.fromEntries([...kept, [key, entry]]);
}

const bucketOf = (key: string) => String(Number.parseInt(key.slice(0, 4), 16) % BUCKETS);
