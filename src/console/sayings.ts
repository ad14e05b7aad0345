import type { Logger } from 'pino';
import type { Bot } from '../bot/bot.ts';
import type { Answer, Person, Reply } from '../bot/platform.ts';
import { HttpError } from '../http/errors.ts';
import type { Answers, Frame } from './answers.ts';
import { type Asked, askedBy, threadGone } from './asked.ts';
import type { EventStreams } from './event-streams.ts';
import { type History, listedOf } from './history.ts';
import type { Message, Press, Said, Saying } from './wire.ts';

/** Gestures whose outcome is remembered, so that a repeated request gets the same answer. */
const MAX_REMEMBERED = 1_000;

/** Gestures that may be under way at once. */
const MAX_UNDER_WAY = 32;

/** Takes what people say to the bot, by words or by a button, and shows what comes of it. */
export interface Sayings {
  /** Resolves once it is shown where it will be shown; an answer then goes on growing by itself. Throws `HttpError`. */
  take(bot: Bot, said: Saying | Press): Promise<Said>;
  /** Waits for the gestures under way. */
  settle(): Promise<void>;
}

/** What was asked, by whom, and which tab is to hear what is for its reader only. */
interface Gesture extends Asked, Pick<Saying, 'id' | 'client' | 'channel'> {}

/** Makes the way from what a person said to what everyone sees. */
export function createSayings(options: {
  history: History;
  streams: EventStreams;
  answers: Answers;
  person: Person;
  log: Logger;
}): Sayings {
  const { history, streams, answers, person, log } = options;
  const remembered = new Map<string, Promise<Said>>();
  const underWay = new Set<Promise<Said>>();

  async function handle(bot: Bot, said: Saying | Press): Promise<Said> {
    const { id, client, channel } = said;
    const asked = askedBy(said, person, { history, answers });
    const { request, thread } = asked;
    const reply = await bot.handle({
      id: `console:${id}`,
      request,
      place: { platform: 'console', channel },
      ...(thread === undefined ? {} : { thread }),
      // Whoever opens the console runs it.
      person: { ...asked.person, mayManage: async () => true },
    });
    const shown = await show(reply, { ...asked, id, client, channel });
    const isPublic = reply.kind !== 'nothing' && !reply.private;
    if (isPublic && asked.pressedPrivate !== undefined) {
      // Its buttons have done what they were for: its reader now sees what everybody sees.
      streams.send({ kind: 'removed', message: asked.pressedPrivate }, client);
    }
    return shown;
  }

  async function show(reply: Reply, gesture: Gesture): Promise<Said> {
    if (reply.kind === 'nothing') return { shown: 'nothing' };
    const own = { id: `a${gesture.id}`, author: { kind: 'askwatch' as const }, atMs: Date.now() };
    const from = gesture.command === undefined ? {} : { command: gesture.command };
    if (reply.kind === 'card') {
      const message: Message = { ...own, ...from, body: { kind: 'card', card: reply.card } };
      return reply.private ? showPrivate(message, gesture) : await showPublic(message, gesture);
    }

    if (reply.private) {
      const { client, channel, thread } = gesture;
      const frame = { ...own, ...from, private: true as const };
      await answers.show(reply, frame, { kind: 'private', client, channel, root: thread });
      return placeOf(frame, gesture);
    }
    return await showAnswer(reply, own, gesture);
  }

  /** The question for everyone, and the answer in the thread. */
  async function showAnswer(reply: Answer, own: Frame, gesture: Gesture): Promise<Said> {
    const question: Message = {
      id: `q${gesture.id}`,
      author: { kind: 'person', ...person },
      atMs: own.atMs,
      body: { kind: 'text', text: reply.question },
    };
    await showPublic(question, gesture);
    const root = gesture.thread ?? question.id;
    await answers.show(reply, own, { kind: 'thread', root });
    return { shown: 'thread', message: root };
  }

  /** Only the tab that asked hears of it. */
  function showPrivate(message: Message, gesture: Gesture): Said {
    const told: Message = { ...message, private: true };
    const { channel, thread, client } = gesture;
    if (thread !== undefined) streams.send({ kind: 'reply', root: thread, reply: told }, client);
    else {
      const listed = listedOf({ channel, message: told, replies: [] });
      streams.send({ kind: 'message', listed }, client);
    }
    return placeOf(told, gesture);
  }

  /** Stored first, then told to everyone. */
  async function showPublic(message: Message, gesture: Gesture): Promise<Said> {
    const { channel, thread } = gesture;
    if (thread === undefined) {
      const { root, removed } = await history.add({ channel, message, replies: [] });
      streams.send({ kind: 'message', listed: listedOf(root) });
      for (const gone of removed) streams.send({ kind: 'removed', message: gone });
      return placeOf(message, gesture);
    }
    const root = await history.putReply(thread, message);
    if (!root) throw threadGone();
    streams.send({ kind: 'reply', root: thread, reply: message });
    streams.send({ kind: 'message', listed: listedOf(root) });
    return placeOf(message, gesture);
  }

  return {
    async take(bot, said) {
      const known = remembered.get(said.id);
      if (known) return await known;
      if (underWay.size >= MAX_UNDER_WAY) {
        throw new HttpError(429, 'too_many_requests', 'Too much at once. Wait a moment.', {
          headers: { 'retry-after': '1' },
        });
      }
      const outcome = handle(bot, said).finally(() => underWay.delete(outcome));
      underWay.add(outcome);
      remembered.set(said.id, outcome);
      for (const id of remembered.keys()) {
        if (remembered.size <= MAX_REMEMBERED) break;
        remembered.delete(id);
      }
      try {
        return await outcome;
      } catch (error) {
        remembered.delete(said.id);
        if (error instanceof HttpError) throw error;
        log.error({ err: error }, 'what a person said could not be shown');
        throw new HttpError(503, 'not_stored', 'The message could not be stored. Try again.');
      }
    },
    async settle() {
      await Promise.allSettled(underWay);
    },
  };
}

function placeOf(message: Pick<Message, 'id'>, { thread }: Gesture): Said {
  return thread === undefined
    ? { shown: 'channel', message: message.id }
    : { shown: 'thread', message: thread };
}
