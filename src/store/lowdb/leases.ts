import { setMaxListeners } from 'node:events';
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
export function createLeases(
  collection: Collection<z.infer<typeof LeaseDocument>>,
  /** Ends what was done under a lease, before another has it. */
  settle: (lease: Lease) => Promise<void>,
) {
  const held = new Map<string, AbortController>();
  return {
    async take(name: string): Promise<Lease | undefined> {
      if (held.has(name)) return undefined;
      const ended = new AbortController();
      // All that is done under a lease listens.
      setMaxListeners(0, ended.signal);
      held.set(name, ended);
      try {
        const last = await collection.update(name, (lease) => ({ fence: (lease?.fence ?? 0) + 1 }));
        const lease: Lease = {
          fence: last?.fence ?? 1,
          isHeld: () => !ended.signal.aborted,
          signal: ended.signal,
          async release() {
            if (ended.signal.aborted) return;
            ended.abort();
            await settle(lease).finally(() => held.delete(name));
          },
        };
        return lease;
      } catch (error) {
        held.delete(name);
        throw error;
      }
    },
    /** All parts of a whole, at once: there is nobody to share them with. */
    group(count: number, holder: PartHolder): LeaseGroup {
      const parts = Array.from({ length: count }, (_, no) => no);
      let isOpen = true;
      void holder.taken(parts, new Set());
      return {
        holds: (part) => isOpen && part < count,
        count: () => (isOpen ? count : 0),
        setAble() {},
        async close() {
          if (!isOpen) return;
          await holder.giving(parts);
          isOpen = false;
        },
      };
    },
    /** Ends all of them. */
    abortAll(): void {
      for (const ended of held.values()) ended.abort();
    },
  };
}
