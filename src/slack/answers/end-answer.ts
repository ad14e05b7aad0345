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

/** Ends in a channel what a restart left, which came from this origin. Throws what the `WebClient` throws. */
export type EndAnswer = (channel: string, left: Interrupted, origin: Origin) => Promise<void>;

/**
 * Ends answers of an earlier process in a workspace. What they show is read back from Slack, where a message under way has
 * the button that stops it, or is a stream. Where nobody else saw anything, only the person who asked is shown the note. All of
 * it waits out Slack's limits.
 */
export function createEndAnswer(options: {
  shownMessages: ShownMessages;
  messages: Messages;
  streams: Streams;
  agent: Agent;
  respond: Respond;
}): EndAnswer {
  const { shownMessages, messages, streams, agent, respond } = options;

  async function endStream(channel: string, ts: string, blocks: types.KnownBlock[]) {
    try {
      await streams.abandon({ channel, ts }, blocks);
      return true;
    } catch (error) {
      // Slack ends each by itself after some minutes; such a message is changed like any other.
      if (OVER.has(readFailure(error).code)) return false;
      throw error;
    }
  }

  async function endIn(channel: string, thread: string, left: Interrupted) {
    const { id, invocation, note } = left;
    const found = await shownMessages.of(channel, thread, left);
    const { messages: ours, isStream } = found;
    const isWhole = ours.some((message) => hasButtons(message) && !isGrowing(message, id));
    const growing =
      ours.findLast((message) => isGrowing(message, id)) ??
      (isWhole ? undefined : ours.findLast(isStream));
    if (!growing) {
      // One that could neither be ended nor removed beside the whole answer.
      const open = ours.findLast((message) => isStream(message) && !hasButtons(message));
      if (isWhole && open) await endStream(channel, open.ts, [BELOW]);
      if (ours.length > 0) return;
      const end = renderNote(`⚠️ ${note}`, await left.actionsIn(thread));
      await messages.post({ channel, thread }, end, `${invocation}/restarted`);
      return;
    }
    const under = isWhole
      ? [BELOW]
      : renderEnd({ end: { note, footer: '' }, actions: await left.actionsIn(thread) });
    if (isStream(growing) && (await endStream(channel, growing.ts, under))) return;
    await messages.update(channel, growing.ts, withEnd(growing, under), 'end');
  }

  /** The thread in which everybody sees what was asked; none is known of a question that was never posted. */
  async function threadOf(channel: string, left: Interrupted, { ts }: Origin) {
    const { thread, shown, invocation, beganAtMs } = left;
    if (left.private) return undefined;
    // A gesture shows nothing by itself, and the message whose button was pressed is not about it.
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
    // Slack goes on showing that an answer is generated otherwise.
    if (channel.startsWith('D')) await agent.settle(channel, thread);
  };
}

/** What it shows, with another end under it. */
export function withEnd({ text = '', blocks }: ShownMessage, under: types.KnownBlock[]): Content {
  const prose: types.KnownBlock[] =
    blocks && blocks.length > 0
      ? blocks.filter((block) => !isButtons(block) && !isWaiting(block))
      : text.trim() === ''
        ? []
        : [{ type: 'markdown', text: harmless(text) }];
  return { text, blocks: [...prose, ...under] };
}
