import type { types, webApi } from '@slack/bolt';
import { stateByButtons } from '../../bot/ask/answer-buttons.ts';
import type { Interrupted } from '../../bot/shared/invocation.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { isDocument } from '../api/documents.ts';
import { readPatiently } from '../api/messages.ts';
import type { SendQueue } from '../api/send-queue.ts';
import { isButtons, type ShownMessage } from '../render/blocks.ts';
import { isWaitingLine } from '../render/render-answer.ts';

interface FoundMessage extends ShownMessage {
  user?: string;
  metadata?: { event_payload?: { id?: unknown } };
}

/** The messages of an answer, oldest first. */
interface FoundAnswer {
  messages: FoundMessage[];
  isStream(message: ShownMessage): boolean;
}

/** An answer that isn't found among so many messages gets its end below them. */
const PAGE_SIZE = 100;
const MAX_PAGES = 5;

/** The clocks of this machine and of Slack may differ by this much. */
const CLOCK_SECONDS = 120;

/** Notes are stored often, so they are short; no model's answer is longer. */
const MAX_NOTED = 100;

/** The stored note about an answer that is streamed: the newest message before it, and its messages, oldest first. */
export const streamNoteOf = (after: string, pages: readonly string[]): Record<string, string> => ({
  after,
  ...(pages.length > 0 && { stream: pages.slice(-MAX_NOTED).join(' ') }),
});

export type ShownMessages = ReturnType<typeof createShownMessages>;

/** Finds the messages of an answer in Slack. Waits for Slack's limits; throws the errors of the `WebClient`. */
export function createShownMessages(options: {
  client: webApi.WebClient;
  queue: SendQueue;
  self: BotIdentity;
}) {
  const { client, queue, self } = options;

  async function since(channel: string, thread: string | undefined, beganAtMs: number) {
    const oldest = String(Math.floor(beganAtMs / 1000) - CLOCK_SECONDS);
    const bounds = { channel, thread, oldest, limit: PAGE_SIZE, include_all_metadata: true };
    const found: FoundMessage[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer = await readPatiently(client, queue, { ...bounds, cursor });
      found.push(...((answer.messages ?? []) as FoundMessage[]));
      cursor = answer.response_metadata?.next_cursor;
      if (!cursor) break;
    }
    return found
      .filter(({ user }) => user === self.userId)
      .sort((a, b) => Number(a.ts) - Number(b.ts));
  }

  return {
    since,
    async of(channel: string, thread: string, answer: Interrupted): Promise<FoundAnswer> {
      const { id, invocation, beganAtMs, shown = {} } = answer;
      const all = await since(channel, thread, beganAtMs);
      const pages = shown.stream?.split(' ') ?? [];
      const begunAfter = pages.at(-1) ?? shown.after;
      const lost = begunAfter === undefined ? undefined : lostStream(all, { id, begunAfter });
      const streams = new Set([...pages, lost?.ts]);
      const isStream = ({ ts }: ShownMessage) => streams.has(ts);
      const messages = all.filter(
        (message) =>
          isStream(message) ||
          isPostedFor(message, invocation) ||
          stateByButtons(buttonsOf(message), id) !== undefined,
      );
      return { messages, isStream };
    },
  };
}

/** A stream whose start was not noted. It is not followed by the end of another answer, which it would belong to. */
function lostStream(
  all: readonly FoundMessage[],
  { id, begunAfter }: { id: string; begunAfter: string },
) {
  const streams = all.filter(({ metadata }) => !metadata);
  const otherEnd = streams.findLastIndex(
    (message) => hasButtons(message) && stateByButtons(buttonsOf(message), id) === undefined,
  );
  return streams
    .slice(otherEnd + 1)
    .findLast(
      (message) =>
        !hasButtons(message) && !isDocument(message) && Number(message.ts) > Number(begunAfter),
    );
}

export const cardId = (invocation: string, key: string) => `${invocation}/card/${key}`;

/** True for a message of the answer to this invocation, not for the question above and the cards below it. */
function isPostedFor({ metadata }: FoundMessage, invocation: string): boolean {
  const id = metadata?.event_payload?.id;
  if (typeof id !== 'string' || !id.startsWith(`${invocation}/`)) return false;
  return id !== `${invocation}/question` && !id.startsWith(cardId(invocation, ''));
}

const buttonsOf = ({ blocks = [] }: ShownMessage) =>
  blocks
    .filter(isButtons)
    .flatMap(({ elements }) =>
      elements.flatMap((element) =>
        element.type === 'feedback_buttons'
          ? [element.positive_button.value, element.negative_button.value]
          : ('value' in element && element.value) || [],
      ),
    );

export const hasButtons = (message: ShownMessage) => buttonsOf(message).length > 0;

/** True for a message with the Stop button, or with a line such as "Writing…". */
export const isGrowing = (message: ShownMessage, id: string) =>
  (message.blocks ?? []).some(isWaiting) || stateByButtons(buttonsOf(message), id) === 'growing';

export const isWaiting = (block: types.KnownBlock) =>
  block.type === 'context' &&
  block.elements.some((element) => 'text' in element && isWaitingLine(element.text));
