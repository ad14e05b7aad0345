import { z } from 'zod';
import { CLAIMS_PART, ClaimItem, claimText } from '../claim-items.ts';
import { type AbandonedRow, type ClaimTable, GIVEN_UP_MS, type Held } from '../claims.ts';
import type { FolderPart, RawFolder } from '../raw-state.ts';
import type { Collection, CollectionDeclaration } from '../store.ts';

/** Things are spread over so many documents: each stays small, and none needs a clean-up of its own. */
const BUCKETS = 256;
const MAX_PER_BUCKET = 100;

const Entry = ClaimItem.omit({ key: true });
type Entry = z.infer<typeof Entry>;

export const Bucket = z.object({ entries: z.record(z.string(), Entry) });
export type Bucket = z.infer<typeof Bucket>;

/** The documents of claims with a name. */
export const claimBuckets = (name: string): CollectionDeclaration<Bucket> => ({
  name,
  schema: Bucket,
  version: 1,
  whenCorrupt: 'forget',
});

/** How long is said with it, but not in what an older version stored. */
const DAY_MS = 86_400_000;

/** The folder's lock lets nobody else in. */
const ALWAYS: Held = { signal: new AbortController().signal, isHeld: () => true };

const isRefused = (entry: Entry | undefined) =>
  entry?.done === true && entry.atMs > Date.now() - (entry.keepMs ?? DAY_MS);

const isGivenUp = ({ atMs }: Entry) => atMs < Date.now() - GIVEN_UP_MS;

/** Claims of the one process that has the data folder: what an earlier one did not finish may be done again. */
export function createLowdbClaims(collection: Collection<Bucket>): ClaimTable {
  const change = (key: string, make: (entries: Bucket['entries']) => Bucket['entries']) =>
    collection.update(bucketOf(key), (bucket) => {
      const before = bucket?.entries ?? {};
      const entries = make(before);
      return entries === before ? bucket : { entries };
    });

  return {
    async take(key, request) {
      let isClaimed = false;
      await change(key, (entries) => {
        const entry = entries[key];
        isClaimed = !isRefused(entry) && (entry?.open === undefined || isGivenUp(entry));
        const open = request === undefined ? undefined : { request, takeovers: 0 };
        return isClaimed
          ? withEntry(entries, key, { atMs: Date.now(), done: false, ...(open && { open }) })
          : entries;
      });
      return isClaimed ? ALWAYS : undefined;
    },
    async finish(key, keepMs) {
      await change(key, (entries) =>
        withEntry(entries, key, { atMs: Date.now(), done: true, keepMs }),
      );
      return true;
    },
    async giveBack(key) {
      await change(key, (entries) => {
        const { [key]: given, ...others } = entries;
        return given ? others : entries;
      });
    },
    async takeAbandoned(busy) {
      const taken: Array<AbandonedRow & { atMs: number }> = [];
      for (const { id: bucket } of await collection.list()) {
        let found: typeof taken = [];
        await collection.update(bucket, (current) => {
          const entries = { ...current?.entries };
          found = [];
          for (const [key, entry] of Object.entries(entries)) {
            if (entry.done || entry.open === undefined) continue;
            if (busy.has(key) || isGivenUp(entry)) continue;
            const open = { ...entry.open, takeovers: entry.open.takeovers + 1 };
            entries[key] = { ...entry, open };
            found.push({ key, atMs: entry.atMs, ...open });
          }
          return found.length > 0 ? { entries } : current;
        });
        taken.push(...found);
      }
      return { held: ALWAYS, rows: taken.sort((a, b) => a.atMs - b.atMs) };
    },
  };
}

/** Where there are too many, those go that are over, and then the oldest. */
function withEntry(entries: Bucket['entries'], key: string, entry: Entry): Bucket['entries'] {
  const kept = Object.entries(entries)
    .filter(([other, one]) => other !== key && (one.done ? isRefused(one) : !isGivenUp(one)))
    .slice(-(MAX_PER_BUCKET - 1));
  return Object.fromEntries([...kept, [key, entry]]);
}

const bucketOf = (key: string) => String(Number.parseInt(key.slice(0, 4), 16) % BUCKETS);

async function* textsIn(folder: RawFolder, name: string): AsyncGenerator<string> {
  for (const bucket of await folder.ids(name)) {
    const { entries } = Bucket.parse(await folder.document(name, bucket));
    for (const [key, entry] of Object.entries(entries)) {
      const { keepMs = DAY_MS, ...rest } = entry;
      yield claimText({ key, ...rest, ...(entry.done && { keepMs }) });
    }
  }
}

/** Claims of these names as a data folder keeps them. */
export function claimsInFolder(names: readonly string[]): FolderPart {
  return {
    journals: [],
    collections: names,
    in: (folder) => ({
      name: CLAIMS_PART,
      async groups() {
        const groups: string[] = [];
        for (const name of names) {
          for await (const _ of textsIn(folder, name)) {
            groups.push(name);
            break;
          }
        }
        return groups;
      },
      read: (name) => textsIn(folder, name),
      async replace(name, items) {
        const buckets = new Map<string, Bucket['entries']>();
        for (const bucket of await folder.ids(name)) buckets.set(bucket, {});
        for await (const text of items) {
          const { key, ...entry } = ClaimItem.parse(JSON.parse(text));
          const bucket = bucketOf(key);
          buckets.set(bucket, { ...buckets.get(bucket), [key]: entry });
        }
        const { version } = claimBuckets(name);
        for (const [id, entries] of buckets) {
          const document = Object.keys(entries).length > 0 ? { entries } : undefined;
          await folder.putDocument(name, { id, version, document });
        }
      },
    }),
  };
}
