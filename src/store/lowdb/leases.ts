import { z } from 'zod';
import type { Collection, CollectionDeclaration, Lease, LeaseGroup, PartHolder } from '../store.ts';

const LeaseDocument = z.object({ fence: z.int().positive() });

/** Where the last fence of each lease is kept. */
export const LEASES: CollectionDeclaration<z.infer<typeof LeaseDocument>> = {
  name: 'leases',
  schema: LeaseDocument,
  version: 1,
  whenCorrupt: 'refuse',
};

/** The leases of one process. */
export type Leases = ReturnType<typeof createLeases>;

/**
 * Leases within the one process that has the data folder: one is held until it is released, and ends with the process,
 * so its time to live has nothing to do. The fence grows on the disk before the lease is handed out.
 */
export function createLeases(collection: Collection<z.infer<typeof LeaseDocument>>) {
  const held = new Map<string, AbortController>();
  return {
    async take(name: string): Promise<Lease | undefined> {
      if (held.has(name)) return undefined;
      const ended = new AbortController();
      held.set(name, ended);
      const release = () => {
        if (held.get(name) === ended) held.delete(name);
        ended.abort();
      };
      try {
        const last = await collection.update(name, (lease) => ({ fence: (lease?.fence ?? 0) + 1 }));
        return {
          fence: last?.fence ?? 1,
          signal: ended.signal,
          release: async () => release(),
        };
      } catch (error) {
        release();
        throw error;
      }
    },
    /** All parts of a whole: there is nobody to share them with. */
    group(kind: string, count: number, holder: PartHolder): LeaseGroup {
      const nos = Array.from({ length: count }, (_, no) => no);
      let own: { fence: number; ended: AbortController } | undefined;
      let isWilling = true;
      let turn: Promise<void> = Promise.resolve();

      async function settle() {
        if (isWilling === (own !== undefined)) return;
        if (own) {
          await holder.giving(nos);
          const { ended } = own;
          own = undefined;
          held.delete(kind);
          ended.abort();
          return;
        }
        const last = await collection.update(kind, (lease) => ({ fence: (lease?.fence ?? 0) + 1 }));
        const ended = new AbortController();
        const fence = last?.fence ?? 1;
        own = { fence, ended };
        held.set(kind, ended);
        await holder.taken(nos.map((no) => ({ no, fence, signal: ended.signal })));
      }

      function inTurn(): Promise<void> {
        const result = turn.then(settle);
        turn = result.catch(() => {});
        return result;
      }

      const setWilling = (willing: boolean) => {
        isWilling = willing;
        return inTurn();
      };
      void inTurn().catch(() => {});
      return {
        holds: (no) => own !== undefined && no < count,
        fenceOf: () => own?.fence,
        count: () => (own ? count : 0),
        setWilling,
        close: () => setWilling(false),
      };
    },
    /** Ends all of them. */
    abortAll(): void {
      for (const ended of held.values()) ended.abort();
      held.clear();
    },
  };
}
