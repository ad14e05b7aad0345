import type { SlackClock } from './clock.ts';

/** Slack's rate limits of one workspace. */
export interface Tiers {
  /** Counts a call; when it is one too many, it is not counted, and this says after how many seconds the next may come. */
  retryAfterSeconds(call: { method: string; channel: unknown }): number | undefined;
}

/** Calls a minute. Source: Slack docs, "Rate limits", "Web API rate limits by tier". */
const A_MINUTE = { 1: 1, 2: 20, 3: 50, 4: 100 } as const;

/**
 * Tier of each method. `auth.test` and `assistant.threads.setStatus` have special limits of "hundreds of requests per minute", here
 * the highest tier. Source: Slack docs, the reference page of each method, "Facts"; slack-morphism 2.29 for streams and sessions.
 */
const TIER: Record<string, keyof typeof A_MINUTE> = {
  'agents.sessions.rename': 3,
  'agents.sessions.setStatus': 3,
  'apps.connections.open': 3,
  'assistant.threads.setStatus': 4,
  'assistant.threads.setSuggestedPrompts': 3,
  'auth.test': 4,
  'chat.appendStream': 4,
  'chat.getPermalink': 4,
  'chat.delete': 3,
  'chat.postEphemeral': 4,
  'chat.startStream': 2,
  'chat.stopStream': 2,
  'chat.update': 3,
  'conversations.history': 3,
  'conversations.replies': 3,
  'files.completeUploadExternal': 4,
  'files.getUploadURLExternal': 4,
  'usergroups.users.list': 2,
  'users.info': 4,
  'views.open': 4,
  'views.publish': 4,
  'views.update': 4,
};

/** Limits of apps outside of the Marketplace. Source: Slack docs, "Rate limits", "Non-Marketplace apps", of 2025. */
const DISTRIBUTED: typeof TIER = { 'conversations.history': 1, 'conversations.replies': 1 };

/**
 * Posts: one per second and channel with short bursts, and several hundred per minute in total. Slack doesn't document exact numbers.
 * Source: Slack docs, "Rate limits", "Posting messages".
 */
const POSTS = { burst: 5, everyMs: 1_000, aMinute: 300 } as const;

const MINUTE_MS = 60_000;

export function createTiers(
  clock: SlackClock,
  { distributed = false }: { distributed?: boolean } = {},
): Tiers {
  const tiers = distributed ? { ...TIER, ...DISTRIBUTED } : TIER;
  /** When the calls of the last minute came, by method. */
  const came = new Map<string, number[]>();
  /** When a channel would have room for its whole burst again. */
  const restedAtMs = new Map<string, number>();

  function minuteWaitMs(method: string, most: number, nowMs: number): number {
    const times = (came.get(method) ?? []).filter((atMs) => atMs > nowMs - MINUTE_MS);
    came.set(method, times);
    return times.length < most ? 0 : (times[times.length - most] ?? nowMs) + MINUTE_MS - nowMs;
  }

  function channelWaitMs(channel: string, nowMs: number): number {
    const aheadMs = (restedAtMs.get(channel) ?? nowMs) - nowMs;
    return aheadMs - (POSTS.burst - 1) * POSTS.everyMs;
  }

  return {
    retryAfterSeconds({ method, channel }) {
      const nowMs = clock.nowMs();
      const isPost = method === 'chat.postMessage';
      const tier = Object.hasOwn(tiers, method) ? tiers[method] : undefined;
      const most = isPost ? POSTS.aMinute : tier && A_MINUTE[tier];
      // Unknown methods have no tier.
      if (most === undefined) return undefined;
      const waitMs = Math.max(
        minuteWaitMs(method, most, nowMs),
        isPost ? channelWaitMs(String(channel), nowMs) : 0,
      );
      if (waitMs > 0) return Math.ceil(waitMs / 1000);
      came.get(method)?.push(nowMs);
      if (isPost) {
        const restedMs = Math.max(nowMs, restedAtMs.get(String(channel)) ?? nowMs);
        restedAtMs.set(String(channel), restedMs + POSTS.everyMs);
      }
      return undefined;
    },
  };
}
