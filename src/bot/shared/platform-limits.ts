import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../store/store.ts';
import { forgetOldest } from './forget-oldest.ts';

/** What a platform said of calls that come too soon: none of that kind before its `Retry-After` is over. */
export type PlatformLimits = Awaited<ReturnType<typeof openPlatformLimits>>;

/** Until when, by the hash of what is limited: an address may hold a token. */
const Limits = z.object({ untilMs: z.record(z.string(), z.number()) });
type Limits = z.infer<typeof Limits>;

/** Where limits are kept, one document a platform. */
export const platformLimitsCollection = {
  name: 'told-limits',
  schema: Limits,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** A shorter one is over before another process could have started. */
const WORTH_KEEPING_MS = 1_000;

/** A longer wait than platforms ask for: the clock was set back meanwhile. */
const LONGEST_MS = 3_600_000;

/** Of the kinds that are limited at one time. */
const MAX_KINDS = 5_000;

/**
 * The limits of one platform, which outlive its connections, its workspaces' installations and, where a collection is given,
 * the process.
 */
export async function openPlatformLimits(options: {
  platform: string;
  collection?: Collection<Limits>;
  log: Logger;
}) {
  const { platform, collection, log } = options;
  /** On the clock of `performance.now()`, which nobody sets. */
  const limits = new Map<string, number>();

  async function read() {
    const kept = await collection?.get(platform);
    for (const [key, untilMs] of Object.entries(kept?.untilMs ?? {})) {
      const leftMs = Math.min(untilMs - Date.now(), LONGEST_MS);
      if (leftMs > 0) limits.set(key, performance.now() + leftMs);
    }
  }
  await read();

  function leftMs(key: string): number {
    const left = (limits.get(key) ?? 0) - performance.now();
    if (left <= 0) limits.delete(key);
    return Math.max(0, left);
  }

  async function keep() {
    try {
      await collection?.update(platform, () => {
        const nowMs = Date.now();
        const left = [...limits.keys()].map((key) => [key, nowMs + leftMs(key)] as const);
        return { untilMs: Object.fromEntries(left.filter(([, untilMs]) => untilMs > nowMs)) };
      });
    } catch (error) {
      log.warn({ err: error }, 'a rate limit could not be stored; a restart would not know of it');
    }
  }

  return {
    /** Reads what another process was told since. */
    read,
    /** For how many more milliseconds no call of this kind may be made; 0 when one may. */
    leftMs: (kind: string) => (limits.size === 0 ? 0 : leftMs(keyOf(kind))),
    /** Takes note of a limit; a later process knows of it, too, once this resolves. Never rejects. */
    async limited(kind: string, forMs: number) {
      const key = keyOf(kind);
      const untilMs = performance.now() + Math.min(forMs, LONGEST_MS);
      limits.set(key, Math.max(untilMs, limits.get(key) ?? 0));
      forgetOldest(limits, MAX_KINDS);
      if (forMs >= WORTH_KEEPING_MS) await keep();
    },
  };
}

const keyOf = (kind: string) => createHash('sha256').update(kind).digest('hex').slice(0, 16);
