import type { types } from '@slack/bolt';
import type { Interrupted } from '../../bot/shared/invocation.ts';
import { readFailure } from '../api/call-failure.ts';
import type { Messages } from '../api/messages.ts';
import type { Respond } from '../api/response-url.ts';
import type { Streams } from '../api/streams.ts';
import { type Content, context, isButtons, type ShownMessage } from '../render/blocks.ts';
import { renderEnd, renderNote } from '../render/render-answer.ts';
import { harmless } from '../render/text.ts';
import type { Agent } from './agent.ts';
import { createShowEphemeral } from './ephemeral.ts';
import type { Origin } from './origin.ts';
import { hasButtons, isGrowing, isWaiting, type ShownMessages } from './shown-messages.ts';
import { OVER } from './streamed-answer.ts';

const BELOW = context('The full answer is below.');

/** Ends an answer that a restart interrupted. Throws the errors of the `WebClient`. */
export type EndAnswer = (channel: string, left: Interrupted, origin: Origin) => Promise<void>;

/**
 * Ends answers of an earlier process, by what Slack shows: the message under way has the Stop button or is a stream. If nobody
 * else saw anything, only the person who asked gets the note. Waits for Slack's limits.
 */
export function createEndAnswer(options: {
  shownMessages: ShownMessages;
  messages: Messages;
  streams: Streams;
  agent: Agent;
  respond: Respond;
}): EndAnswer {
  const { shownMessages, messages, streams, agent, respond } = options;

  /** False if the stream was over: Slack ends each by itself after some minutes. */
  async function endStream(channel: string, ts: string, blocks: types.KnownBlock[]) {
    try {
      await streams.abandon({ channel, ts }, blocks);
      return true;
    } catch (error) {
      if (OVER.has(readFailure(error).code)) return false;
      throw error;
    }
  }

  async function endIn(channel: string, thread: string, left: Interrupted) {
    const { id, invocation, note } = left;
    const { messages: ours, isStream } = await shownMessages.of(channel, thread, left);
    const isWhole = ours.some((message) => hasButtons(message) && !isGrowing(message, id));
    const growing =
      ours.findLast((message) => isGrowing(message, id)) ??
      (isWhole ? undefined : ours.findLast(isStream));
    if (growing) {
      const under = isWhole
        ? [BELOW]
        : renderEnd({ end: { note, footer: '' }, actions: await left.actionsIn(thread) });
      if (isStream(growing) && (await endStream(channel, growing.ts, under))) return;
      await messages.update(channel, growing.ts, withEnd(growing, under), 'end');
      return;
    }
    // A stream that could neither be ended nor removed next to the whole answer.
    const open = ours.findLast((message) => isStream(message) && !hasButtons(message));
    if (isWhole && open) await endStream(channel, open.ts, [BELOW]);
    if (ours.length > 0) return;
    const end = renderNote(`⚠️ ${note}`, await left.actionsIn(thread));
    await messages.post({ channel, thread }, end, `${invocation}/restarted`);
  }

  /** The thread in which everyone sees the question; `undefined` if the question was never posted. */
  async function threadOf(channel: string, left: Interrupted, { ts }: Origin) {
    const { thread, shown, invocation, beganAtMs } = left;
    if (left.private) return undefined;
    // A command posts nothing by itself, and a message with a pressed button isn't about the question.
    if (!shown) return ts === undefined ? undefined : (thread ?? ts);
    if (thread !== undefined) return thread;
    const found = await shownMessages.since(channel, undefined, beganAtMs);
    const questionId = `${invocation}/question`;
    return found.find(({ metadata }) => metadata?.event_payload?.id === questionId)?.ts;
  }

  return async (channel, left, origin) => {
    const thread = await threadOf(channel, left, origin);
    if (thread === undefined) {
      const person = { id: left.person };
      const asked = { ...origin, channel, invocation: { thread: left.thread, person } };
      const agoMs = Date.now() - left.beganAtMs;
      const show = createShowEphemeral(asked, { messages, respond, agoMs });
      return await show(renderNote(`⚠️ ${left.note}`));
    }
    await endIn(channel, thread, left);
    // Otherwise Slack continues to show that an answer is being generated.
    if (channel.startsWith('D')) await agent.settle({ channel, thread });
  };
}

export function withEnd(
  { text = '', blocks = [] }: ShownMessage,
  under: types.KnownBlock[],
): Content {
  const prose = blocks.filter((block) => !isButtons(block) && !isWaiting(block));
  if (blocks.length === 0 && text.trim() !== '') {
    prose.push({ type: 'markdown', text: harmless(text) });
  }
  return { text, blocks: [...prose, ...under] };
}
