import type { types, webApi } from '@slack/bolt';
import { answerOfButton } from '../../bot/shared/card.ts';
import type { Interrupted } from '../../bot/shared/invocation.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { isDocument } from '../api/documents.ts';
import { readingOf, readMessages } from '../api/messages.ts';
import type { SendQueue } from '../api/send-queue.ts';
import { isButtons, type ShownMessage } from '../render/blocks.ts';
import { isWaitingLine } from '../render/render-answer.ts';

/** A message as Slack gives it back, as far as it is read here. */
export interface FoundMessage extends ShownMessage {
  user?: string;
  metadata?: { event_payload?: { id?: unknown } };
}

/** What is found of it, oldest first, and which of that are streams, or were. */
export interface FoundAnswer {
  messages: FoundMessage[];
  isStream(message: ShownMessage): boolean;
}

/** Messages asked for at once, and how many times: an answer that is not found among so many gets its end below them. */
const PAGE_SIZE = 100;
const MAX_PAGES = 5;

/** The clocks of this machine and of Slack may differ by so much. */
const CLOCK_SECONDS = 120;

/** What is noted of an answer that is streamed. */
export interface StreamNote {
  /** The newest message of the thread before it. */
  after: string;
  /** Its messages, oldest first. */
  pages: readonly string[];
}

/** A note that is stored many times over holds no more than these; an answer of as many is longer than any model's. */
const MAX_NOTED = 100;

export const streamNoteOf = ({ after, pages }: StreamNote): Record<string, string> => ({
  after,
  ...(pages.length > 0 && { stream: pages.slice(-MAX_NOTED).join(' ') }),
});

export type ShownMessages = ReturnType<typeof createShownMessages>;

/** Finds in Slack what is shown of an answer. Waits out Slack's limits; throws what the `WebClient` throws. */
export function createShownMessages(options: {
  client: webApi.WebClient;
  queue: SendQueue;
  self: BotIdentity;
}) {
  const { client, queue, self } = options;

  /** Our messages of a thread, or of a channel, since an answer began; oldest first. */
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
        cursor,
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

  return {
    since,
    /** What an answer shows in its thread. */
    async of(channel: string, thread: string, answer: Interrupted): Promise<FoundAnswer> {
      const { id, invocation, beganAtMs, shown = {} } = answer;
      const all = await since(channel, thread, beganAtMs);
      const pages = shown.stream?.split(' ') ?? [];
      const begunAfter = pages.at(-1) ?? shown.after;
      const lost = begunAfter === undefined ? undefined : lostStream(all, { id, begunAfter });
      const streams = new Set([...pages, lost?.ts]);
      const isStream = ({ ts }: ShownMessage) => streams.has(ts);
      const messages = all.filter(
        (message) => isStream(message) || isPostedFor(message, invocation) || isAbout(message, id),
      );
      return { messages, isStream };
    },
  };
}

/**
 * A stream whose start was not noted: nobody's yet, and not followed by the end of another answer, of which it would be the
 * beginning.
 */
function lostStream(
  all: readonly FoundMessage[],
  { id, begunAfter }: { id: string; begunAfter: string },
) {
  const ends = all.findLastIndex(
    (message) => !message.metadata && hasButtons(message) && !isAbout(message, id),
  );
  return all
    .slice(ends + 1)
    .findLast(
      (message) =>
        !message.metadata &&
        !hasButtons(message) &&
        !isDocument(message) &&
        Number(message.ts) > Number(begunAfter),
    );
}

/** What a card below the answer to an invocation is posted by. */
export const cardId = (invocation: string, key: string) => `${invocation}/card/${key}`;

/** Whether a message was posted as a part of the answer to this invocation, and not above or below it. */
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

/** Whether a button of it is about the answer, or stops it. */
const isAbout = (message: ShownMessage, id: string, { stops = false } = {}) =>
  buttonsOf(message)
    .map(answerOfButton)
    .some((button) => button?.answer === id && (!stops || button.stops));

/** Has the button that stops the answer, or says that more comes. */
export const isGrowing = (message: ShownMessage, id: string) =>
  (message.blocks ?? []).some(isWaiting) || isAbout(message, id, { stops: true });

export const isWaiting = (block: types.KnownBlock) =>
  block.type === 'context' &&
  block.elements.some((element) => 'text' in element && isWaitingLine(element.text));
