import type { Bot } from '../../bot/platform.ts';
import { decodeAction } from '../../bot/shared/card.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { Invocation } from '../../bot/shared/invocation.ts';
import { WITHOUT_WORDS } from '../../bot/shared/shared-file.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type {
  ButtonPress,
  ConsoleInteraction,
  ConsolePerson,
  FormSubmission,
  InteractionOutcome,
  TypedLine,
} from '../shared/api-types.ts';
import { threadGone } from './answers.ts';
import type { ConsoleFiles } from './files.ts';
import { formFor, formOfPress, problemsOf, refusalOf } from './forms.ts';
import { type ChatHistory, INVOCATION, messageIds } from './history.ts';
import { labelOf, type ReplyParts, type ReplyTarget, showReply } from './show-reply.ts';

/** Outcomes kept in memory, oldest evicted first. */
const MAX_OUTCOMES = 1_000;

const MAX_RUNNING = 32;

/** Anyone who can open the console may manage it: they know its password, or use this machine. */
const mayManage = async () => true;

export interface InteractionParts extends ReplyParts {
  hasChannel: (channel: string) => boolean;
  files: ConsoleFiles;
}

/**
 * Passes typed lines, button presses and forms to the bot, and shows its replies. The page repeats a request until it gets a
 * response, so an interaction runs once, however often it arrives.
 */
export class Interactions {
  private readonly parts: InteractionParts;
  private readonly outcomes = new Map<string, Promise<InteractionOutcome>>();
  private readonly running = new Set<Promise<InteractionOutcome>>();

  constructor(parts: InteractionParts) {
    this.parts = parts;
  }

  /** Resolves once the reply is shown; an answer continues to grow after that. Throws `HttpError`. */
  async accept(
    bot: Bot,
    interaction: ConsoleInteraction,
    by: ConsolePerson,
  ): Promise<InteractionOutcome> {
    // The page chooses the ids, so the person is part of the key: nobody gets another person's outcome.
    const key = `${by.id} ${interaction.id}`;
    const earlier = this.outcomes.get(key);
    if (earlier) return await earlier;
    if (this.running.size >= MAX_RUNNING) throw tooManyRequests();
    const outcome = run(this.parts, bot, interaction, by).finally(() =>
      this.running.delete(outcome),
    );
    this.running.add(outcome);
    this.outcomes.set(key, outcome);
    forgetOldest(this.outcomes, MAX_OUTCOMES);
    try {
      const result = await outcome;
      // The bot posts the note of an interrupted reply a moment later, so the page has to ask again.
      if (result.shown === 'nothing') this.outcomes.delete(key);
      return result;
    } catch (error) {
      this.outcomes.delete(key);
      if (error instanceof HttpError) throw error;
      this.parts.log.error({ err: error }, 'could not show the result of an interaction');
      throw new HttpError(503, 'not_stored', "The message couldn't be stored. Try again.");
    }
  }

  async settle(): Promise<void> {
    await Promise.allSettled(this.running);
  }
}

async function run(
  parts: InteractionParts,
  bot: Bot,
  interaction: ConsoleInteraction,
  by: ConsolePerson,
): Promise<InteractionOutcome> {
  const invocation = await createInvocation(parts, interaction, by);
  const form = 'text' in interaction && (await formFor(bot, interaction.text, invocation));
  if (form) return { shown: 'form', form };
  const problems = 'values' in interaction && problemsOf(bot, interaction);
  if (problems) return problems;

  // Both are read before the dispatch, because a press may change the message and what its button does.
  const target = createTarget(parts, bot, interaction, invocation, by);
  const pressed = 'action' in interaction ? await formOfPress(bot, invocation) : undefined;
  if (pressed?.isAll) return { shown: 'form', form: pressed.form };
  let isStored = false;
  const reply = await bot.dispatch(invocation, () => {
    isStored = true;
  });
  if (!isStored) throw notStored();
  const refusal = 'values' in interaction && refusalOf(reply);
  if (refusal) return refusal;
  const outcome = await showReply(parts, reply, target);
  return pressed ? { shown: 'form', form: pressed.form } : outcome;
}

/** Throws `HttpError` if the message or the thread is gone, or the button doesn't exist. */
async function createInvocation(
  parts: InteractionParts,
  interaction: ConsoleInteraction,
  by: ConsolePerson,
): Promise<Invocation> {
  const { id, channel } = interaction;
  const isPress = 'action' in interaction;
  const fromPage = isPress
    ? readPress(parts, interaction)
    : await readWords(parts, interaction, by);
  return {
    id: `${INVOCATION}${id}`,
    place: { platform: 'console', channel },
    person: {
      id: by.id,
      // Alerts name the person who pressed in every channel they went to, where nobody knows the console's people.
      name: isPress ? `${by.name} at the web console` : by.name,
      mayManage,
      channelOf: async (name) =>
        parts.hasChannel(name) ? { channel: name, mayManage: true } : undefined,
    },
    ...fromPage,
  };
}

type FromPage = Pick<Invocation, 'request' | 'thread' | 'files' | 'pressed'>;

async function readWords(
  { history, files: storedFiles }: InteractionParts,
  interaction: TypedLine | FormSubmission,
  by: ConsolePerson,
): Promise<FromPage> {
  requireThread(history, interaction);
  const { thread } = interaction;
  if ('values' in interaction) {
    const { command, values } = interaction;
    return { request: { command, values }, thread };
  }
  const { id, text, channel, files: ids = [] } = interaction;
  const message = thread ?? messageIds(id).question;
  const files = await storedFiles.send(ids, { channel, person: by.id, message });
  const isCommand = text.startsWith('/');
  return {
    request: isCommand
      ? { line: text }
      : { command: 'ask', values: { question: text || WITHOUT_WORDS } },
    thread,
    files: files.length > 0 ? files : undefined,
  };
}

/**
 * The message may have changed since the page drew the button, so the button isn't looked up in it: the bot checks what can
 * still be done. The reply goes to the message's thread, or next to a private message.
 */
function readPress({ history }: InteractionParts, press: ButtonPress): FromPage {
  const request = decodeAction(press.action);
  if (!request) throw new HttpError(400, 'invalid_value', 'There is no such button.');
  const { channel, message: pressed, thread = pressed } = press;
  if (press.private) {
    requireThread(history, press);
    return { request, thread: press.thread, pressed };
  }
  if (!hasMessage(history, { channel, thread, message: pressed }))
    throw notFound('This message was deleted to make room for newer ones.');
  return { request, thread, pressed };
}

/** Throws if the thread is gone, or belongs to another channel. */
function requireThread(history: ChatHistory, { channel, thread }: ConsoleInteraction) {
  if (thread !== undefined && !hasMessage(history, { channel, thread, message: thread }))
    throw threadGone();
}

const hasMessage = (
  history: ChatHistory,
  { channel, thread, message }: { channel: string; thread: string; message: string },
) => history.get(thread)?.channel === channel && history.find(thread, message) !== undefined;

function createTarget(
  parts: InteractionParts,
  bot: Bot,
  interaction: ConsoleInteraction,
  { request, thread }: Invocation,
  by: ConsolePerson,
): ReplyTarget {
  const { id, channel } = interaction;
  const press = 'action' in interaction ? interaction : undefined;
  return {
    id,
    channel,
    thread,
    by,
    command: commandOf(parts, bot, interaction, { request, thread }),
    pressed: press && {
      message: press.message,
      button: request,
      private: press.private ?? false,
    },
  };
}

/** The words that the reply's card names as its origin. */
function commandOf(
  { history, answers }: InteractionParts,
  bot: Bot,
  interaction: ConsoleInteraction,
  { request, thread = '' }: Pick<Invocation, 'request' | 'thread'>,
): string | undefined {
  if ('text' in interaction) return interaction.text || WITHOUT_WORDS;
  if ('values' in interaction) {
    const { command } = interaction;
    // A name such as `answer explain`, which nobody can type, would only confuse.
    return bot.commands.some(({ name }) => name === command) ? `/${command}` : undefined;
  }
  const message = interaction.private ? undefined : history.find(thread, interaction.message);
  // The page may show an answer's end before it is stored.
  return message && labelOf(answers.latest(message), request);
}

const RETRY_SOON = { headers: { 'retry-after': '1' } };

const tooManyRequests = () =>
  new HttpError(
    429,
    'too_many_requests',
    'Too many requests at once. Wait a moment and try again.',
    RETRY_SOON,
  );

/** The page repeats the request by itself. */
const notStored = () =>
  new HttpError(
    503,
    'not_stored',
    "This couldn't be stored, so nothing was done. Try again.",
    RETRY_SOON,
  );
