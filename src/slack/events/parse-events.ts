import type { SlashCommand as BoltCommand, types } from '@slack/bolt';
import { ASK_ABOUT } from '../../bot/commands/ask-about.ts';
import type { Command } from '../../bot/commands/command.ts';
import { namesPeople } from '../../bot/commands/monitor/escalate.ts';
import { decodeAction } from '../../bot/shared/card.ts';
import type { Invocation } from '../../bot/shared/invocation.ts';
import type { Person } from '../../bot/shared/place.ts';
import { WITHOUT_WORDS } from '../../bot/shared/shared-file.ts';
import { parseUntrustedJson } from '../../contracts/parse-json.ts';
import type { SlackMessage } from '../answers/people-messages.ts';
import type { UserInput } from '../answers/user-input.ts';
import type { BotIdentity } from '../api/bot-identity.ts';
import { filesIn } from '../api/files.ts';
import type { ShownMessage } from '../render/blocks.ts';
import { ABOUT_BLOCK, type AboutOrigin, FORM, type FormOrigin } from '../render/render-form.ts';
import { decodeText } from '../render/text.ts';

/** The fields of `message` and `app_mention` events that are read here. Source: Slack docs, "message event". */
export interface MessageEvent {
  type: string;
  channel: string;
  ts: string;
  subtype?: string;
  channel_type?: string;
  user?: string;
  text?: string;
  thread_ts?: string;
  bot_id?: string;
  edited?: unknown;
  files?: unknown;
}

export type SlashCommand = Pick<
  BoltCommand,
  'command' | 'text' | 'trigger_id' | 'channel_id' | 'user_id' | 'user_name' | 'response_url'
>;

/** Messages of people, also with files, and replies that are also sent to the channel. */
const WRITTEN_BY_PEOPLE = new Set<string | undefined>([
  undefined,
  'file_share',
  'thread_broadcast',
]);

export function inputIn(channel: string, invocation: Omit<Invocation, 'place'>): UserInput {
  const place = { platform: 'slack', channel };
  return { invocation: { ...invocation, place }, channel, addressed: true, inThread: false };
}

export function parseCommand(command: SlashCommand): UserInput {
  const keepsChosen = namesPeople(`${command.command} ${command.text}`);
  const text = decodeText(command.text ?? '', () => undefined, { keepsChosen });
  const input = inputIn(command.channel_id, {
    id: `slack:${command.trigger_id}`,
    request: { line: `${command.command} ${text}`.trim() },
    person: { id: command.user_id, name: command.user_name || command.user_id },
  });
  return { ...input, responseUrl: command.response_url };
}

/**
 * A message as an input; `undefined` for bots, edits and joins. A mention arrives twice, as `app_mention` and as `message`, in
 * any order and with one id. A line that starts with one of `commands`, such as `monitor`, is that command.
 */
export function parseMessage(
  event: MessageEvent,
  self: BotIdentity,
  commands: ReadonlySet<string>,
): UserInput | undefined {
  const { user } = event;
  if (!WRITTEN_BY_PEOPLE.has(event.subtype) || event.bot_id || event.edited || !user)
    return undefined;
  if (user === self.userId || user === 'USLACKBOT') return undefined;
  const text = event.text ?? '';
  const direct = event.channel_type === 'im' || event.channel.startsWith('D');
  const addressed = direct || event.type === 'app_mention' || mentions(text, self);
  const typed = withoutMention(text, self);
  const nameOf = (id: string) => (id === self.userId ? self.name : undefined);
  const said = decodeText(typed, nameOf, { keepsChosen: namesPeople(typed) }).trim();
  // A picture without text in a thread is not a question, because people may mean one another.
  if (said === '' && !addressed) return undefined;
  const files = filesIn(event.files);
  const question = said === '' && files.length > 0 ? WITHOUT_WORDS : said;
  const { thread_ts: thread } = event;
  // Everything in a direct conversation is for the bot.
  const among = !direct && thread !== undefined && thread !== event.ts;
  const input = inputIn(event.channel, {
    id: `slack:${event.channel}:${event.ts}`,
    request: requestOf(question, commands),
    thread: thread ?? event.ts,
    person: { id: user, name: user },
    ...(among && { around: { thread, question: event.ts } }),
    ...(files.length > 0 && { files }),
  });
  return { ...input, ts: event.ts, addressed, inThread: event.thread_ts !== undefined };
}

const mentions = (text: string, self: BotIdentity) =>
  text.includes(`<@${self.userId}>`) || text.includes(`<@${self.userId}|`);

function withoutMention(text: string, { userId }: BotIdentity): string {
  const mention = `<@${userId}(?:\\|[^<>]*)?>`;
  return text
    .replace(new RegExp(`^(?:\\s*${mention}[\\s,:]*)+`), '')
    .replace(new RegExp(`(?:\\s*${mention})+\\s*$`), '');
}

function requestOf(question: string, commands: ReadonlySet<string>): Invocation['request'] {
  if (question === '') return { line: '/askwatch help' };
  const name = /^\/([a-z]+)(?=\s|$)/i.exec(question)?.[1]?.toLowerCase();
  if (name !== undefined && commands.has(name)) return { line: question };
  // Not as a line, since words such as `model=x` in a sentence belong to the question.
  return { command: 'ask', values: { question } };
}

/**
 * A press of one of our buttons; `undefined` for anything else. The payload isn't trusted. A repeated delivery has the same
 * time and person, two presses never do.
 *
 * Sources: Slack docs, "block_actions payload"; `container.thread_ts`: slack-go/slack pull request 888.
 */
export function parseButtonPress(payload: unknown): UserInput | undefined {
  const { user, channel, container, message, response_url } = fieldsOf(payload);
  const press = pressIn(payload);
  const person = personOf(user);
  const shown = { ...fieldsOf(container), ...fieldsOf(message) };
  const place = textOf(fieldsOf(channel).id) ?? textOf(shown.channel_id);
  const atTs = tsOf(press?.action.action_ts);
  if (!press || !person || place === undefined || atTs === undefined) return undefined;

  const ts = tsOf(shown.ts) ?? tsOf(shown.message_ts);
  // An ephemeral message can't have a thread.
  const thread = tsOf(shown.thread_ts) ?? (shown.is_ephemeral === true ? undefined : ts);
  // A message with replies has its own ts as the thread, and is still in the channel.
  const inThread = thread !== undefined && thread !== ts;
  const responseUrl = textOf(response_url);
  const input = inputIn(place, {
    id: `slack:${place}:${person.id}:${atTs}`,
    request: press.request,
    thread,
    person,
    pressed: ts ?? '',
    ...(inThread && !place.startsWith('D') && { around: { thread } }),
  });
  return {
    ...input,
    inThread,
    ...(message !== undefined && ts !== undefined && { pressed: shownOf(ts, shown) }),
    ...(responseUrl !== undefined && { responseUrl }),
  };
}

const BUTTONS = new Set<unknown>(['button', 'feedback_buttons']);

function pressIn(payload: unknown) {
  const { type, actions } = fieldsOf(payload);
  const action = fieldsOf(Array.isArray(actions) ? actions[0] : undefined);
  const request = decodeAction(textOf(action.value) ?? '');
  if (type !== 'block_actions' || !BUTTONS.has(action.type) || !request) return undefined;
  return { action, request };
}

function personOf(user: unknown): Person | undefined {
  const { id, name, username } = fieldsOf(user);
  const known = textOf(id);
  if (known === undefined) return undefined;
  return { id: known, name: textOf(name) ?? textOf(username) ?? known };
}

/** Slack checks the blocks when they are sent back. */
function shownOf(ts: string, { text, blocks }: Record<string, unknown>): ShownMessage {
  return {
    ts,
    ...(typeof text === 'string' && { text }),
    ...(Array.isArray(blocks) && { blocks: blocks.filter(isBlock) }),
  };
}

const isBlock = (block: unknown): block is types.KnownBlock =>
  textOf(fieldsOf(block).type) !== undefined;

/** A time as Slack writes it, which identifies a message. */
const tsOf = (value: unknown) =>
  typeof value === 'string' && /^\d{1,12}\.\d{1,9}$/.test(value) ? value : undefined;

export interface ChosenMessage {
  trigger: string;
  channel: string;
  person: Person;
  ts: string;
  thread?: string;
  message: SlackMessage;
  responseUrl?: string;
}

/**
 * A message that someone chose to ask about; `undefined` for anything else. The payload isn't trusted. Source: Slack docs,
 * "Shortcuts payload", "message_action".
 */
export function parseChosenMessage(payload: unknown): ChosenMessage | undefined {
  const { type, callback_id, trigger_id, channel, user, message, response_url } = fieldsOf(payload);
  const chosen = fieldsOf(message);
  const place = textOf(fieldsOf(channel).id);
  const person = personOf(user);
  const trigger = textOf(trigger_id);
  const ts = tsOf(chosen.ts);
  if (type !== 'message_action' || callback_id !== ASK_ABOUT.id) return undefined;
  if (!place || !person || !trigger || ts === undefined) return undefined;
  const thread = tsOf(chosen.thread_ts);
  const responseUrl = textOf(response_url);
  return {
    ...{ trigger, channel: place, person, ts, message: chosen },
    thread,
    responseUrl,
  };
}

/** One of our forms, filled in or being filled in. */
export interface FilledForm {
  viewId: string;
  /** Slack refuses to change a newer view with an older hash. */
  hash: string;
  command: Command;
  origin: FormOrigin;
  values: Record<string, string>;
  aboutText: string;
  person: Person;
}

/**
 * One of our forms; `undefined` for anything else. The payload isn't trusted. Sources: Slack docs, "view_submission payload",
 * "block_actions payload", "View state".
 */
export function parseForm(payload: unknown, commands: readonly Command[]): FilledForm | undefined {
  const { view, user } = fieldsOf(payload);
  const { id, hash, callback_id, private_metadata, state, blocks } = fieldsOf(view);
  const person = personOf(user);
  const origin = originOf(private_metadata);
  const command = commands.find(({ name, form }) => form && name === origin?.command);
  if (callback_id !== FORM || !origin || !command) return undefined;
  if (typeof id !== 'string' || typeof hash !== 'string' || !person) return undefined;
  const values = { ...valuesIn(state), ...origin.carried };
  const aboutText = aboutTextIn(blocks);
  return { viewId: id, hash, command, origin, values, aboutText, person };
}

function aboutTextIn(blocks: unknown): string {
  const all = Array.isArray(blocks) ? blocks.map(fieldsOf) : [];
  const quote = all.find(({ block_id }) => block_id === ABOUT_BLOCK);
  const firstOf = ({ elements }: Record<string, unknown>) =>
    fieldsOf(Array.isArray(elements) ? elements[0] : undefined);
  return textOf(firstOf(firstOf(quote ?? {})).text) ?? '';
}

/** A submitted form as an input in the channel where the person opened it. */
export function inputOf(filled: FilledForm): UserInput {
  const { viewId, command, origin, values, aboutText, person } = filled;
  const { channel, responseUrl, home, about, thread } = origin;
  const request = { command: command.name, values };
  const invocation = { id: `slack:${viewId}`, request, person };
  const among = about ? aboutOf(channel, about, aboutText) : thread !== undefined && { thread };
  return {
    ...inputIn(channel, { ...invocation, ...among }),
    inThread: about !== undefined || thread !== undefined,
    ...(home && { isInHome: true }),
    ...(responseUrl !== undefined && { responseUrl }),
  };
}

/** The answer comes in the message's thread, or in a new one under it. */
function aboutOf(channel: string, { ts, thread, author, files: told }: AboutOrigin, text: string) {
  const atMs = Math.round(Number(ts) * 1_000);
  // Everything in a direct conversation is for the bot.
  const among = thread !== undefined && !channel.startsWith('D');
  const files = filesIn(told);
  return {
    thread: thread ?? ts,
    about: { id: ts, author, text, atMs, ...(files.length > 0 && { files }) },
    ...(among && { around: { thread } }),
  };
}

function originOf(text: unknown): FormOrigin | undefined {
  try {
    const { command, channel, responseUrl, home, about, ...more } = fieldsOf(
      parseUntrustedJson(String(text)),
    );
    if (typeof command !== 'string' || typeof channel !== 'string') return undefined;
    const { ts: chosen, thread: inside, author, files } = fieldsOf(about);
    const ts = tsOf(chosen);
    const aboutThread = tsOf(inside);
    const thread = tsOf(more.thread);
    const carried = Object.entries(fieldsOf(more.carried)).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    );
    return {
      command,
      channel,
      home: home === true,
      carried: Object.fromEntries(carried),
      thread,
      ...(ts !== undefined && {
        about: {
          ts,
          author: textOf(author) ?? 'somebody',
          thread: aboutThread,
          ...(Array.isArray(files) && { files }),
        },
      }),
      ...(typeof responseUrl === 'string' && { responseUrl }),
    };
  } catch {
    // Another app's form.
    return undefined;
  }
}

/** Each block has the name of its input and holds one value. */
function valuesIn(state: unknown): Record<string, string> {
  const blocks = Object.entries(fieldsOf(fieldsOf(state).values));
  return Object.fromEntries(
    blocks.map(([name, block]) => {
      const { value, selected_option } = fieldsOf(fieldsOf(block)[name]);
      // An emptied input resets a setting.
      return [name, textOf(value) ?? textOf(fieldsOf(selected_option).value) ?? ''];
    }),
  );
}

export const triggerOf = (payload: unknown) => textOf(fieldsOf(payload).trigger_id);

export interface HomePress {
  trigger: string;
  person: Person;
  command: string;
  values: Record<string, string>;
}

/**
 * A press of one of our buttons in a home; `undefined` for anything else. The payload isn't trusted. Source: Slack docs,
 * "block_actions payload", "Home tab".
 */
export function parseHomePress(payload: unknown): HomePress | undefined {
  const { view, user, trigger_id } = fieldsOf(payload);
  const press = pressIn(payload);
  const person = personOf(user);
  const trigger = textOf(trigger_id);
  if (fieldsOf(view).type !== 'home' || !press || !person || !trigger) return undefined;
  return { trigger, person, ...press.request };
}

export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

export const textOf = (value: unknown) =>
  typeof value === 'string' && value !== '' ? value : undefined;
