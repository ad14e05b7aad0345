import { type ButtonInteraction, type InteractionReplyOptions, MessageFlags } from 'discord.js';
import type { ConversationAt } from '../../bot/ask/shown-answers.ts';
import { decodeAction } from '../../bot/shared/card.ts';
import type { Answer, Reply } from '../../bot/shared/invocation.ts';
import type { Place } from '../../bot/shared/place.ts';
import { withNote } from '../answers/end-answer.ts';
import { retryUntilShown } from '../answers/show-answer.ts';
import { renderButtons, renderMessage } from '../render/render.ts';
import { FORM, isShowable, renderForm } from '../render/render-form.ts';
import { questionLine } from '../render/text.ts';
import { openAgain } from './forms.ts';
import type { Handling } from './interaction-context.ts';
import {
  type Asked,
  acknowledged,
  answerOpenly,
  answerPrivately,
  answerWithQuestion,
  conversationIn,
  dispatch,
  hereIn,
  isPrivate,
  nameOf,
  personOf,
  placeOf,
  threadOf,
  threadUnder,
} from './interactions.ts';
import { inTime } from './open-form.ts';

type Pressed = Handling<ButtonInteraction>;

/**
 * Does what a button asks for. The acknowledgement shows nothing, as what comes of a press is not known yet. From then on
 * the interaction's "reply" is the message with the button: only an answer that another one follows is edited here.
 */
export async function handleButton(pressed: Pressed): Promise<void> {
  const { interaction: press, log } = pressed;
  const request = decodeAction(press.customId);
  if (request?.command === FORM) {
    await openAgain(pressed, request.values);
    return;
  }
  if (!request) {
    await acknowledged(pressed, 'unknown', () => press.deferUpdate());
    log.debug({ customId: press.customId }, 'ignored a press of an unknown button');
    return;
  }
  const { acknowledge, isAll } = await acknowledgementOf(pressed, request);
  if (isAll) {
    await acknowledged(pressed, request.command, acknowledge);
    return;
  }
  if (isPrivate(press)) await handlePrivate(pressed, { request, acknowledge });
  else await handleOpen(pressed, { request, acknowledge });
}

/**
 * A form can be nothing but the first response to a press, and whether there is one is known before the press changes that. So it
 * is what acknowledges the press of a button that opens one, if its person gets it now.
 */
async function acknowledgementOf(
  pressed: Pressed,
  request: Asked['request'],
): Promise<{ acknowledge: Asked['acknowledge']; isAll: boolean }> {
  const { interaction: press, bot } = pressed;
  const opened = await inTime(
    bot.formOfPress(request, async () => ({
      ...{ place: placeOf(press), person: personOf(pressed) },
      ...(isPrivate(press) ? {} : await conversationOf(pressed)),
    })),
  );
  if (!opened || !isShowable(opened.begin)) {
    return { acknowledge: () => press.deferUpdate(), isAll: false };
  }
  const form = renderForm(opened.command, opened.carried, opened.begin);
  return { acknowledge: () => press.showModal(form), isAll: opened.isAll };
}

/** Handles a press in a private message like a slash command, since nothing can be under such a message. */
async function handlePrivate(pressed: Pressed, asked: Asked) {
  const { interaction: press } = pressed;
  const outcome = await dispatch(pressed, { ...asked, findWhere: () => hereIn(pressed) });
  if (!outcome) return;
  const { reply, where } = outcome;
  const showQuestion = (line: InteractionReplyOptions) => press.followUp(line);
  await show(pressed, reply, (answer) =>
    answerWithQuestion(pressed, answer, { known: where.thread, showQuestion }),
  );
}

async function handleOpen(pressed: Pressed, asked: Asked) {
  const outcome = await dispatch(pressed, { ...asked, findWhere: () => conversationOf(pressed) });
  if (!outcome) return;
  const { reply, where } = outcome;
  await show(pressed, reply, (answer) => answerBelow(pressed, answer, where));
}

async function show(
  pressed: Pressed,
  reply: Reply,
  showOpenly: (answer: Answer) => Promise<void>,
): Promise<void> {
  if (reply.kind === 'nothing') return;
  if (reply.kind === 'card') await showCard(pressed, reply);
  else if (reply.private) await answerPrivately(pressed, reply, { fillsReply: false });
  else {
    try {
      await showOpenly(reply);
    } catch (error) {
      reply.notShown?.();
      throw error;
    }
  }
}

/** Replaces the message with the button if the reply wants it and Discord allows it. */
async function showCard(
  { interaction: press, log }: Pressed,
  { card, private: only, inPlace }: Extract<Reply, { kind: 'card' }>,
) {
  const message = renderMessage(card);
  if (inPlace) {
    const change = { ...message, content: '', files: [], allowedMentions: { parse: [] } };
    try {
      await retryUntilShown(() => press.editReply(change));
      return;
    } catch (error) {
      log.info({ err: error, channel: press.channelId }, 'could not replace a card');
    }
  }
  await press.followUp({ ...message, ...(only ? { flags: MessageFlags.Ephemeral } : {}) });
}

/**
 * The conversation of a button. Under a card it is the one under the message, which knows the incident, also in direct
 * messages; a card that replies to an alert has the alert's. In a thread it is the thread's, unless alerts are posted there.
 * Under an answer or a card below it, it is the answer's.
 */
async function conversationOf(pressed: Pressed): Promise<ConversationAt> {
  const { bot, interaction: press, conversations } = pressed;
  const { channel, channelId, message } = press;
  const open = await conversations.inlineOf(channelId, message.id);
  if (open !== undefined) return open;
  const here: Place = { platform: 'discord', channel: channelId };
  if (channel?.isThread()) {
    const posted = await conversations.of(here, message.id);
    if (posted !== undefined) return { place: here, thread: posted };
    return { place: placeOf(press), thread: await conversationIn(pressed, channelId) };
  }
  // Cards are embeds, answers are text; those below an answer are noted with it.
  if (message.embeds.length > 0) {
    const alert = message.reference?.messageId;
    const isBelowAlert = alert !== undefined && (await bot.isConversation(here, alert));
    return { place: here, thread: isBelowAlert ? alert : message.id };
  }
  const above = await conversations.of(here, message.id);
  return { place: here, thread: above ?? threadOf(press) ?? message.id };
}

/**
 * Others don't see the question of a press, so the answer begins with it and the person's name. An open conversation stays in
 * the channel.
 */
async function answerBelow(
  pressed: Pressed,
  answer: Answer,
  { place, thread: key }: ConversationAt,
): Promise<void> {
  const { interaction: press, conversations } = pressed;
  const { question } = answer;
  const isOpen = (await conversations.inlineOf(press.channelId, press.message.id)) !== undefined;
  const thread =
    threadOf(press) ?? (isOpen ? undefined : await threadUnder(pressed, key, question));
  const lead = {
    content: questionLine(nameOf(press), question),
    nonce: `q${press.id}`,
    onShown: () => void markEarlier(pressed, answer),
  };
  await answerOpenly(pressed, answer, { place, thread, key, lead });
}

/** Removes the buttons of the answer above. Never throws: buttons that stay are refused when someone presses them. */
async function markEarlier({ interaction: press, log }: Pressed, { earlier }: Answer) {
  if (!earlier) return;
  const { note, actions } = earlier;
  const content = withNote(press.message.content, note);
  try {
    await press.editReply({
      content,
      components: renderButtons(actions),
      flags: MessageFlags.SuppressEmbeds,
      allowedMentions: { parse: [] },
    });
  } catch (error) {
    log.info(
      { err: error, channel: press.channelId },
      'could not remove the buttons of an earlier answer',
    );
  }
}
