import { webApi } from '@slack/bolt';
import type { Content } from '../render/blocks.ts';

const TIMEOUT_MS = 10_000;

/** Answers a gesture at the address that Slack gave for it. */
export type Respond = (
  url: string,
  content: Content,
  shownTo: 'ephemeral' | 'in_channel' | 'in_place',
) => Promise<void>;

/**
 * Answers a slash command or a press at the address Slack gave for it: five times within half an hour, in channels where the bot is
 * no member too; `in_place` of the message whose button was pressed, also where only one person sees it. Throws like the
 * `WebClient`, so that all failures are read in one way.
 * Source: Slack docs, "Handling user interaction", section "Message responses".
 */
export function createRespond(fetch: typeof globalThis.fetch): Respond {
  return async (url, content, shownTo) => {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...(shownTo === 'in_place'
            ? { replace_original: true }
            : { response_type: shownTo, replace_original: false }),
          ...content,
          unfurl_links: false,
          unfurl_media: false,
        }),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const body = await response.text();
      if (!response.ok) {
        throw new webApi.WebAPIHTTPError(response.status, response.statusText, {}, body);
      }
    } catch (error) {
      if (error instanceof webApi.WebAPIHTTPError) throw error;
      throw new webApi.WebAPIRequestError(
        error instanceof Error ? error : new Error(String(error)),
      );
    }
  };
}
