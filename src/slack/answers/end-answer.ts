import type { types, webApi } from '@slack/bolt';
import { answerOfButton } from '../../bot/shared/card.ts';
import type { UnfinishedAnswer } from '../../bot/shared/invocation.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { readFailure } from '../api/call-failure.ts';
import { type Messages, readingOf, readMessages } from '../api/messages.ts';
import type { SendQueue } from '../api/send-queue.ts';
import type { Streams } from '../api/streams.ts';
import { type Content, context, type ShownMessage } from '../render/blocks.ts';
import { renderEnd, renderNote, WAITING } from '../render/render-answer.ts';
import { harmless } from '../render/text.ts';
import type { Agent } from './agent.ts';
import { OVER } from './streamed-answer.ts';

/** A message as Slack gives it back, as far as it is read here. */
interface FoundMessage extends ShownMessage {
  user?: string;
  metadata?: { event_payload?: { id?: unknown } };
}

const BELOW = context('The whole answer is below.');

/** Messages asked for at once, and how many times: an answer that is not found among so many gets its end below them. */
const PAGE_SIZE = 100;
const MAX_PAGES = 5;

/** The clocks of this machine and of Slack may differ by so much. */
const CLOCK_SECONDS = 120;

/**
 * Ends answers of an earlier process in a workspace. What they show is read back from Slack, where a message under way has
 * the button that stops it, or is a stream. All of it waits out Slack's limits. Throws what the `WebClient` throws.
 */
export function createEndAnswer(options: {
  client: webApi.WebClient;
  queue: SendQueue;
  messages: Messages;
  streams: Streams;
  agent: Agent;
  self: BotIdentity;
}): (channel: string, unfinished: UnfinishedAnswer) => Promise<void> {
  const { client, queue, messages, streams, agent, self } = options;

  /** The messages of a thread, or of a channel, since an answer began; oldest first. */
  async function since(channel: string, thread: string | undefined, beganAtMs: number) {
    const oldest = String(Math.floor(beganAtMs / 1000) - CLOCK_SECONDS);
    const found: FoundMessage[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const bounds = {
        channel,
        oldest,
        limit: PAGE_SIZE,
        include_all_metadata: true,
        ...(cursor !== undefined && { cursor }),
      };
      const answer = await queue.patiently({
        method: readingOf(thread),
        channel,
        repeatable: true,
        run: () => readMessages(client, bounds, thread),
      });
      found.push(...((answer.messages ?? []) as FoundMessage[]));
      cursor = answer.response_metadata?.next_cursor;
      if (!cursor) break;
    }
    return found
      .filter(({ user }) => user === self.userId)
      .sort((a, b) => Number(a.ts) - Number(b.ts));
  }

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
    const { id, invocation, beganAtMs, note, shown } = unfinished;
    const all = await since(channel, thread, beganAtMs);
    const ours = all.filter(
      (message) =>
        message.ts === shown.stream || isPostedFor(message, invocation) || isAbout(message, id),
    );
    // A stream whose start was not noted: nobody's yet, and begun after what it answers.
    const lost =
      shown.after !== undefined && shown.stream === undefined
        ? all.findLast(
            (message) =>
              !message.metadata && !hasButtons(message) && Number(message.ts) > Number(shown.after),
          )
        : undefined;
    const isStream = ({ ts }: ShownMessage) => ts === (shown.stream ?? lost?.ts);
    const isWhole = ours.some((message) => hasButtons(message) && !isGrowing(message, id));
    const growing =
      ours.findLast((message) => isGrowing(message, id)) ??
      (isWhole ? undefined : (ours.findLast(isStream) ?? lost));
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
        : (await since(channel, undefined, beganAtMs)).find(
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
    if (channel.startsWith('D')) await agent.stopped(channel, thread);
  };
}

/** Whether a message was posted as a part of the answer to this invocation. */
function isPostedFor({ metadata }: FoundMessage, invocation: string): boolean {
  const id = metadata?.event_payload?.id;
  if (typeof id !== 'string' || !id.startsWith(`${invocation}/`)) return false;
  return id !== `${invocation}/question`;
}

const buttonsOf = ({ blocks = [] }: ShownMessage) =>
  blocks.flatMap((block) =>
    block.type === 'actions'
      ? block.elements.flatMap((element) => ('value' in element && element.value) || [])
      : [],
  );

const hasButtons = (message: ShownMessage) => buttonsOf(message).length > 0;

/** Whether a button of it is about the answer, or stops it. */
const isAbout = (message: ShownMessage, id: string, { stops = false } = {}) =>
  buttonsOf(message)
    .map(answerOfButton)
    .some((button) => button?.answer === id && (!stops || button.stops));

/** Has the button that stops the answer, or says that more comes. */
const isGrowing = (message: ShownMessage, id: string) =>
  (message.blocks ?? []).some(isWaiting) || isAbout(message, id, { stops: true });

const isWaiting = (block: types.KnownBlock) =>
  block.type === 'context' &&
  block.elements.some((element) => 'text' in element && WAITING.includes(element.text));

/** What it shows, with another end under it. */
export function withEnd({ text = '', blocks }: ShownMessage, under: types.KnownBlock[]): Content {
  const prose: types.KnownBlock[] =
    blocks && blocks.length > 0
      ? blocks.filter((block) => block.type !== 'actions' && !isWaiting(block))
      : text.trim() === ''
        ? []
        : [{ type: 'markdown', text: harmless(text) }];
  return { text, blocks: [...prose, ...under] };
}
