import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';
import { type Card, decodeAction } from '../../bot/shared/card.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { Answer, Invocation, Reply } from '../../bot/shared/invocation.ts';
import { WITHOUT_WORDS } from '../../bot/shared/shared-file.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import {
  type ButtonPress,
  type Interaction,
  Message,
  type Outcome,
  type Someone,
  type SubmittedForm,
  type TypedLine,
} from '../shared/api-types.ts';
import { type Answers, type MessageFrame, threadGone } from './answers.ts';
import { type ConsoleFiles, shownFile } from './files.ts';
import { formFor, formOfPress, problemsOf, refusalOf } from './forms.ts';
import { type History, INVOCATION, messageIds } from './history.ts';
import type { PrivateMessages } from './private-messages.ts';

/** Interactions whose outcome is remembered, so that a repeated request gets the same answer. */
const MAX_REMEMBERED = 1_000;

/** Interactions that may be under way at once. */
const MAX_UNDER_WAY = 32;

/** Whoever opens the console runs it: who knows its password, or is at this machine. */
const mayManage = async () => true;

/** What an interaction asks of the bot, and in which thread. */
interface AskedOfBot extends Pick<Invocation, 'request' | 'files'> {
  thread: string | undefined;
  /** The message whose button was pressed. */
  pressed?: string;
}

/** Where what comes of an invocation is shown, and beside what. */
interface ShownFor {
  /** The interaction that it comes from. */
  id: string;
  channel: string;
  /** The thread that shows it; the channel does without one. */
  thread: string | undefined;
  by: Someone;
  /** What stands over a card as what it came from. */
  command: string | undefined;
  /** The message whose button was pressed, what that carries, and whether one person alone has the message. */
  pressed?: { message: string; button: Invocation['request']; private: boolean };
}

export type MessageIntake = ReturnType<typeof createMessageIntake>;

/** Hands typed lines, button presses and forms to the bot, and shows what comes of them. */
export function createMessageIntake(options: {
  /** Whether there is such a channel. */
  hasChannel: (channel: string) => boolean;
  history: History;
  privates: PrivateMessages;
  answers: Answers;
  files: ConsoleFiles;
  log: Logger;
}) {
  const { hasChannel, history, privates, answers, files: sentFiles, log } = options;
  const remembered = new Map<string, Promise<Outcome>>();
  const underWay = new Set<Promise<Outcome>>();

  const channelOf = async (channel: string) =>
    hasChannel(channel) ? { channel, mayManage: true } : undefined;

  async function handle(bot: Bot, interaction: Interaction, by: Someone): Promise<Outcome> {
    const invocation = await invocationOf(interaction, by);
    const { place, person } = invocation;
    const form =
      'text' in interaction ? await formFor(bot, interaction.text, { place, person }) : undefined;
    if (form) return { shown: 'form', form };
    const problems = 'values' in interaction ? problemsOf(bot, interaction) : undefined;
    if (problems) return problems;

    // Asked for first: a press may change the message with the button.
    const shownFor = shownForOf(bot, interaction, invocation, by);
    // What there is to ask is known before the press changes that.
    const asked = 'action' in interaction ? await formOfPress(bot, invocation) : undefined;
    let isStored = false;
    const reply = await bot.dispatch(invocation, () => {
      isStored = true;
    });
    if (!isStored) throw notDone();
    const refusal = 'values' in interaction ? refusalOf(reply) : undefined;
    if (refusal) return refusal;
    const outcome = await show(reply, shownFor);
    return asked ? { shown: 'form', form: asked } : outcome;
  }

  /** Throws `HttpError` when the message or the thread is gone, or the button is none. */
  async function invocationOf(interaction: Interaction, by: Someone): Promise<Invocation> {
    const { id, channel } = interaction;
    const isPress = 'action' in interaction;
    const asked = await (isPress ? askedByPress(interaction) : askedByWords(interaction, by));
    const { request, thread, pressed, files = [] } = asked;
    const name = pressed === undefined ? by.name : presserName(by.name);
    return {
      id: `${INVOCATION}${id}`,
      request,
      place: { platform: 'console', channel },
      person: { ...by, name, mayManage, channelOf },
      ...(thread === undefined ? {} : { thread }),
      ...(pressed === undefined ? {} : { pressed }),
      ...(files.length > 0 && { files }),
    };
  }

  async function askedByWords(
    interaction: TypedLine | SubmittedForm,
    by: Someone,
  ): Promise<AskedOfBot> {
    requireThread(interaction);
    const { thread } = interaction;
    if ('values' in interaction) {
      const { command, values } = interaction;
      return { request: { command, values }, thread };
    }
    const { id, text, channel, files: ids = [] } = interaction;
    const message = thread ?? messageIds(id).question;
    const files = await sentFiles.send(ids, { channel, person: by.id, message });
    // A line without a slash is a question.
    const request = text.startsWith('/')
      ? { line: text }
      : { command: 'ask', values: { question: text || WITHOUT_WORDS } };
    return { request, thread, files };
  }

  /**
   * The message may have changed since the page showed the button, so what it carries is not looked up in it: the bot
   * checks what can still be done. What comes of it is shown in the thread of the message, or where a private one stands.
   */
  function askedByPress(press: ButtonPress): AskedOfBot {
    const request = decodeAction(press.action);
    if (!request) throw new HttpError(400, 'invalid_value', 'There is no such button.');
    const { channel, message: pressed, thread = pressed } = press;
    if (press.private) {
      requireThread(press);
      return { request, thread: press.thread, pressed };
    }
    if (!isThere(channel, thread, pressed))
      throw notFound('This message was deleted to make room for newer ones.');
    return { request, thread, pressed };
  }

  /** Throws for a thread that is gone, or that stands in another channel. */
  function requireThread({ channel, thread }: Interaction) {
    if (thread !== undefined && !isThere(channel, thread, thread)) throw threadGone();
  }

  const isThere = (channel: string, thread: string, message: string) =>
    history.get(thread)?.channel === channel && history.find(thread, message) !== undefined;

  function shownForOf(
    bot: Bot,
    interaction: Interaction,
    { request, thread }: Invocation,
    by: Someone,
  ): ShownFor {
    const { id, channel } = interaction;
    return {
      ...{ id, channel, thread, by },
      command: commandOf(bot, interaction, request, thread),
      ...('action' in interaction && {
        pressed: {
          message: interaction.message,
          button: request,
          private: interaction.private ?? false,
        },
      }),
    };
  }

  function commandOf(
    bot: Bot,
    interaction: Interaction,
    request: Invocation['request'],
    thread = '',
  ) {
    if ('text' in interaction) return interaction.text || WITHOUT_WORDS;
    if ('values' in interaction) {
      const { command } = interaction;
      // A command that nobody can type says nothing to anybody.
      return bot.commands.some(({ name }) => name === command) ? `/${command}` : undefined;
    }
    const message = interaction.private ? undefined : history.find(thread, interaction.message);
    // What people see: an answer that has just ended is ahead of what is stored.
    return message && labelOf(answers.latest(message), request);
  }

  async function show(reply: Reply, shownFor: ShownFor): Promise<Outcome> {
    if (reply.kind === 'nothing') return shownAlready(shownFor);
    const isInPlace =
      reply.kind === 'card' && reply.inPlace && (await showInPlace(reply.card, shownFor));
    if (isInPlace) return { shown: 'nothing' };
    const outcome = await showReply(reply, shownFor);
    const { by, pressed } = shownFor;
    // Its buttons have done what they were for: its reader now sees what everybody sees.
    if (!reply.private && pressed?.private) privates.remove(by.id, pressed.message);
    return outcome;
  }

  /** Shows a card in the message whose button was pressed; false where there is no such button any more. */
  async function showInPlace(card: Card, { channel, thread, by, pressed }: ShownFor) {
    if (!pressed) return false;
    const { message: id, button } = pressed;
    const root = thread ?? id;
    const there = pressed.private ? privates.of(by.id, id) : history.find(root, id);
    // Which message it was, the page says: one without the button is another one, and stays as it is.
    if (!there || labelOf(there, button) === undefined) return false;
    const changed: Message = { ...there, changedAtMs: Date.now(), body: { kind: 'card', card } };
    if (pressed.private) {
      privates.put({ person: by.id, channel, root: thread }, Message.parse(changed));
      return true;
    }
    const stored =
      id === root ? await history.change(id, () => changed) : await history.putReply(root, changed);
    return stored !== undefined;
  }

  /** The place of a repeated interaction's reply. */
  function shownAlready({ id, thread, by }: ShownFor): Outcome {
    const { question, reply } = messageIds(id);
    if (history.get(question)) return { shown: 'thread', message: question };
    const there = history.find(thread ?? reply, reply) ?? privates.of(by.id, reply);
    return there ? placeOf(reply, thread) : { shown: 'nothing' };
  }

  async function showReply(
    reply: Exclude<Reply, { kind: 'nothing' }>,
    shownFor: ShownFor,
  ): Promise<Outcome> {
    const { command, by, channel, thread } = shownFor;
    const to = { person: by.id, channel, root: thread };
    const own = {
      id: messageIds(shownFor.id).reply,
      author: { kind: 'askwatch' as const },
      atMs: Date.now(),
    };
    const from = command === undefined ? {} : { command, by };
    if (reply.kind === 'card') {
      const message: Message = { ...own, ...from, body: { kind: 'card', card: reply.card } };
      if (reply.private) privates.put(to, Message.parse({ ...message, private: true }));
      else await showPublic(message, shownFor);
      return placeOf(own.id, thread);
    }
    if (reply.private) {
      const frame = { ...own, ...from, private: true as const };
      await answers.show(reply, frame, { kind: 'private', ...to });
      return placeOf(own.id, thread);
    }
    try {
      return await showAnswer(reply, own, shownFor);
    } catch (error) {
      // A thread that is gone is so for good.
      if (!(error instanceof HttpError)) await reply.putOff();
      reply.notShown?.();
      throw error;
    }
  }

  /** The question for everyone, and the answer in the thread. */
  async function showAnswer(
    reply: Answer,
    own: MessageFrame,
    shownFor: ShownFor,
  ): Promise<Outcome> {
    const { question } = messageIds(shownFor.id);
    const root = shownFor.thread ?? question;
    const author = { kind: 'person' as const, ...shownFor.by };
    const files = (reply.files ?? []).map(({ name, mediaType = '', ref: { id = '' } }) =>
      shownFile({ id, name, mediaType }),
    );
    const body = {
      ...{ kind: 'text' as const, text: reply.question },
      ...(files.length > 0 && { files }),
    };
    await showPublic({ id: question, author, atMs: own.atMs, body }, shownFor);
    await answers.show(reply, own, { kind: 'thread', root });
    await markEarlier(reply, root, shownFor);
    return { shown: 'thread', message: root };
  }

  /** Takes the buttons from the answer where this one was asked for. Never throws: those that stay are refused when pressed. */
  async function markEarlier({ earlier }: Answer, root: string, { pressed }: ShownFor) {
    const there = pressed && history.find(root, pressed.message);
    if (!earlier || !there) return;
    const shown = answers.latest(there);
    if (shown.body.kind !== 'answer') return;
    const { body } = shown;
    const note = body.note === undefined ? earlier.note : `${body.note} ${earlier.note}`;
    const reply = { ...shown, body: { ...body, note, actions: earlier.actions } };
    try {
      await history.putReply(root, reply);
    } catch (error) {
      log.warn({ err: error }, 'could not remove the buttons of an earlier answer');
    }
  }

  /** Shows a message to everyone. */
  async function showPublic(message: Message, { channel, thread }: ShownFor) {
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
        throw new HttpError(
          429,
          'too_many_requests',
          'Too many requests at once. Wait a moment and try again.',
          {
            headers: { 'retry-after': '1' },
          },
        );
      }
      const outcome = handle(bot, interaction, by).finally(() => underWay.delete(outcome));
      underWay.add(outcome);
      remembered.set(key, outcome);
      forgetOldest(remembered, MAX_REMEMBERED);
      try {
        const found = await outcome;
        // The note of an interrupted reply is posted a moment later; the page asks again.
        if (found.shown === 'nothing') remembered.delete(key);
        return found;
      } catch (error) {
        remembered.delete(key);
        if (error instanceof HttpError) throw error;
        log.error({ err: error }, 'could not show the result of an interaction');
        throw new HttpError(503, 'not_stored', "The message couldn't be stored. Try again.");
      }
    },
    /** Waits for the interactions under way. */
    async settle() {
      await Promise.allSettled(underWay);
    },
  };
}

const placeOf = (message: string, thread: string | undefined): Outcome =>
  thread === undefined ? { shown: 'channel', message } : { shown: 'thread', message: thread };

/** Sent again as it is, it is done: the page does so by itself. */
const notDone = () =>
  new HttpError(503, 'not_stored', "This couldn't be stored, so nothing was done. Try again.", {
    headers: { 'retry-after': '1' },
  });

/** Whoever presses is named in every channel that got the alert, and the others know nobody of the console. */
const presserName = (name: string) => `${name} at the web console`;

/** What stands on the button; `undefined` when the message no longer has it. */
function labelOf({ body }: Message, pressed: Invocation['request']): string | undefined {
  if (body.kind === 'text') return undefined;
  const { actions } = body.kind === 'card' ? body.card : body;
  return actions?.find(({ command, values }) => isDeepStrictEqual({ command, values }, pressed))
    ?.label;
}
