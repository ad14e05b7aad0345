import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ListedMessage, Message } from '../../../src/console/shared/api-types.ts';
import type { DiscordFake } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import type { SlackFake } from '../../fakes/slack/slack.ts';
import { repliesOf } from '../console/test-console.ts';

/** Words of an answer, one after another. */
const WORDS = 20;

/** Slack takes one message a second in each channel, so people ask in several. */
const SLACK_CHANNELS = 8;

/** Time limit of a browser's request: the process may stand still. */
const WAIT_MS = 8_000;

/** Discord may drop mentions that come so soon after a process has connected, or before it leaves. */
const STEADY_MS = 3_000;

/** Discord's flag of a reply that is "thinking…". */
const LOADING = 1 << 7;

/** A question, with a view of its answers. */
export interface Question {
  text: string;
  how: 'mention' | 'command' | 'saying';
  /** False for a question that nobody promised to answer. */
  isAcknowledged(): boolean;
  /** Texts of its answers, as shown; `undefined` for an answer that still grows. */
  answers(): Promise<Array<string | undefined>>;
}

/** Questions by their outcome. */
export interface AnswerVerdict {
  whole: number;
  /** Ended with a note. */
  noted: string[];
  /** Neither acknowledged nor answered. */
  unheard: string[];
  lost: string[];
  doubled: string[];
  growing: string[];
}

const TOLD =
  /Interrupted|is restarting|isn’t available|couldn’t|could not|can’t|unavailable|try again/i;

/** The words that a model answers a question with. */
// biome-ignore lint/suspicious/noExplicitAny: what a provider is asked
export function answerWords(body: any): string[] {
  const asked = String(body.messages.at(-1)?.content ?? '');
  const question = /question \d+\./.exec(asked)?.[0] ?? 'nothing';
  const number = /\d+/.exec(question)?.[0];
  const words = Array.from({ length: WORDS }, (_, at) => ` ${number}w${at}`);
  return [`The answer to ${question}`, ...words];
}

/** Why a request came to nothing: nobody took it where the connection was refused. */
export const reasonOf = (error: Error) =>
  `${error} ${(error.cause as { code?: string } | undefined)?.code}`;

const lastWord = (question: string) => `${/\d+/.exec(question)?.[0]}w${WORDS - 1}`;
const isAnswer = (text: string) => text.includes('The answer to');

/** True if all words of the answer are shown, and no other message. */
const isWhole = (question: string, shown: ReadonlyArray<string | undefined>) =>
  shown.length === 1 && shown[0]?.includes(lastWord(question)) === true;

/** Compares what people see with what they asked. */
export async function judgeAnswers(questions: readonly Question[]): Promise<AnswerVerdict> {
  const verdict: AnswerVerdict = {
    ...{ whole: 0, noted: [], unheard: [] },
    ...{ lost: [], doubled: [], growing: [] },
  };
  for (const { text: question, how, isAcknowledged, answers } of questions) {
    const shown = await answers();
    const told = `${how} ${question} ${JSON.stringify(shown)}`;
    if (shown.includes(undefined)) verdict.growing.push(told);
    else if (shown.length > 1) verdict.doubled.push(told);
    else if (isWhole(question, shown)) verdict.whole += 1;
    else if (shown.some((text) => TOLD.test(text ?? ''))) verdict.noted.push(told);
    else if (shown.length > 0 || isAcknowledged()) verdict.lost.push(told);
    else verdict.unheard.push(told);
  }
  return verdict;
}

/** People of a Slack workspace. Slack repeats mentions until they are acknowledged, and commands never. */
export function slackPeople(slack: SlackFake) {
  const channels = Array.from(
    { length: SLACK_CHANNELS },
    (_, at) => slack.addChannel({ id: `C00ASKED${at}` }).id,
  );
  const channelFor = (question: string) =>
    channels[Number(/\d+/.exec(question)?.[0]) % channels.length] ?? '';
  const ours = (channel: string, thread: string) =>
    slack
      .thread(channel, thread)
      .filter(({ user, ts }) => user === slack.botUserId && ts !== thread)
      .map((message) => shownText(message))
      // Slack broke off a stream here; the answer is the message below it.
      .filter((text) => text !== 'The full answer is below.')
      .map((text) => (/Thinking…|Writing…|Stop/.test(text) ? undefined : text));
  return {
    mention(question: string): Question {
      const channel = channelFor(question);
      const ts = slack.mention(question, { channel });
      return {
        ...{ text: question, how: 'mention' },
        isAcknowledged: () => true,
        async answers() {
          return ours(channel, ts);
        },
      };
    },
    /** Each is another person's, who alone may see what comes of it. */
    command(question: string): Question {
      const channel = channelFor(question);
      const user = `U00ASKS${/\d+/.exec(question)?.[0]}`;
      let isAcknowledged = false;
      void slack.slash('/ask', question, { channel, user }).then(({ ms }) => {
        isAcknowledged = ms !== undefined;
      });
      return {
        ...{ text: question, how: 'command' },
        isAcknowledged: () => isAcknowledged,
        async answers() {
          const roots = slack
            .messages(channel)
            .filter((one) => one.user === slack.botUserId && shownText(one).includes(question));
          const shown = roots.flatMap(({ ts }) => {
            const replies = ours(channel, ts);
            return replies.length > 0 ? replies : [undefined];
          });
          return [...shown, ...slack.whispers(channel, user)];
        },
      };
    },
  };
}

/**
 * People of a Discord server. Discord drops mentions while no process is connected; `isSure` returns true if one must be
 * connected now.
 */
export function discordPeople(discord: DiscordFake, isSure: () => boolean) {
  const shownOf = ({ content, embeds, components, flags }: FakeMessage) => {
    const labels = components.flatMap((row) => row.components.map(({ label }) => label));
    const isGrowing = labels.includes('Stop') || (flags & LOADING) !== 0;
    return isGrowing ? undefined : [content, ...embeds.map((one) => JSON.stringify(one))].join(' ');
  };
  const isTold = (text: string | undefined) => text === undefined || TOLD.test(text);
  const inThread = (id: string, question: string) =>
    discord
      .channel(id)
      .filter(({ author }) => author.id === discord.bot.id)
      .map(shownOf)
      .filter((text) => text === undefined || isAnswer(text) || !text.includes(question));
  return {
    mention(question: string): Question {
      const sinceMs = discord.gateway.sinceMs() ?? Number.POSITIVE_INFINITY;
      let isHeard = isSure() && performance.now() - sinceMs > STEADY_MS;
      const { id } = discord.say(question, { mention: true });
      setTimeout(() => {
        if (discord.gateway.sinceMs() !== sinceMs) isHeard = false;
      }, STEADY_MS);
      return {
        ...{ text: question, how: 'mention' },
        isAcknowledged: () => isHeard,
        async answers() {
          const below = discord
            .channel(discord.general.id)
            .filter(({ message_reference: to }) => to?.message_id === id)
            .map(shownOf);
          return [...inThread(id, question), ...below];
        },
      };
    },
    command(question: string): Question {
      const asked = discord.slash('ask', { question });
      return {
        ...{ text: question, how: 'command' },
        isAcknowledged: () => asked.acknowledged !== undefined,
        async answers() {
          const { reply, followUps } = asked;
          const after = followUps.map(shownOf);
          if (!reply) return after;
          const replied = shownOf(reply);
          const below = inThread(reply.id, question);
          // The reply shows the question; its answer is in the reply's thread or below it.
          if (below.length > 0) return [...below, ...after];
          return isTold(replied) || after.length === 0
            ? [isTold(replied) ? replied : undefined, ...after]
            : after;
        },
      };
    },
  };
}

/** A person at the console; any process in `urls` may be down. */
export function consolePerson(urls: () => readonly string[], cookie: () => string) {
  const refusals: string[] = [];
  return {
    /** Answers to messages that had to be sent again. */
    refusals,
    /** Says it at one process after another until one takes it, as the page does. */
    saying(question: string): Question {
      let root: string | undefined;
      /** A note is shown in the channel if the question never was. */
      let isInChannel = false;
      const given = { id: randomUUID(), channel: 'general', text: `/ask ${question}` };
      const telling = (async () => {
        for (let left = 200; left > 0 && root === undefined; left -= 1) {
          const all = urls();
          const url = all[left % all.length] ?? '';
          const answer = await fetch(`${url}/console/sayings`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', origin: url, cookie: cookie() },
            body: JSON.stringify(given),
            signal: AbortSignal.timeout(WAIT_MS),
          }).catch((error: Error) => error);
          const isTaken = answer instanceof Response && answer.ok;
          if (isTaken) {
            const outcome = (await answer.json()) as { shown: string; message?: string };
            root = outcome.message;
            isInChannel = outcome.shown === 'channel';
          }
          if (root !== undefined) return;
          refusals.push(answer instanceof Response ? `${answer.status}` : reasonOf(answer));
          await pause(200);
        }
      })();
      /** Answers at the last look: the console evicts old threads, perhaps during this request. */
      let seen: Array<string | undefined> = [];
      return {
        ...{ text: question, how: 'saying' },
        isAcknowledged: () => root !== undefined,
        async answers() {
          await telling;
          if (root === undefined) return [];
          const thread = root;
          // Any of them will do; some may stand still.
          const asking = urls().map((url) =>
            isInChannel ? messageAt(url, thread, cookie()) : repliesOf(url, thread, cookie()),
          );
          const replies = await Promise.any(asking).catch(({ errors }: AggregateError) => {
            const isGone = errors.some((error) => (error as Error).message === 'Status 404');
            if (seen.length > 0 && isGone) return undefined;
            throw errors[0];
          });
          seen = replies?.map(({ body }) => textOf(body)) ?? seen;
          return seen;
        },
      };
    },
  };
}

/** The message that heads a thread. */
async function messageAt(url: string, root: string, cookie: string): Promise<Message[]> {
  const response = await fetch(`${url}/console/threads/${root}`, { headers: { cookie } });
  if (!response.ok) throw new Error(`Status ${response.status}`);
  const { listed } = (await response.json()) as { listed: ListedMessage };
  return [listed.message];
}

function textOf(body: Awaited<ReturnType<typeof repliesOf>>[number]['body']) {
  if (body.kind === 'card') return JSON.stringify(body.card);
  if (body.kind === 'text') return body.text;
  return body.growing ? undefined : `${body.text} ${body.note ?? ''}`;
}
