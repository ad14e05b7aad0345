import { AttachmentBuilder } from 'discord.js';
import type { Logger } from 'pino';
import { type Card, type Chart, chartText, textPart } from '../../bot/shared/card.ts';
import type { Picture } from '../api/channel-api.ts';
import { isRefusal } from '../api/errors.ts';
import { pictureOf } from '../render/chart-picture.ts';
import { renderMessage } from '../render/render.ts';
import { within, withoutMentions } from '../render/text.ts';

type CardReply = ReturnType<typeof renderMessage> & { files?: AttachmentBuilder[] };

type PostedCard = ReturnType<typeof renderMessage> & { picture?: Picture };

/** Source: Discord docs, "Attachment Object". */
const MAX_DESCRIPTION = 1_024;
const NAME = 'chart.png';

/**
 * Sends a card as the answer to an interaction, with its first chart as a picture. The chart's text takes its place where
 * it cannot be drawn, and where Discord refuses the message with it, such as for its size. Throws what `send` throws.
 */
export async function sendCard<T>(
  card: Card,
  log: Logger,
  send: (message: CardReply) => Promise<T>,
): Promise<T> {
  return await postCard(card, log, ({ picture, ...message }) => {
    if (!picture) return send(message);
    const { data, ...described } = picture;
    return send({ ...message, files: [new AttachmentBuilder(data, described)] });
  });
}

export async function postCard<T>(
  card: Card,
  log: Logger,
  send: (message: PostedCard) => Promise<T>,
): Promise<T> {
  const pictured = await renderPictured(card, log);
  if (!pictured) return await send(renderMessage(card));
  try {
    return await send(pictured);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    log.warn({ err: error }, 'Discord rejected the image of a chart; showing it as text');
    return await send(renderMessage(card));
  }
}

/** An embed has one image, so further charts stay text. */
async function renderPictured(card: Card, log: Logger): Promise<PostedCard | undefined> {
  const chart = card.parts.find((part) => part.kind === 'chart');
  const data = chart && (await draw(chart, log));
  if (!data) return undefined;
  const parts = card.parts.map((part) =>
    part === chart ? textPart(`${chart.title}: see the image`) : part,
  );
  const { embeds, components } = renderMessage({ ...card, parts });
  const description = within(withoutMentions(chartText(chart)), MAX_DESCRIPTION);
  return {
    embeds: embeds.map((embed) => ({ ...embed, image: { url: `attachment://${NAME}` } })),
    components,
    picture: { name: NAME, data, description },
  };
}

async function draw(chart: Chart, log: Logger): Promise<Buffer | undefined> {
  if (!chart.points.some(({ value }) => value !== null)) return undefined;
  try {
    return await pictureOf(chart);
  } catch (error) {
    log.warn({ err: error }, 'could not draw a chart; showing it as text');
    return undefined;
  }
}
