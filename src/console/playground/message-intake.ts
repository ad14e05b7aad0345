import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';
import { decodeAction } from '../../bot/shared/card.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { Answer, Invocation, Reply } from '../../bot/shared/invocation.ts';
import type { Person } from '../../bot/shared/place.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import {
  type ButtonPress,
  type Interaction,
  Message,
  type Outcome,
  type RootMessage,
  type Someone,
} from '../shared/api-types.ts';
import { type Answers, type MessageFrame, threadGone } from './answers.ts';
import { formFor, problemsOf, refusalOf } from './forms.ts';
import type { History } from './history.ts';
import type { PrivateMessages } from './private-messages.ts';

/** Interactions whose outcome is remembered, so that a repeated request gets the same answer. */
const MAX_REMEMBERED = 1_000;

/** Interactions that may be under way at once. */
const MAX_UNDER_WAY = 32;

/** What an interaction asks of the bot, and where the reply is shown. */
interface AskedOfBot {
  request: Invocation['request'];
  person: Person;
  /** The thread that shows it; the channel does without one. */
  thread: string | undefined;
  /** What stands over a card as what it came from. */
  command: string | undefined;
  /** The message whose button was pressed, and whether one person alone has it. */
  pressed?: { message: string; private: boolean };
}

/** An interaction on its way, with what the bot is asked. */
interface AcceptedInteraction extends AskedOfBot, Pick<Interaction, 'id' | 'channel'> {
  by: Someone;
}

export type MessageIntake = ReturnType<typeof createMessageIntake>;

/** Hands typed lines, button presses and forms to the bot, and shows what comes of them. */
export function createMessageIntake(options: {
  history: History;
  privates: PrivateMessages;
  answers: Answers;
  log: Logger;
}) {
  const { history, privates, answers, log } = options;
  const remembered = new Map<string, Promise<Outcome>>();
  const underWay = new Set<Promise<Outcome>>();

  async function handle(bot: Bot, interaction: Interaction, by: Someone): Promise<Outcome> {
    const { id, channel } = interaction;
    const place = { platform: 'console' as const, channel };
    // Whoever opens the console runs it: who knows its password, or is at this machine.
    const person: Person = { ...by, mayManage: async () => true };
    const resolved = askedBy(interaction, person);
    const form =
      'text' in interaction ? await formFor(bot, interaction.text, { place, person }) : undefined;
    if (form) return { shown: 'form', form };
    const problems = 'values' in interaction ? problemsOf(bot, interaction) : undefined;
    if (problems) return problems;

    const { request, thread } = resolved;
    const reply = await bot.dispatch({
      id: `console:${id}`,
      request,
      place,
      person: resolved.person,
      ...(thread === undefined ? {} : { thread }),
      ...(resolved.pressed && { pressed: resolved.pressed.message }),
    });
    const refusal = 'values' in interaction ? refusalOf(reply) : undefined;
    if (refusal) return refusal;
    const shown = await show(reply, { ...resolved, id, channel, by });
    const isPublic = reply.kind !== 'nothing' && !reply.private;
    // Its buttons have done what they were for: its reader now sees what everybody sees.
    if (isPublic && resolved.pressed?.private) privates.remove(by.id, resolved.pressed.message);
    return shown;
  }

  /** Throws `HttpError` when the message or the thread is gone, or the button is none. */
  function askedBy(interaction: Interaction, person: Person): AskedOfBot {
    if ('action' in interaction) return askedByPress(interaction, person);
    requireThread(interaction);
    const { thread } = interaction;
    if ('values' in interaction) {
      const { command, values } = interaction;
      return { request: { command, values }, person, thread, command: `/${command}` };
    }
    const { text } = interaction;
    // A line without a slash is a question.
    const request = text.startsWith('/')
      ? { line: text }
      : { command: 'ask', values: { question: text } };
    return { request, person, thread, command: text };
  }

  /**
   * The message may have changed since the page showed the button, so what it carries is not looked up in it: the bot
   * checks what can still be done. What comes of it is shown in the thread of the message, or where a private one stands.
   */
  function askedByPress(press: ButtonPress, person: Person): AskedOfBot {
    const request = decodeAction(press.action);
    if (!request) throw new HttpError(400, 'invalid_value', 'There is no such button.');
    const asked = { request, person: { ...person, name: presserName(person.name) } };
    const { channel, message: id } = press;
    if (press.private) {
      requireThread(press);
      const { thread } = press;
      return { ...asked, thread, command: undefined, pressed: { message: id, private: true } };
    }
    const { thread = id } = press;
    const root = history.get(thread);
    const message = root?.channel === channel ? messageOf(root, id) : undefined;
    if (!message) throw notFound('This message is gone: it made room for newer ones.');
    const pressed = { message: id, private: false };
    // What people see: an answer that has just ended is ahead of what is stored.
    return { ...asked, thread, command: labelOf(answers.latest(message), request), pressed };
  }

  /** Throws for a thread that is gone, or that stands in another channel. */
  function requireThread({ channel, thread }: Interaction) {
    if (thread !== undefined && history.get(thread)?.channel !== channel) throw threadGone();
  }

  async function show(reply: Reply, interaction: AcceptedInteraction): Promise<Outcome> {
    if (reply.kind === 'nothing') return { shown: 'nothing' };
    const { command, by, channel, thread } = interaction;
    const to = { person: by.id, channel, root: thread };
    const own = {
      id: `a${interaction.id}`,
      author: { kind: 'askwatch' as const },
      atMs: Date.now(),
    };
    const from = command === undefined ? {} : { command, by };
    if (reply.kind === 'card') {
      const message: Message = { ...own, ...from, body: { kind: 'card', card: reply.card } };
      if (reply.private) privates.put(to, Message.parse({ ...message, private: true }));
      else await showPublic(message, interaction);
      return placeOf(own, interaction);
    }
    if (reply.private) {
      const frame = { ...own, ...from, private: true as const };
      await answers.show(reply, frame, { kind: 'private', ...to });
      return placeOf(frame, interaction);
    }
    try {
      return await showAnswer(reply, own, interaction);
    } catch (error) {
      reply.notShown?.();
      throw error;
    }
  }

  /** The question for everyone, and the answer in the thread. */
  async function showAnswer(
    reply: Answer,
    own: MessageFrame,
    interaction: AcceptedInteraction,
  ): Promise<Outcome> {
    const question: Message = {
      id: `q${interaction.id}`,
      author: { kind: 'person', ...interaction.by },
      atMs: own.atMs,
      body: { kind: 'text', text: reply.question },
    };
    await showPublic(question, interaction);
    const root = interaction.thread ?? question.id;
    await answers.show(reply, own, { kind: 'thread', root });
    await markEarlier(reply, root, interaction);
    return { shown: 'thread', message: root };
  }

  /** Takes the buttons from the answer where this one was asked for. Never throws: those that stay are refused when pressed. */
  async function markEarlier({ earlier }: Answer, root: string, { pressed }: AcceptedInteraction) {
    const there = history.get(root)?.replies.find(({ id }) => id === pressed?.message);
    if (!earlier || !there) return;
    const shown = answers.latest(there);
    if (shown.body.kind !== 'answer') return;
    const { body } = shown;
    const note = body.note === undefined ? earlier.note : `${body.note} ${earlier.note}`;
    const reply = { ...shown, body: { ...body, note, actions: earlier.actions } };
    try {
      await history.putReply(root, reply);
    } catch (error) {
      log.warn({ err: error }, 'an earlier answer keeps its buttons');
    }
  }

  /** Shows a message to everyone. */
  async function showPublic(message: Message, { channel, thread }: AcceptedInteraction) {
    if (thread === undefined) await history.add({ channel, message, replies: [] });
    else if (!(await history.putReply(thread, message))) throw threadGone();
  }

  return {
    /** Resolves once it is shown where it will be shown; an answer then goes on growing by itself. Throws `HttpError`. */
    async accept(bot: Bot, interaction: Interaction, by: Someone) {
      // Ids are the page's to make: nobody gets the outcome of somebody else's.
      const key = `${by.id} ${interaction.id}`;
      const known = remembered.get(key);
      if (known) return await known;
      if (underWay.size >= MAX_UNDER_WAY) {
        throw new HttpError(429, 'too_many_requests', 'Too much at once. Wait a moment.', {
          headers: { 'retry-after': '1' },
        });
      }
      const outcome = handle(bot, interaction, by).finally(() => underWay.delete(outcome));
      underWay.add(outcome);
      remembered.set(key, outcome);
      forgetOldest(remembered, MAX_REMEMBERED);
      try {
        return await outcome;
      } catch (error) {
        remembered.delete(key);
        if (error instanceof HttpError) throw error;
        log.error({ err: error }, 'what came of an interaction could not be shown');
        throw new HttpError(503, 'not_stored', 'The message could not be stored. Try again.');
      }
    },
    /** Waits for the interactions under way. */
    async settle() {
      await Promise.allSettled(underWay);
    },
  };
}

function placeOf(message: Pick<Message, 'id'>, { thread }: AcceptedInteraction): Outcome {
  return thread === undefined
    ? { shown: 'channel', message: message.id }
    : { shown: 'thread', message: thread };
}

/** Whoever presses is named in every channel that got the alert, and the others know nobody of the console. */
const presserName = (name: string) => `${name} at the web console`;

function messageOf({ message, replies }: RootMessage, id: string): Message | undefined {
  return [message, ...replies].find((one) => one.id === id);
}

type Pressed = Exclude<ReturnType<typeof decodeAction>, undefined>;

/** What stands on the button; `undefined` when the message no longer has it. */
function labelOf({ body }: Message, pressed: Pressed): string | undefined {
  if (body.kind === 'text') return undefined;
  const { actions } = body.kind === 'card' ? body.card : body;
  return actions?.find(({ command, values }) => isDeepStrictEqual({ command, values }, pressed))
    ?.label;
}
