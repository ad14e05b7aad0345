import { webApi } from '@slack/bolt';
import type { Content } from '../render/blocks.ts';

const TIMEOUT_MS = 10_000;

export type Respond = (
  url: string,
  content: Content,
  shownTo: 'ephemeral' | 'in_channel' | 'in_place',
) => Promise<void>;

/**
 * Posts to the response address of a command or press: five times within half an hour, also in channels without the bot.
 * `in_place` replaces the message with the button. Throws the errors of the `WebClient`. Source: Slack docs, "Handling user
 * interaction", section "Message responses".
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
