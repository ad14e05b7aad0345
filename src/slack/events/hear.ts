import type { Invocation } from '../../bot/shared/invocation.ts';
import type { Person } from '../../bot/shared/place.ts';
import type { UserInput } from '../answers/said.ts';
import type { BotIdentity } from '../api/self.ts';
import { decodeText } from '../render/text.ts';

/** The fields of `message` and `app_mention` events that are read here. Source: Slack docs, "message event". */
export interface MessageEvent {
  type: string;
  channel: string;
  ts: string;
  subtype?: string | undefined;
  channel_type?: string | undefined;
  user?: string | undefined;
  text?: string | undefined;
  thread_ts?: string | undefined;
  bot_id?: string | undefined;
  edited?: unknown;
}

/** The fields of a slash command that are read here. Source: Slack docs, "Implementing slash commands". */
export interface SlashCommand {
  command: string;
  text: string;
  trigger_id: string;
  channel_id: string;
  user_id: string;
  user_name: string;
  response_url: string;
}

/** What people write themselves: with files, and as a reply that is also shown in the channel. */
const WRITTEN_BY_PEOPLE = new Set<string | undefined>([
  undefined,
  'file_share',
  'thread_broadcast',
]);

/** A slash command as an invocation. */
export function parseCommand(command: SlashCommand): UserInput {
  const text = decodeText(command.text ?? '', () => undefined);
  return {
    invocation: {
      id: `slack:${command.trigger_id}`,
      request: { line: `${command.command} ${text}`.trim() },
      place: { platform: 'slack', channel: command.channel_id },
      person: { id: command.user_id, name: command.user_name || command.user_id },
    },
    channel: command.channel_id,
    addressed: true,
    inThread: false,
    hidden: true,
    responseUrl: command.response_url,
  };
}

/**
 * A message as an invocation; undefined for what no person said just now: posts of bots and of ours, edits, joins.
 * A mention reaches us twice, as `app_mention` and as `message`, in any order: both give the same id.
 * `commands` are the top-level names, such as `monitor`; a line that starts with one of them is that command.
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
  const question = decodeText(withoutMention(text, self), (id) =>
    id === self.userId ? self.name : undefined,
  ).trim();
  // A picture without a word in a thread is not a question.
  if (question === '' && !addressed) return undefined;
  const person: Person = { id: user, name: user };
  return {
    invocation: {
      id: `slack:${event.channel}:${event.ts}`,
      request: requestOf(question, commands),
      place: { platform: 'slack', channel: event.channel },
      thread: event.thread_ts ?? event.ts,
      person,
    },
    channel: event.channel,
    ts: event.ts,
    addressed,
    inThread: event.thread_ts !== undefined,
    hidden: false,
  };
}

const mentions = (text: string, self: BotIdentity) =>
  text.includes(`<@${self.userId}>`) || text.includes(`<@${self.userId}|`);

/** The text without the bot's mention where it only calls the bot: at the start and at the end. */
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
  // Apart, not as a line: words such as `model=x` in a sentence are part of the question.
  return { command: 'ask', values: { question } };
}
