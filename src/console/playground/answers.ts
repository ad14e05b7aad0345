import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Card } from '../../bot/shared/card.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import {
  type Answer,
  type AnswerPart,
  type AnswerStep,
  withStep,
} from '../../bot/shared/invocation.ts';
import { notFound } from '../../http/errors.ts';
import { type Body, MAX_ANSWER_CHARACTERS, Message, ShownSteps } from '../shared/api-types.ts';
import type { EventStreams } from './event-streams.ts';
import type { History } from './history.ts';
import type { PrivateMessages, PrivatePlace } from './private-messages.ts';

/** Text is sent to browsers at most this often: faster than this nobody reads. */
const SEND_EVERY_MS = 40;

/** A growing answer is stored this often, so that a crash loses little of it. */
const STORE_EVERY_MS = 2_000;

/** Pause before an answer that could not be stored is stored again. */
const STORE_AGAIN_MS = 2_000;

/** Answers kept in memory because they could not be stored. */
const MAX_UNSTORED = 100;

const CUT_NOTE = 'The answer was too long to show in full.';
const UNFINISHED_NOTE = 'The answer ended early.';

/** Where an answer is shown: in a stored thread, or to one person only, stored nowhere. */
export type Destination = { kind: 'thread'; root: string } | ({ kind: 'private' } & PrivatePlace);

/** The message that an answer grows in. */
export type MessageFrame = Omit<Message, 'body'>;

export const threadGone = () =>
  notFound('This thread was deleted to make room for newer messages.');

/** Shows answers while they are generated. */
export type Answers = ReturnType<typeof createAnswers>;

/** Makes the place where answers grow. */
export function createAnswers(options: {
  history: History;
  privates: PrivateMessages;
  streams: EventStreams;
  log: Logger;
}) {
  const { history, privates, streams, log } = options;
  const live = new Map<string, Message>();
  const running = new Set<Promise<void>>();
  const cutShort = new AbortController();
  const stopping = new AbortController();

  /** Shows the whole message, and stores it; false when there is no such thread any more. */
  async function put(message: Message, to: Destination): Promise<boolean> {
    if (to.kind === 'thread') return (await history.putReply(to.root, message)) !== undefined;
    privates.put(to, message);
    return true;
  }

  /** Reads the answer to its end while a second loop shows and stores what has come so far. */
  async function grow(answer: Answer, frame: MessageFrame, to: Destination) {
    const { id } = frame;
    let text = '';
    let steps: AnswerStep[] = [];
    let sent = 0;
    let sentSteps = steps;
    let storedAtMs = performance.now();
    const messageNow = (state: Shown = whileGrowing(answer)): Message => ({
      ...frame,
      body: { kind: 'answer', text, ...(steps.length > 0 && { steps }), ...state },
    });

    /** All of it: text that is sent later goes on from here. */
    function sendSteps() {
      const reply = messageNow();
      if (to.kind === 'private') privates.put(to, reply);
      else streams.send({ kind: 'reply', root: to.root, reply });
      sentSteps = steps;
      sent = text.length;
    }

    function sendGrown() {
      if (sentSteps !== steps) return sendSteps();
      if (sent === text.length) return;
      const place = to.root === undefined ? { root: id } : { root: to.root, reply: id };
      const event = { kind: 'text' as const, ...place, offset: sent, text: text.slice(sent) };
      streams.send(event, to.kind === 'private' ? to.person : undefined);
      sent = text.length;
    }

    async function storeSoFar() {
      if (to.kind === 'private' || performance.now() - storedAtMs < STORE_EVERY_MS) return;
      storedAtMs = performance.now();
      // Only a safety net: what cannot be stored now is stored with the end.
      await history
        .storeReply(to.root, messageNow())
        .catch((error: unknown) =>
          log.warn({ err: error }, 'could not store an unfinished answer'),
        );
    }

    const ended = new AbortController();
    const showing = (async () => {
      while (!ended.signal.aborted) {
        await pause(SEND_EVERY_MS);
        sendGrown();
        await storeSoFar();
      }
    })();
    // A private answer is remembered nowhere.
    const thread = to.kind === 'thread' ? to.root : undefined;
    const ending = await readTo(answer.stream(thread, cutShort.signal), (part) => {
      if (part.kind === 'text') text += part.text;
      else steps = ShownSteps.parse(withStep(steps, part.step));
      live.set(id, messageNow());
    }).catch((error: unknown): Ending => {
      log.error({ err: error }, 'an answer failed unexpectedly');
      return UNFINISHED;
    });
    ended.abort();
    await showing;
    sendGrown();

    const whole = messageNow(ending.shown);
    live.set(id, whole);
    const cards = ending.cards.map((card, no) => cardBelow(frame, card, no));
    if (await showWhole(answer, [whole, ...cards], to)) await answer.ended();
    if (to.kind === 'private' && !streams.hasReader(to.person)) answer.notShown?.();
  }

  /** Shows an answer that is whole, and the cards below it, as often as it takes to store them; false when that came to nothing. */
  async function showWhole(
    answer: Answer,
    messages: readonly [whole: Message, ...cards: Message[]],
    to: Destination,
  ): Promise<boolean> {
    const [whole] = messages;
    let stored = 0;
    for (let isFirst = true; live.get(whole.id) === whole; isFirst = false) {
      try {
        for (const message of messages.slice(stored)) {
          if (!(await put(message, to))) {
            answer.notShown?.();
            break;
          }
          stored += 1;
        }
        live.delete(whole.id);
        return true;
      } catch (error) {
        if (isFirst) {
          log.error(
            { err: error },
            'could not store an answer; retrying, a stop before that loses it',
          );
          if (to.kind === 'thread') streams.send({ kind: 'reply', root: to.root, reply: whole });
          forgetOldest(live, MAX_UNSTORED);
        }
        if (stopping.signal.aborted) return false;
        await pause(STORE_AGAIN_MS, undefined, { signal: stopping.signal }).catch(() => {});
      }
    }
    return false;
  }

  return {
    /** Shows the beginning, and then goes on reading by itself. Rejects when there is nowhere to show it any more. */
    async show(answer: Answer, frame: MessageFrame, to: Destination) {
      const body: Body = { kind: 'answer', text: '', ...whileGrowing(answer) };
      if (to.kind === 'thread')
        await answer.begin({ thread: to.root, shown: { message: frame.id } });
      const message = { ...frame, body };
      live.set(frame.id, message);
      try {
        if (!(await put(message, to))) {
          await answer.ended();
          throw threadGone();
        }
      } catch (error) {
        live.delete(frame.id);
        throw error;
      }
      const growing = grow(answer, frame, to).finally(() => running.delete(growing));
      running.add(growing);
    },
    /** The message as it is this moment: a growing one is ahead of what is stored. */
    latest: (message: Message) => live.get(message.id) ?? message,
    /** Waits for all answers under way; after `graceMs` they are cut short. */
    async finish(graceMs: number) {
      stopping.abort();
      const timer = setTimeout(() => cutShort.abort(), graceMs);
      await Promise.all(running);
      clearTimeout(timer);
    },
  };
}

/** All of an answer but its text and steps. */
type Shown = Omit<Extract<Body, { kind: 'answer' }>, 'kind' | 'text' | 'steps'>;

const whileGrowing = ({ actions }: Answer): Shown => ({
  growing: true,
  ...(actions && { actions }),
});

/** How an answer ended, and what stands below it. */
interface Ending {
  shown: Shown;
  cards: readonly Card[];
}

const UNFINISHED: Ending = { shown: { growing: false, note: UNFINISHED_NOTE }, cards: [] };

/** A message with the card. Its id comes from the proposal, so that a card that is stored twice is one message. */
function cardBelow({ id, author, private: isPrivate }: MessageFrame, card: Card, no: number) {
  const body = { kind: 'card', card } as const;
  const key = card.actions?.[0]?.values.proposal ?? no;
  const frame = { id: `${id}-${key}`, author, atMs: Date.now() };
  return Message.parse({ ...frame, ...(isPrivate && { private: true }), body });
}

/** Hands on the steps of an answer, and as much of its text as is kept, and tells how it ended. */
async function readTo(
  parts: AsyncIterable<AnswerPart>,
  take: (part: Extract<AnswerPart, { kind: 'text' | 'step' }>) => void,
): Promise<Ending> {
  let room = MAX_ANSWER_CHARACTERS;
  let cut = false;
  for await (const part of parts) {
    if (part.kind === 'end') {
      const { note = cut ? CUT_NOTE : undefined, footer, actions, cards = [], document } = part;
      const shown = {
        growing: false,
        ...(note === undefined ? {} : { note }),
        footer,
        ...(actions && { actions }),
        ...(document && { document: { name: document.name, text: document.text } }),
      };
      return { shown, cards };
    }
    if (part.kind === 'step') {
      take(part);
      continue;
    }
    const text = part.text.slice(0, room);
    cut ||= text.length < part.text.length;
    room -= text.length;
    if (text !== '') take({ kind: 'text', text });
  }
  return UNFINISHED;
}
