import type { PlatformLimits } from '../../bot/shared/platform-limits.ts';
import { methodOf } from './gated-fetch.ts';

const UNNAMED_MS = 30_000;

/**
 * A `fetch` that remembers Slack's limits, also across restarts. Until `Retry-After` is over it answers like Slack without a
 * request. Slack limits each method of a workspace, posts per channel. Source: Slack docs, "Rate limits".
 */
export function rateLimitedFetch(
  send: typeof fetch,
  limits: PlatformLimits,
  workspace: string,
): typeof fetch {
  return async (input, init) => {
    const kind = `${workspace} ${kindOf(input, init)}`;
    const leftMs = limits.leftMs(kind);
    if (leftMs > 0) return refusal(leftMs);
    const response = await send(input, init);
    if (response.status !== 429) return response;
    await response.body?.cancel();
    const waitMs = waitMsOf(response);
    await limits.limited(kind, waitMs);
    return refusal(waitMs);
  };
}

const refusal = (waitMs: number) =>
  new Response(null, {
    status: 429,
    headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
  });

function kindOf(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): string {
  const method = methodOf(input);
  if (method !== 'chat.postMessage' || typeof init?.body !== 'string') return method;
  return `${method} ${new URLSearchParams(init.body).get('channel')}`;
}

function waitMsOf({ headers }: Response): number {
  const seconds = Number(headers.get('retry-after'));
  return seconds > 0 ? 1_000 * seconds : UNNAMED_MS;
}
