import { setMaxListeners } from 'node:events';
import { z } from 'zod';
import type { Collection, CollectionDeclaration, Lease, LeaseGroup, PartHolder } from './store.ts';

const LastFence = z.object({ fence: z.int().positive() });
type LastFence = z.infer<typeof LastFence>;

/** The last fence of each lease. */
export const LEASES: CollectionDeclaration<LastFence> = {
  name: 'leases',
  schema: LastFence,
  version: 1,
  whenCorrupt: 'refuse',
};

/** Leases of the only process on a store. `settle` waits for everything that was begun under a lease, before someone else gets it. */
export function createLocalLeases(
  fences: Collection<LastFence>,
  settle: (lease: Lease) => Promise<void>,
) {
  const held = new Map<string, AbortController>();

  function createLease(name: string, fence: number, ended: AbortController): Lease {
    const lease: Lease = {
      fence,
      isHeld: () => !ended.signal.aborted,
      signal: ended.signal,
      async release() {
        if (ended.signal.aborted) return;
        ended.abort();
        await settle(lease).finally(() => held.delete(name));
      },
    };
    return lease;
  }

  return {
    async take(name: string): Promise<Lease | undefined> {
      if (held.has(name)) return undefined;
      const ended = new AbortController();
      // Everything under the lease listens to it.
      setMaxListeners(0, ended.signal);
      held.set(name, ended);
      try {
        const last = await fences.update(name, (lease) => ({ fence: nextFence(lease?.fence) }));
        return createLease(name, last?.fence ?? 1, ended);
      } catch (error) {
        held.delete(name);
        throw error;
      }
    },
    endAll(): void {
      for (const ended of held.values()) ended.abort();
    },
  };
}

/** A Unix time, so that a fence is never given out again, even if the state moves to another engine. */
const nextFence = (last = 0) => Math.max(last + 1, Date.now());

/** Takes all parts of a whole at once: no other process competes for them. */
export function holdAllParts(count: number, holder: PartHolder): LeaseGroup {
  const parts = Array.from({ length: count }, (_, part) => part);
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
}
