import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../store/store.ts';
import { forgetOldest } from './forget-oldest.ts';

/** Rate limits of a platform: no calls of a kind until its `Retry-After` is over. */
export type PlatformLimits = Awaited<ReturnType<typeof openPlatformLimits>>;

/** By hash of the kind, because an address may contain a token. */
const Limits = z.object({ untilMs: z.record(z.string(), z.number()) });
type Limits = z.infer<typeof Limits>;

/** One document per platform. */
export const platformLimitsCollection = {
  name: 'rate-limits',
  schema: Limits,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** A shorter limit is over before a restart. */
const WORTH_KEEPING_MS = 1_000;

/** Platforms ask for less; a longer one means that the clock was set back. */
const LONGEST_MS = 3_600_000;

const MAX_KINDS = 5_000;

/** The limits outlive a platform's connections and installations and, with a collection, the process. */
export async function openPlatformLimits(options: {
  platform: string;
  collection?: Collection<Limits>;
  log: Logger;
}) {
  const { platform, collection, log } = options;
  /** Ends on the clock of `performance.now()`, which is never set back. */
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
    /** Milliseconds until calls of this kind are allowed. */
    leftMs: (kind: string) => (limits.size === 0 ? 0 : leftMs(keyOf(kind))),
    /** Reads limits that another process stored. */
    read,
    /** Adds a limit. Never rejects. */
    async limited(kind: string, forMs: number) {
      note(keyOf(kind), forMs);
      if (forMs >= WORTH_KEEPING_MS) await keep();
    },
  };
}

const keyOf = (kind: string) => createHash('sha256').update(kind).digest('hex').slice(0, 16);
