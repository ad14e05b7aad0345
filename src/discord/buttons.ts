import { type ButtonInteraction, MessageFlags } from 'discord.js';
import type { Card } from '../bot/card.ts';
import { decodeAction } from '../bot/card-action.ts';
import type { Answer, Place } from '../bot/platform.ts';
import type { Desk } from './desk.ts';
import {
  acknowledged,
  answerOpenly,
  answerPrivately,
  conversationIn,
  handle,
  nameOf,
  placeOf,
  threadOf,
  threadUnder,
} from './gestures.ts';
import { renderMessage } from './render.ts';
import { questionLine } from './text.ts';

/**
 * Does what a button asks for. The acknowledgement shows nothing, as what comes of a press is not known yet. From then on
 * the interaction's "reply" is the message with the button: it is never edited or deleted here.
 */
export async function handleButton(desk: Desk, press: ButtonInteraction): Promise<void> {
  const request = decodeAction(press.customId);
  const command = request?.command ?? 'unknown';
  if (!(await acknowledged(desk, press, command, () => press.deferUpdate()))) return;
  if (!request) {
    desk.log.debug({ customId: press.customId }, 'a button that is none of ours was pressed');
    return;
  }
  const conversation = await conversationOf(desk, press);
  const reply = await handle(desk, press, request, conversation);
  if (reply.kind === 'nothing') return;
  if (reply.kind === 'card') await showCard(press, reply.card, reply.private);
  else if (reply.private) await answerPrivately(desk, press, reply, { fillsReply: false });
  else await answerBelow(desk, press, reply, conversation.thread);
}

/**
 * The conversation of a button is the one under its message, which knows the incident; in a direct conversation, where
 * nothing can be under a message, too. In a thread it is the thread's, unless alerts are posted there.
 */
async function conversationOf(
  desk: Desk,
  press: ButtonInteraction,
): Promise<{ place: Place; thread: string }> {
  const { channel, channelId, message } = press;
  const here: Place = { platform: 'discord', channel: channelId };
  if (!channel?.isThread()) return { place: here, thread: message.id };
  const posted = await desk.conversations.of(here, message.id);
  if (posted !== undefined) return { place: here, thread: posted };
  return { place: placeOf(press), thread: await conversationIn(desk, press, channelId) };
}

async function showCard(press: ButtonInteraction, card: Card, only: boolean): Promise<void> {
  await press.followUp({
    ...renderMessage(card),
    ...(only ? { flags: MessageFlags.Ephemeral } : {}),
  });
}

/** Nobody sees what a press asks, so the answer begins with it, and with who pressed. */
async function answerBelow(
  desk: Desk,
  press: ButtonInteraction,
  answer: Answer,
  key: string,
): Promise<void> {
  const { question } = answer;
  const thread = threadOf(press) ?? (await threadUnder(desk, press, press.message.id, question));
  const lead = questionLine(nameOf(press), question);
  await answerOpenly(desk, press, answer, { thread, key, lead });
}
