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
import {
  type AnswerBody,
  MAX_ANSWER_CHARACTERS,
  Message,
  ShownSteps,
} from '../shared/api-types.ts';
import type { EventStreams } from './event-streams.ts';
import type { ChatHistory } from './history.ts';
import type { PrivateMessages, PrivatePlace } from './private-messages.ts';

/** Interval between pieces of text: nobody reads faster than this. */
const SEND_EVERY_MS = 40;

/** A growing answer is stored this often, so that a crash loses little of it. */
const STORE_EVERY_MS = 2_000;

/** Pause before an answer that could not be stored is stored again. */
const STORE_AGAIN_MS = 2_000;

/** Answers kept in memory because they could not be stored. */
const MAX_UNSTORED = 100;

const CUT_NOTE = 'The answer was too long to show in full.';
const UNFINISHED_NOTE = 'The answer ended early.';

/** A stored thread, or a place that only one person sees and that is stored nowhere. */
export type AnswerPlace = { kind: 'thread'; root: string } | ({ kind: 'private' } & PrivatePlace);

export type MessageFrame = Omit<Message, 'body'>;

export const threadGone = () =>
  notFound('This thread was deleted to make room for newer messages.');

interface Growth {
  answer: Answer;
  frame: MessageFrame;
  place: AnswerPlace;
  text: string;
  steps: AnswerStep[];
  /** The part of `text` and the steps that browsers have. */
  sentCharacters: number;
  sentSteps: AnswerStep[];
  storedAtMs: number;
}

interface AnswerEnd {
  /** The body without text and steps. */
  rest: Partial<AnswerBody>;
  cards: readonly Card[];
}

interface AnswerParts {
  history: ChatHistory;
  privates: PrivateMessages;
  streams: EventStreams;
  log: Logger;
}

const UNFINISHED: AnswerEnd = { rest: { note: UNFINISHED_NOTE }, cards: [] };

/**
 * Shows answers while they are generated. Each goes through these states:
 * - growing: `grow` reads the stream. Every 40 ms it sends the new text to browsers, every 2 s it stores the message.
 * - whole: the stream has ended or was cut. The message and the cards below it are stored, again and again if that fails.
 * - ended: everything is stored, or the thread is gone. Until then `latest` returns the message from memory. A stop ends a
 *   growing answer with a note, and gives up an answer that can't be stored; the next start then ends it.
 */
export class GrowingAnswers {
  private readonly parts: AnswerParts;
  /** Messages that may be newer than the stored ones, by id. */
  private readonly live = new Map<string, Message>();
  private readonly running = new Set<Promise<void>>();
  private readonly cutShort = new AbortController();
  private readonly stopping = new AbortController();

  constructor(parts: AnswerParts) {
    this.parts = parts;
  }

  /** Shows the empty answer, and lets it grow after it resolves. Rejects if its thread is gone. */
  async show(answer: Answer, frame: MessageFrame, place: AnswerPlace): Promise<void> {
    const steps: AnswerStep[] = [];
    const growth = {
      answer,
      frame,
      place,
      text: '',
      steps,
      sentCharacters: 0,
      sentSteps: steps,
      storedAtMs: performance.now(),
    };
    if (place.kind === 'thread') {
      await answer.begin({ thread: place.root, shown: { message: frame.id } });
    }
    const message = growingMessage(growth);
    this.live.set(frame.id, message);
    try {
      if (!(await this.put(message, place))) {
        await answer.ended();
        throw threadGone();
      }
    } catch (error) {
      this.live.delete(frame.id);
      throw error;
    }
    const growing = this.grow(growth).finally(() => this.running.delete(growing));
    this.running.add(growing);
  }

  /** The message as people see it: a growing one is newer than the stored one. */
  latest = (message: Message): Message => this.live.get(message.id) ?? message;

  /** Waits for all answers under way, and cuts them short after `graceMs`. */
  async finish(graceMs: number): Promise<void> {
    this.stopping.abort();
    const timer = setTimeout(() => this.cutShort.abort(), graceMs);
    await Promise.all(this.running);
    clearTimeout(timer);
  }

  private async grow(growth: Growth) {
    const { answer, frame, place } = growth;
    const reading = new AbortController();
    const showing = this.showWhileReading(growth, reading.signal);
    const { rest, cards } = await this.read(growth);
    reading.abort();
    await showing;
    this.sendNews(growth);

    const whole = messageOf(growth, { growing: false, ...rest });
    this.live.set(frame.id, whole);
    const below = cards.map((card, index) => cardMessage(frame, card, index));
    if (await this.storeWhole(growth, [whole, ...below])) await answer.ended();
    if (place.kind === 'private' && !this.parts.streams.hasReader(place.person))
      answer.notShown?.();
  }

  private async read(growth: Growth): Promise<AnswerEnd> {
    const { answer, frame, place } = growth;
    // Without a thread, the bot doesn't remember the answer.
    const thread = place.kind === 'thread' ? place.root : undefined;
    let isCut = false;
    try {
      for await (const part of answer.stream(thread, this.cutShort.signal)) {
        if (part.kind === 'end') return endOf(part, isCut);
        if (part.kind === 'step') {
          growth.steps = ShownSteps.parse(withStep(growth.steps, part.step));
        } else {
          const room = MAX_ANSWER_CHARACTERS - growth.text.length;
          isCut ||= part.text.length > room;
          growth.text += part.text.slice(0, room);
        }
        this.live.set(frame.id, growingMessage(growth));
      }
    } catch (error) {
      this.parts.log.error({ err: error }, 'an answer failed unexpectedly');
    }
    return UNFINISHED;
  }

  private async showWhileReading(growth: Growth, ended: AbortSignal) {
    while (!ended.aborted) {
      await pause(SEND_EVERY_MS);
      this.sendNews(growth);
      await this.storeUnfinished(growth);
    }
  }

  /** Sends the text that browsers don't have yet, or the whole message if a step has changed. */
  private sendNews(growth: Growth) {
    const { frame, place, text, steps, sentCharacters } = growth;
    const hasNewSteps = growth.sentSteps !== steps;
    if (!hasNewSteps && sentCharacters === text.length) return;
    growth.sentSteps = steps;
    growth.sentCharacters = text.length;
    if (hasNewSteps) {
      const reply = growingMessage(growth);
      if (place.kind === 'private') this.parts.privates.put(place, reply);
      else this.parts.streams.send({ kind: 'reply', root: place.root, reply });
      return;
    }
    const { root = frame.id } = place;
    const reply = place.root === undefined ? undefined : frame.id;
    const news = text.slice(sentCharacters);
    const event = { kind: 'text' as const, root, reply, offset: sentCharacters, text: news };
    this.parts.streams.send(event, place.kind === 'private' ? place.person : undefined);
  }

  private async storeUnfinished(growth: Growth) {
    const { place } = growth;
    if (place.kind === 'private' || performance.now() - growth.storedAtMs < STORE_EVERY_MS) return;
    growth.storedAtMs = performance.now();
    try {
      await this.parts.history.storeReply(place.root, growingMessage(growth));
    } catch (error) {
      this.parts.log.warn({ err: error }, 'could not store an unfinished answer');
    }
  }

  /** Shows and stores a whole answer and the cards below it, however often that takes. Returns false if it gives up. */
  private async storeWhole(
    { answer, place }: Growth,
    messages: readonly [whole: Message, ...cards: Message[]],
  ): Promise<boolean> {
    const [whole] = messages;
    let storedCount = 0;
    for (let isFirst = true; this.live.get(whole.id) === whole; isFirst = false) {
      try {
        for (const message of messages.slice(storedCount)) {
          if (!(await this.put(message, place))) {
            answer.notShown?.();
            break;
          }
          storedCount += 1;
        }
        this.live.delete(whole.id);
        return true;
      } catch (error) {
        if (isFirst) this.keepUnstored(whole, place, error);
        if (this.stopping.signal.aborted) return false;
        const { signal } = this.stopping;
        await pause(STORE_AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return false;
  }

  private keepUnstored(whole: Message, place: AnswerPlace, error: unknown) {
    this.parts.log.error(
      { err: error },
      'could not store an answer; retrying, a stop before that loses it',
    );
    if (place.kind === 'thread') {
      this.parts.streams.send({ kind: 'reply', root: place.root, reply: whole });
    }
    forgetOldest(this.live, MAX_UNSTORED);
  }

  /** Shows the whole message, and stores a public one. Returns false if its thread is gone. */
  private async put(message: Message, place: AnswerPlace): Promise<boolean> {
    if (place.kind === 'thread') {
      return (await this.parts.history.putReply(place.root, message)) !== undefined;
    }
    this.parts.privates.put(place, message);
    return true;
  }
}

const growingMessage = (growth: Growth): Message =>
  messageOf(growth, { growing: true, actions: growth.answer.actions });

function messageOf(
  { frame, text, steps }: Growth,
  rest: Partial<AnswerBody> & { growing: boolean },
): Message {
  const shownSteps = steps.length > 0 ? steps : undefined;
  return { ...frame, body: { kind: 'answer', text, steps: shownSteps, ...rest } };
}

function endOf(part: AnswerPart & { kind: 'end' }, isCut: boolean): AnswerEnd {
  const { note = isCut ? CUT_NOTE : undefined, footer, actions, cards = [], document } = part;
  return { rest: { note, footer, actions, document }, cards };
}

/** A message with the card. Its id comes from the proposal, so that storing it twice makes one message. */
function cardMessage(
  { id, author, private: isPrivate }: MessageFrame,
  card: Card,
  index: number,
): Message {
  const key = card.actions?.[0]?.values.proposal ?? index;
  return Message.parse({
    id: `${id}-${key}`,
    author,
    atMs: Date.now(),
    private: isPrivate,
    body: { kind: 'card', card },
  });
}
