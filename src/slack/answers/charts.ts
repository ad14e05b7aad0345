import { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { type Card, hasChart, withoutCharts } from '../../bot/shared/card.ts';
import { readFailure } from '../api/call-failure.ts';
import type { Content } from '../render/blocks.ts';
import { renderCard } from '../render/render-card.ts';

/** After a refused chart a workspace gets text for this long, since Slack is rolling out charts. */
const REMEMBERED_MS = 60 * 60_000;

export type ShowCard = ReturnType<typeof createShowCard>;

/** Sends cards with charts; if Slack refuses the blocks, again without them. Throws the errors of `send`. */
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
      // Only now is it certain that the chart was the problem.
      refusedUntilMs = performance.now() + REMEMBERED_MS;
      log.info('the workspace does not support Slack charts yet; showing them as text for an hour');
      return sent;
    }
  };
}

/** The Web API reports the code as its error, a response address in the body of an HTTP error. */
function areBlocksRefused(error: unknown): boolean {
  if (error instanceof webApi.WebAPIHTTPError) return String(error.body).includes('invalid_blocks');
  return readFailure(error).code === 'invalid_blocks';
}
