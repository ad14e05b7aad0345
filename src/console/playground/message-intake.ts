import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';
import type { Answer, Reply } from '../../bot/shared/invocation.ts';
import type { Person } from '../../bot/shared/place.ts';
import { HttpError } from '../../http/errors.ts';
import type { Gesture, Message, Said, Someone } from '../shared/api-types.ts';
import { cappedMessage } from '../shared/message-limits.ts';
import { type Answers, type Frame, threadGone } from './answers.ts';
import { type Asked, askedBy } from './asked.ts';
import type { EventStreams } from './event-streams.ts';
import { formFor, problemsOf, refusalOf } from './forms.ts';
import { type History, listedOf } from './history.ts';
import type { PrivateMessages } from './private-messages.ts';

/** Gestures whose outcome is remembered, so that a repeated request gets the same answer. */
const MAX_REMEMBERED = 1_000;

/** Gestures that may be under way at once. */
const MAX_UNDER_WAY = 32;

/** Takes what people say to the bot, by words, by a button or by a form, and shows what comes of it. */
export interface Sayings {
  /** Resolves once it is shown where it will be shown; an answer then goes on growing by itself. Throws `HttpError`. */
  take(bot: Bot, said: Gesture, by: Someone): Promise<Said>;
  /** Takes away a private message that its reader wants to see no longer. */
  dismiss(person: string, message: string): void;
  /** Waits for the gestures under way. */
  settle(): Promise<void>;
}

/** What was asked, by whom, and where. */
interface Taken extends Asked, Pick<Gesture, 'id' | 'channel'> {
  by: Someone;
}

/** Makes the way from what a person said to what everyone sees. */
export function createSayings(options: {
  history: History;
  privates: PrivateMessages;
  streams: EventStreams;
  answers: Answers;
  log: Logger;
}): Sayings {
  const { history, privates, streams, answers, log } = options;
  const remembered = new Map<string, Promise<Said>>();
  const underWay = new Set<Promise<Said>>();

  async function handle(bot: Bot, said: Gesture, by: Someone): Promise<Said> {
    const { id, channel } = said;
    const place = { platform: 'console' as const, channel };
    // Whoever opens the console runs it: who knows its password, or is at this machine.
    const person: Person = { ...by, mayManage: async () => true };
    const asked = askedBy(said, person, { history, answers });
    const form = 'text' in said ? await formFor(bot, said.text, { place, person }) : undefined;
    if (form) return { shown: 'form', form };
    const problems = 'values' in said ? problemsOf(bot, said) : undefined;
    if (problems) return problems;

    const { request, thread } = asked;
    const reply = await bot.dispatch({
      id: `console:${id}`,
      request,
      place,
      person: asked.person,
      ...(thread === undefined ? {} : { thread }),
      ...(asked.pressed && { pressed: asked.pressed.message }),
    });
    const refusal = 'values' in said ? refusalOf(reply) : undefined;
    if (refusal) return refusal;
    const shown = await show(reply, { ...asked, id, channel, by });
    const isPublic = reply.kind !== 'nothing' && !reply.private;
    // Its buttons have done what they were for: its reader now sees what everybody sees.
    if (isPublic && asked.pressed?.private) dismiss(by.id, asked.pressed.message);
    return shown;
  }

  function dismiss(person: string, message: string) {
    if (privates.remove(person, message)) streams.send({ kind: 'removed', message }, person);
  }

  async function show(reply: Reply, gesture: Taken): Promise<Said> {
    if (reply.kind === 'nothing') return { shown: 'nothing' };
    const { command, by } = gesture;
    const own = { id: `a${gesture.id}`, author: { kind: 'askwatch' as const }, atMs: Date.now() };
    const from = command === undefined ? {} : { command, by };
    if (reply.kind === 'card') {
      const message: Message = { ...own, ...from, body: { kind: 'card', card: reply.card } };
      return reply.private ? showPrivate(message, gesture) : await showPublic(message, gesture);
    }

    if (reply.private) {
      const { channel, thread } = gesture;
      const frame = { ...own, ...from, private: true as const };
      const to = { kind: 'private' as const, person: by.id, channel, root: thread };
      await answers.show(reply, frame, to);
      return placeOf(frame, gesture);
    }
    try {
      return await showAnswer(reply, own, gesture);
    } catch (error) {
      reply.notShown?.();
      throw error;
    }
  }

  /** The question for everyone, and the answer in the thread. */
  async function showAnswer(reply: Answer, own: Frame, gesture: Taken): Promise<Said> {
    const question: Message = {
      id: `q${gesture.id}`,
      author: { kind: 'person', ...gesture.by },
      atMs: own.atMs,
      body: { kind: 'text', text: reply.question },
    };
    await showPublic(question, gesture);
    const root = gesture.thread ?? question.id;
    await answers.show(reply, own, { kind: 'thread', root });
    await markEarlier(reply, root, gesture);
    return { shown: 'thread', message: root };
  }

  /** Takes the buttons from the answer where this one was asked for. Never throws: those that stay are refused when pressed. */
  async function markEarlier({ earlier }: Answer, root: string, { pressed }: Taken) {
    const there = history.get(root)?.replies.find(({ id }) => id === pressed?.message);
    if (!earlier || !there) return;
    const shown = answers.latest(there);
    if (shown.body.kind !== 'answer') return;
    const { body } = shown;
    const note = body.note === undefined ? earlier.note : `${body.note} ${earlier.note}`;
    const reply = { ...shown, body: { ...body, note, actions: earlier.actions } };
    try {
      await history.putReply(root, reply);
      streams.send({ kind: 'reply', root, reply });
    } catch (error) {
      log.warn({ err: error }, 'an earlier answer keeps its buttons');
    }
  }

  /** Only whoever asked hears of it. */
  function showPrivate(message: Message, gesture: Taken): Said {
    const told = cappedMessage({ ...message, private: true });
    const { channel, thread, by } = gesture;
    privates.put({ person: by.id, channel, root: thread }, told);
    if (thread !== undefined) streams.send({ kind: 'reply', root: thread, reply: told }, by.id);
    else {
      const listed = listedOf({ channel, message: told, replies: [] });
      streams.send({ kind: 'message', listed }, by.id);
    }
    return placeOf(told, gesture);
  }

  /** Stored first, then told to everyone. */
  async function showPublic(message: Message, gesture: Taken): Promise<Said> {
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
    dismiss,
    async take(bot, said, by) {
      // Ids are the page's to make: nobody is told what came of somebody else's.
      const key = `${by.id} ${said.id}`;
      const known = remembered.get(key);
      if (known) return await known;
      if (underWay.size >= MAX_UNDER_WAY) {
        throw new HttpError(429, 'too_many_requests', 'Too much at once. Wait a moment.', {
          headers: { 'retry-after': '1' },
        });
      }
      const outcome = handle(bot, said, by).finally(() => underWay.delete(outcome));
      underWay.add(outcome);
      remembered.set(key, outcome);
      for (const id of remembered.keys()) {
        if (remembered.size <= MAX_REMEMBERED) break;
        remembered.delete(id);
      }
      try {
        return await outcome;
      } catch (error) {
        remembered.delete(key);
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

function placeOf(message: Pick<Message, 'id'>, { thread }: Taken): Said {
  return thread === undefined
    ? { shown: 'channel', message: message.id }
    : { shown: 'thread', message: thread };
}
