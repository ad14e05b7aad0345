import type { Logger } from 'pino';
import type { Bot } from '../bot/bot.ts';
import type { Invocation, Person, Reply } from '../bot/platform.ts';
import { HttpError, notFound } from '../http/errors.ts';
import type { Answers } from './answers.ts';
import type { EventStreams } from './event-streams.ts';
import { type History, listedOf } from './history.ts';
import type { Message, Said, Saying } from './wire.ts';

/** Gestures whose outcome is remembered, so that a repeated request gets the same answer. */
const MAX_REMEMBERED = 1_000;

/** Gestures that may be under way at once. */
const MAX_UNDER_WAY = 32;

/** Takes what people say to the bot and shows what comes of it. */
export interface Sayings {
  /** Resolves once it is shown where it will be shown; an answer then goes on growing by itself. Throws `HttpError`. */
  take(bot: Bot, saying: Saying): Promise<Said>;
  /** Waits for the gestures under way. */
  settle(): Promise<void>;
}

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

  async function handle(bot: Bot, saying: Saying): Promise<Said> {
    if (saying.thread !== undefined && !history.get(saying.thread)) {
      throw notFound('This thread is gone: it made room for newer messages.');
    }
    const reply = await bot.handle(invocationOf(saying, person));
    return await show(reply, saying);
  }

  async function show(reply: Reply, saying: Saying): Promise<Said> {
    if (reply.kind === 'nothing') return { shown: 'before' };
    const own = { id: `a${saying.id}`, author: { kind: 'askwatch' as const }, atMs: Date.now() };
    if (reply.kind === 'card') {
      const message: Message = {
        ...own,
        command: saying.text,
        body: { kind: 'card', card: reply.card },
      };
      return reply.private ? showPrivate(message, saying) : await showPublic(message, saying);
    }

    const empty: Message = { ...own, body: { kind: 'answer', text: '', growing: true } };
    if (reply.private) {
      const { client, channel, thread } = saying;
      const message: Message = { ...empty, private: true, command: saying.text };
      await answers.show(reply, message, { kind: 'private', client, channel, root: thread });
      return placeOf(message, saying);
    }
    const question: Message = {
      id: `q${saying.id}`,
      author: { kind: 'person', ...person },
      atMs: own.atMs,
      body: { kind: 'text', text: reply.question },
    };
    await showPublic(question, saying);
    const root = saying.thread ?? question.id;
    await answers.show(reply, empty, { kind: 'thread', root });
    return { shown: 'thread', message: root };
  }

  /** Only the tab that asked hears of it. */
  function showPrivate(message: Message, saying: Saying): Said {
    const told: Message = { ...message, private: true };
    const { channel, thread, client } = saying;
    if (thread !== undefined) streams.send({ kind: 'reply', root: thread, reply: told }, client);
    else {
      const listed = listedOf({ channel, message: told, replies: [] });
      streams.send({ kind: 'message', listed }, client);
    }
    return placeOf(told, saying);
  }

  /** Stored first, then told to everyone. */
  async function showPublic(message: Message, saying: Saying): Promise<Said> {
    const { channel, thread } = saying;
    if (thread === undefined) {
      const { root, removed } = await history.add({ channel, message, replies: [] });
      streams.send({ kind: 'message', listed: listedOf(root) });
      for (const gone of removed) streams.send({ kind: 'removed', message: gone });
      return placeOf(message, saying);
    }
    const root = await history.putReply(thread, message);
    if (!root) throw notFound('This thread is gone: it made room for newer messages.');
    streams.send({ kind: 'reply', root: thread, reply: message });
    streams.send({ kind: 'message', listed: listedOf(root) });
    return placeOf(message, saying);
  }

  return {
    async take(bot, saying) {
      const known = remembered.get(saying.id);
      if (known) return await known;
      if (underWay.size >= MAX_UNDER_WAY) {
        throw new HttpError(429, 'too_many_requests', 'Too much at once. Wait a moment.', {
          headers: { 'retry-after': '1' },
        });
      }
      const outcome = handle(bot, saying).finally(() => underWay.delete(outcome));
      underWay.add(outcome);
      remembered.set(saying.id, outcome);
      for (const id of remembered.keys()) {
        if (remembered.size <= MAX_REMEMBERED) break;
        remembered.delete(id);
      }
      try {
        return await outcome;
      } catch (error) {
        remembered.delete(saying.id);
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

/** Words without a slash are a question. */
function invocationOf(saying: Saying, person: Person): Invocation {
  const { id, channel, thread, text } = saying;
  return {
    id: `console:${id}`,
    request: text.startsWith('/') ? { line: text } : { command: 'ask', values: { question: text } },
    place: { platform: 'console', channel },
    ...(thread === undefined ? {} : { thread }),
    person,
  };
}

function placeOf(message: Message, saying: Saying): Said {
  return saying.thread === undefined
    ? { shown: 'channel', message: message.id }
    : { shown: 'thread', message: saying.thread };
}
