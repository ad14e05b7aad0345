import { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { type Card, hasChart, withoutCharts } from '../../bot/shared/card.ts';
import { readFailure } from '../api/call-failure.ts';
import type { Content } from '../render/blocks.ts';
import { renderCard } from '../render/render-card.ts';

/** How long a workspace that refused a chart is shown texts; then it is tried again, since Slack brings charts to all. */
const REMEMBERED_MS = 60 * 60_000;

/** Shows a card by what sends it. */
export type ShowCard = ReturnType<typeof createShowCard>;

/**
 * Shows cards with their charts where a workspace takes them, and with their texts where it does not: sends the card, and
 * once more, without charts, when Slack refuses its blocks. Throws what `send` throws.
 */
export function createShowCard(log: Logger) {
  let refusedUntilMs = Number.NEGATIVE_INFINITY;

  return async <T>(card: Card, send: (content: Content) => Promise<T>) => {
    if (!hasChart(card)) return await send(renderCard(card));
    if (performance.now() < refusedUntilMs) return await send(renderCard(withoutCharts(card)));
    try {
      return await send(renderCard(card));
    } catch (error) {
      if (!areBlocksRefused(error)) throw error;
      const sent = await send(renderCard(withoutCharts(card)));
      // Only now it is known that it was the chart.
      refusedUntilMs = performance.now() + REMEMBERED_MS;
      log.info('the workspace does not support Slack charts yet; showing them as text for an hour');
      return sent;
    }
  };
}

/** The Web API names it as its error, a response address in the body of an HTTP error. */
function areBlocksRefused(error: unknown): boolean {
  if (error instanceof webApi.WebAPIHTTPError) return String(error.body).includes('invalid_blocks');
  return readFailure(error).code === 'invalid_blocks';
}
