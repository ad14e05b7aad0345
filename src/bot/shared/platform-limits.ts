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

/** A shorter one is over before a restart would know of it. */
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

  function leftMs(key: string): number {
    const left = (limits.get(key) ?? 0) - performance.now();
    if (left <= 0) limits.delete(key);
    return Math.max(0, left);
  }

  function note(key: string, forMs: number) {
    if (forMs <= leftMs(key)) return;
    limits.set(key, performance.now() + Math.min(forMs, LONGEST_MS));
    forgetOldest(limits, MAX_KINDS);
  }

  function take({ untilMs }: Limits) {
    const nowMs = Date.now();
    for (const [key, until] of Object.entries(untilMs)) if (until > nowMs) note(key, until - nowMs);
  }

  async function read() {
    const kept = await collection?.get(platform);
    if (kept) take(kept);
  }

  await read();

  async function keep() {
    try {
      await collection?.update(platform, (stored) => {
        if (stored) take(stored);
        const nowMs = Date.now();
        const left = [...limits.keys()].map((key) => [key, nowMs + leftMs(key)] as const);
        return { untilMs: Object.fromEntries(left.filter(([, untilMs]) => untilMs > nowMs)) };
      });
    } catch (error) {
      log.warn({ err: error }, 'could not store a rate limit; a restart would forget it');
    }
  }

  return {
    /** For how many more milliseconds no call of this kind may be made; 0 when one may. */
    leftMs: (kind: string) => (limits.size === 0 ? 0 : leftMs(keyOf(kind))),
    /** Takes note of what was stored since this was opened. */
    read,
    /** Takes note of a limit. Never rejects. */
    async limited(kind: string, forMs: number) {
      note(keyOf(kind), forMs);
      if (forMs >= WORTH_KEEPING_MS) await keep();
    },
  };
}

const keyOf = (kind: string) => createHash('sha256').update(kind).digest('hex').slice(0, 16);
