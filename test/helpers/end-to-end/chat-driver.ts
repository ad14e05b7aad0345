import { MessageFlags } from 'discord.js';
import { ASK_ABOUT } from '../../../src/bot/commands/ask-about.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { chartsIn } from '../../fakes/slack/chart.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { eventually } from '../eventually.ts';
import type { AtEnd } from '../temporary-folder.ts';
import { discordEnv, textOf } from './discord-program.ts';
import { socketMode } from './slack-program.ts';

/** A file as a person sends it. */
export interface SentFile {
  name: string;
  bytes: Buffer;
  mediaType: string;
}

interface Where {
  /** The message whose thread it is said in. */
  thread?: string;
  files?: readonly SentFile[];
}

/** A chat platform as a person uses it, in the same words for each; messages are known by their ids. */
export interface ChatDriver {
  /** The program's settings for it. */
  env: Record<string, string>;
  say(text: string, where?: Where): string;
  /** `say`, to Askwatch. */
  mention(text: string, where?: Where): string;
  /** Types `/ask`. */
  ask(question: string): void;
  command(name: string, values?: Record<string, string>): void;
  /** Chooses “Ask about this message”, and sends the form that opens. */
  askAbout(message: string, values: Record<string, string>): Promise<void>;
  /** Presses the newest button with this label, or that under a message, once it is there. */
  press(label: string, message?: string): Promise<void>;
  /** The newest message that says this, once it is there: in the channel, in a thread, or to the person alone. */
  find(words: string | RegExp): Promise<{ id: string; text: string }>;
  /** Askwatch's messages in the thread of a message. A silent one notifies nobody, and only the thread shows it. */
  replies(message: string): Array<{ id: string; text: string; isSilent: boolean }>;
  /** Text files that Askwatch has sent, by their names. */
  files(): Map<string, string>;
  /** Charts that Askwatch has shown. */
  charts(): number;
  /** Connections that the program holds. */
  connections(): number;
  /** Texts that must not be logged. */
  secrets: RegExp;
  /** Requests that break the platform's rules. */
  breaches(): unknown[];
}

/** How each platform is started. */
export const CHAT_DRIVERS: Record<'Slack' | 'Discord', (atEnd: AtEnd) => Promise<ChatDriver>> = {
  Slack: slackDriver,
  Discord: discordDriver,
};

const found = (words: string | RegExp, text: string) =>
  typeof words === 'string' ? text.includes(words) : words.test(text);

async function slackDriver(atEnd: AtEnd): Promise<ChatDriver> {
  const slack = await startSlack(atEnd);
  const { messages, ephemerals } = slack.channel(CHANNEL);
  const whereOf = ({ thread, files }: Where) => ({
    threadTs: thread,
    ...(files && {
      files: files.map(({ mediaType, ...file }) => ({ ...file, mimetype: mediaType })),
    }),
  });
  return {
    env: socketMode(slack),
    say: (text, where = {}) => slack.say(text, whereOf(where)),
    mention: (text, where = {}) => slack.mention(text, whereOf(where)),
    ask: (question) => void slack.slash('/ask', question),
    command(name, values = {}) {
      const [first = '', ...others] = name.split(' ');
      const given = Object.entries(values).map(([key, value]) => `${key}="${value}"`);
      void slack.slash(`/${first}`, [...others, ...given].join(' '));
    },
    async askAbout(message, values) {
      await slack.chooseFor(message, ASK_ABOUT.id);
      await eventually(() => slack.form());
      await slack.submit(values);
    },
    async press(label, ts) {
      const shown = await eventually(() =>
        [...messages, ...ephemerals].findLast(
          (message) => (ts ?? message.ts) === message.ts && labelsOf(message).includes(label),
        ),
      );
      await slack.press(label, { ts: shown.ts });
    },
    find: (words) =>
      eventually(
        () =>
          [...messages, ...ephemerals]
            .map((message) => ({ id: message.ts, text: shownText(message) }))
            .findLast(({ text }) => found(words, text)),
        { what: String(words) },
      ),
    replies: (message) =>
      slack
        .thread(CHANNEL, message)
        .filter(({ bot_id }) => bot_id !== undefined)
        .map((reply) => ({
          ...{ id: reply.ts, text: shownText(reply) },
          isSilent: !reply.called?.length && reply.subtype === undefined,
        })),
    files: () =>
      new Map(
        messages.flatMap(({ files = [] }) =>
          files.flatMap(({ name = '', text }) =>
            text === undefined ? [] : [[name, text] as const],
          ),
        ),
      ),
    charts: () => messages.flatMap(({ blocks }) => chartsIn(blocks)).length,
    connections: slack.sockets,
    secrets: /xoxb-\w|xapp-\w|\/response\//,
    breaches: () => [...slack.unhandled, ...slack.acks.filter(({ ms }) => ms === undefined)],
  };
}

async function discordDriver(atEnd: AtEnd): Promise<ChatDriver> {
  const discord = await startDiscord({ messageContentAllowed: true, atEnd });
  const messageOf = (id: string) => {
    const message = discord.messages().find((one) => one.id === id);
    if (!message) throw new Error(`There is no message ${id}.`);
    return message;
  };
  /** A thread is a channel of its own, which a person opens who is the first to write there. */
  function channelOf(thread: string) {
    const open = discord.threads().find(({ id }) => id === thread);
    return open ?? discord.openThread(messageOf(thread));
  }
  const whereOf = ({ thread, files }: Where) => ({
    ...(thread !== undefined && { channel: channelOf(thread) }),
    ...(files && {
      files: files.map(({ mediaType, ...file }) => ({ ...file, contentType: mediaType })),
    }),
  });
  const own = () => discord.messages().filter(({ author }) => author.id === discord.bot.id);
  const sent = () => own().flatMap(({ attachments }) => attachments);
  return {
    env: { ...discordEnv(discord), DISCORD_MESSAGE_CONTENT: 'true' },
    say: (text, where = {}) => discord.say(text, whereOf(where)).id,
    mention: (text, where = {}) => discord.say(text, { ...whereOf(where), mention: true }).id,
    ask: (question) => void discord.slash('ask', { question }),
    command: (name, values = {}) => void discord.slash(name, values),
    async askAbout(message, values) {
      const chosen = discord.chooseFor(messageOf(message), ASK_ABOUT.label);
      await eventually(() => chosen.form);
      discord.send(chosen, values);
    },
    async press(label, id) {
      const shown = await eventually(() =>
        own().findLast(
          (message) =>
            (id ?? message.id) === message.id &&
            message.components.some((row) => row.components.some((one) => one.label === label)),
        ),
      );
      discord.press(shown, label);
    },
    find: (words) =>
      eventually(
        () =>
          discord
            .messages()
            .map((message) => ({ id: message.id, text: textOf(message) }))
            .findLast(({ text }) => found(words, text)),
        { what: String(words) },
      ),
    replies: (message) =>
      own()
        .filter((one) => [one.message_reference?.message_id, one.channel_id].includes(message))
        .map((reply) => ({
          ...{ id: reply.id, text: textOf(reply) },
          isSilent:
            reply.rang.length === 0 && (reply.flags & MessageFlags.SuppressNotifications) !== 0,
        })),
    files: () => new Map(sent().map(({ filename, bytes }) => [filename, bytes.toString()])),
    charts: () => sent().filter(({ bytes }) => bytes.subarray(1, 4).toString() === 'PNG').length,
    connections: () => discord.gateway.connected(),
    secrets: new RegExp(discord.settings.token.replaceAll('.', '\\.')),
    // The fake itself fails a test that lets it be asked for a route that it does not know.
    breaches: () => [],
  };
}
