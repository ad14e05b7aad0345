import type { types } from '@slack/bolt';
import type { UnfinishedAnswer } from '../../bot/shared/invocation.ts';
import { readFailure } from '../api/call-failure.ts';
import type { Messages } from '../api/messages.ts';
import type { Streams } from '../api/streams.ts';
import { type Content, context, isButtons, type ShownMessage } from '../render/blocks.ts';
import { renderEnd, renderNote } from '../render/render-answer.ts';
import { harmless } from '../render/text.ts';
import type { Agent } from './agent.ts';
import { hasButtons, isGrowing, isWaiting, type ShownMessages } from './shown-messages.ts';
import { OVER } from './streamed-answer.ts';

const BELOW = context('The full answer is below.');

/**
 * Ends answers of an earlier process in a workspace. What they show is read back from Slack, where a message under way has
 * the button that stops it, or is a stream. All of it waits out Slack's limits. Throws what the `WebClient` throws.
 */
export function createEndAnswer(options: {
  shownMessages: ShownMessages;
  messages: Messages;
  streams: Streams;
  agent: Agent;
}): (channel: string, unfinished: UnfinishedAnswer) => Promise<void> {
  const { shownMessages, messages, streams, agent } = options;

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

  async function endIn(channel: string, thread: string, unfinished: UnfinishedAnswer) {
    const { id, invocation, note } = unfinished;
    const found = await shownMessages.of(channel, thread, unfinished);
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
      const end = renderNote(`⚠️ ${note}`, await unfinished.actionsIn(thread));
      await messages.post({ channel, thread }, end, `${invocation}/restarted`);
      return;
    }
    const under = isWhole
      ? [BELOW]
      : renderEnd({ end: { note, footer: '' }, actions: await unfinished.actionsIn(thread) });
    if (isStream(growing) && (await endStream(channel, growing.ts, under))) return;
    await messages.update(channel, growing.ts, withEnd(growing, under), 'end');
  }

  return async (channel, unfinished) => {
    const { invocation, person, note, beganAtMs } = unfinished;
    const questionId = `${invocation}/question`;
    const thread =
      unfinished.thread ??
      (unfinished.private
        ? undefined
        : (await shownMessages.since(channel, undefined, beganAtMs)).find(
            ({ metadata }) => metadata?.event_payload?.id === questionId,
          )?.ts);
    if (thread === undefined || unfinished.private) {
      // Nothing that can be changed is shown; whoever waits is shown the note.
      const to = { channel, ...(thread !== undefined && { thread }) };
      await messages.postEphemeral(to, person, renderNote(`⚠️ ${note}`));
      return;
    }
    await endIn(channel, thread, unfinished);
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
