import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import type { ConsoleEvent, Message } from '../../../src/console/shared/api-types.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { HEARD_BY_ALL_MS } from '../../fakes/too-early.ts';
import { openTab, repliesOf } from '../console/test-console.ts';
import { eventually } from '../eventually.ts';
import type { PostgresServer } from '../postgres/server.ts';
import { FAULTS, type FaultyCall, type StormPlatform } from './alert-storm.ts';
import { CLEAN, judge, type Verdict, type WatchedMonitor } from './alert-verdict.ts';
import type { startProcesses } from './chaos.ts';
import { discordEnv } from './discord-program.ts';
import { discordStorm } from './discord-storm.ts';
import { startForBot } from './services.ts';
import { socketMode } from './slack-program.ts';
import { slackStorm } from './slack-storm.ts';

/** Monitors that one channel hears of. */
const TEAM = 6;
/** More changes within a quarter of an hour may be told in another way. */
const MAX_OUTAGES = 2;

/** A change is stored for certain when so many looks came after it, over a time in which a takeover ends. */
const SURE_LOOKS = 3;
const SURE_MS = 20_000;

/** Words of an answer, one after another. */
const WORDS = 20;

interface Asked {
  question: string;
  /** Whether it was heard: of what was not, nothing is promised. */
  isHeard(): boolean;
  /** The texts of the messages that answer it, as they are shown; those that still grow are `undefined`. */
  answers(): Promise<Array<string | undefined>>;
}

type Processes = Awaited<ReturnType<typeof startProcesses>>;

/**
 * Teams on Slack, on Discord and at the console whose monitors change and who ask questions, and what truly happened. `random`
 * decides.
 */
export async function startBotsWorld(options: {
  server: Pick<PostgresServer, 'url'>;
  random: () => number;
  /** Teams on each platform. */
  teams: number;
}) {
  const { server, random, teams } = options;
  const schema = `bots_${randomBytes(4).toString('hex')}`;
  const { provider, service, env } = await startForBot();
  provider.answerWith((body) => answerWords(body), { chunkMs: 60 });
  const slack = await startSlack(onTestFinished, { heardMs: HEARD_BY_ALL_MS });
  const discord = await startDiscord({ heardMs: HEARD_BY_ALL_MS });
  const platforms = [slackStorm(slack), discordStorm(discord)];

  const operator = await openPostgresStore({
    ...{ url: server.url, schema, version: 'test' },
    log: pino({ level: 'silent' }),
  });
  const channels = createChannels(operator);
  const monitors: Array<WatchedMonitor & { platform: StormPlatform; changedMs: number }> = [];
  for (const platform of platforms) {
    for (let team = 0; team < teams; team += 1) {
      const filter = `${platform.name}${team}x`;
      const channel = platform.addChannel(`team${team}`);
      const place = { platform: platform.name, channel };
      await channels.change(place, { hearing: { on: true, filter } });
      for (let at = 0; at < TEAM; at += 1) {
        const { id, name } = service.add({ name: `${filter}${at}x` });
        const heard = { channels: [channel], outages: 0, isDown: false, changedAt: 0 };
        monitors.push({ id, name, team, ...heard, platform, changedMs: 0 });
      }
    }
  }
  await operator.close();

  const upTo = (count: number) => Math.floor(random() * count);

  function noteSure() {
    for (const monitor of monitors) {
      if (monitor.changedAt === 0) continue;
      const looks = service.requests.length - monitor.changedAt;
      if (looks >= SURE_LOOKS && performance.now() - monitor.changedMs > SURE_MS) {
        monitor.changedAt = 0;
      }
    }
  }

  function turnOver(monitor: (typeof monitors)[number]) {
    monitor.isDown = !monitor.isDown;
    if (monitor.isDown) monitor.outages += 1;
    monitor.changedAt = service.requests.length;
    monitor.changedMs = performance.now();
    service.setStatus(monitor.id, monitor.isDown ? 'DOWN' : 'UP');
  }

  /** Questions that have one whole answer. */
  const settled = new Set<Asked>();
  function settle(one: Asked, shown: Array<string | undefined>) {
    if (shown.length === 1 && shown[0]?.includes(lastWord(one.question))) settled.add(one);
  }

  const isSure = ({ changedAt }: WatchedMonitor) => changedAt === 0;
  let asked = 0;
  const questions: Asked[] = [];

  function askSlack(): Asked {
    const question = `question ${asked}.`;
    const ts = slack.mention(question);
    return {
      question,
      isHeard: () => true,
      async answers() {
        const ours = slack
          .thread(CHANNEL, ts)
          .filter(({ user, ts: own }) => user === slack.botUserId && own !== ts);
        return ours.map((message) => {
          const text = shownText(message);
          return /Thinking…|Writing…|Stop/.test(text) ? undefined : text;
        });
      },
    };
  }

  function askDiscord(): Asked {
    const question = `question ${asked}.`;
    const { id } = discord.say(question, { mention: true });
    return {
      question,
      isHeard: () => true,
      async answers() {
        const answers = discord.channel(id).flatMap(({ author, content, components }) => {
          if (author.id !== discord.bot.id) return [];
          const labels = components.flatMap((row) => row.components.map(({ label }) => label));
          return [labels.includes('Stop') ? undefined : content];
        });
        if (answers.length > 0) return answers;
        // What could not be stored, while the database was away, is told so.
        return discord
          .channel(discord.general.id)
          .filter(({ message_reference: to }) => to?.message_id === id)
          .map(({ embeds }) => `told: ${JSON.stringify(embeds)}`);
      },
    };
  }

  /** Says it at one process after another until one has heard it, as the page does. */
  function askConsole(processes: Processes): Asked {
    const question = `question ${asked}.`;
    let root: string | undefined;
    const cookie = console_.cookie;
    const saying = { id: randomUUID(), channel: 'general', text: `/ask ${question}` };
    const telling = (async () => {
      for (let left = 200; left > 0 && root === undefined; left -= 1) {
        const urls = processes.urls();
        const url = urls[left % urls.length] ?? '';
        const answer = await fetch(`${url}/console/sayings`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: url, cookie },
          body: JSON.stringify(saying),
          signal: AbortSignal.timeout(20_000),
        }).catch(() => undefined);
        const outcome = answer?.ok ? ((await answer.json()) as { message?: string }) : undefined;
        root = outcome?.message;
        if (root === undefined) await pause(200);
      }
    })();
    /** As they were seen last: the console forgets threads of long ago, and goes on to do so while it is asked. */
    let seen: Array<string | undefined> = [];
    return {
      question,
      isHeard: () => root !== undefined,
      async answers() {
        await telling;
        if (root === undefined) return [];
        const thread = root;
        // Any of them will do; some may stand still.
        const asking = processes.urls().map((url) => repliesOf(url, thread, cookie));
        const replies = await Promise.any(asking).catch(({ errors }: AggregateError) => {
          const isGone = errors.some((error) => (error as Error).message === 'Status 404');
          if (seen.length > 0 && isGone) return undefined;
          throw errors[0];
        });
        seen =
          replies?.map(({ body }) =>
            body.kind !== 'answer' ? body.kind : body.growing ? undefined : wholeText(body),
          ) ?? seen;
        return seen;
      },
    };
  }

  /** A browser that goes on at another process when it loses its own, and all that it was told. */
  const console_ = {
    cookie: '',
    heard: [] as ConsoleEvent[],
    ids: [] as string[],
    /** Snapshots after the first: then it was not known what it had missed. */
    snapshots: 0,
    isOver: false,
    /** Ends the browser. */
    stop: async () => {},
    async follow(processes: Processes) {
      let lastEventId: string | undefined;
      while (!this.isOver) {
        const urls = processes.urls();
        const url = urls[upTo(urls.length)] ?? '';
        const known = {
          ...(this.cookie !== '' && { cookie: this.cookie }),
          ...(lastEventId !== undefined && { lastEventId }),
        };
        const tab = await openTab(url, known).catch(() => undefined);
        if (!tab) {
          await pause(200);
          continue;
        }
        this.cookie = tab.cookie;
        const untilMs = performance.now() + 5_000 + random() * 10_000;
        await eventually(() => tab.ended || this.isOver || performance.now() > untilMs);
        tab.close();
        if (lastEventId !== undefined) {
          this.snapshots += tab.heard.filter(({ kind }) => kind === 'snapshot').length;
        }
        this.heard.push(...tab.heard);
        if (tab.lastEventId !== '') lastEventId = tab.lastEventId;
      }
    },
  };

  return {
    schema,
    slack,
    discord,
    provider,
    service,
    monitors,
    questions,
    console: console_,
    env: { ...socketMode(slack), ...discordEnv(discord), ...env },
    /** Lets some monitors change whose last change is certainly known. */
    turnSome(count: number) {
      noteSure();
      for (let left = count; left > 0; left -= 1) {
        const able = monitors.filter(
          (one) => isSure(one) && (one.isDown || one.outages < MAX_OUTAGES),
        );
        const chosen = able[upTo(able.length)];
        if (chosen) turnOver(chosen);
      }
    },
    /** Somebody asks something somewhere. */
    ask(processes: Processes) {
      asked += 1;
      const where = [askSlack, askDiscord, () => askConsole(processes)];
      const one = (where[asked % where.length] ?? askSlack)();
      questions.push(one);
      return one;
    },
    /** Looks at what became of the last questions, while it is still to be seen. */
    async look() {
      for (const one of questions.slice(-150)) {
        if (!settled.has(one)) settle(one, await one.answers().catch(() => [undefined]));
      }
    },
    /** The next call of a platform goes wrong. */
    failSome() {
      const calls: FaultyCall[] = ['post', 'edit', 'post', 'history', 'edit'];
      const platform = platforms[upTo(platforms.length)];
      const call = calls[upTo(calls.length)] ?? 'post';
      platform?.fail(call, FAULTS[upTo(FAULTS.length)] ?? 'limited');
    },
    /**
     * Waits until it is watched and connected. From then on monitors change, people ask, and with `faults` calls go wrong, until
     * the function that it resolves to has resolved.
     */
    async live(processes: Processes, { faults = false } = {}): Promise<() => Promise<void>> {
      let isOver = false;
      const following = console_.follow(processes);
      while (console_.cookie === '') await pause(50);
      await eventually(() => discord.gateway.holders().length === 1);
      // They have looked at the monitors, and know them.
      await pause(5_000);
      const looking = (async () => {
        while (!isOver) {
          await this.look();
          await pause(2_000);
        }
      })();
      const living = (async () => {
        while (!isOver) {
          if (random() < 0.3) this.turnSome(1 + upTo(2));
          if (faults && random() < 0.15) this.failSome();
          this.ask(processes);
          await pause(300 + random() * 700);
        }
      })();
      return async () => {
        isOver = true;
        await Promise.all([living, looking]);
        console_.stop = async () => {
          // What was told last has come to the browser, too.
          await pause(1_000);
          console_.isOver = true;
          await following;
        };
      };
    },
    /** A process was killed. */
    killed() {
      for (const platform of platforms) platform.killed();
    },
    /** Waits until all that changed is certainly known. */
    async allSeen() {
      await eventually(() => monitors.every(isSure) || void noteSure(), { withinMs: 120_000 });
    },
    /** All that is down comes back. */
    recoverAll() {
      for (const monitor of monitors) if (monitor.isDown) turnOver(monitor);
    },
    alertVerdict: (): Verdict[] =>
      platforms.map((platform) =>
        judge(
          platform,
          monitors.filter((one) => one.platform === platform),
        ),
      ),
    /** Waits until every outage is told once, every message is true, and every question that was heard has one answer. */
    async expectTruth(withinMs = 180_000) {
      await eventually(
        () => {
          for (const verdict of this.alertVerdict()) expect(verdict).toMatchObject(CLEAN);
          return true;
        },
        { withinMs, what: 'every outage to be told once and every message to be true' },
      );
      await eventually(
        async () => {
          const { lost, doubled, growing } = await this.answerVerdict();
          expect({ lost, doubled, growing }).toEqual({ lost: [], doubled: [], growing: [] });
          return true;
        },
        { withinMs, everyMs: 500, what: 'every question to have one answer' },
      );
    },
    async answerVerdict() {
      const verdict = {
        ...{ whole: 0, noted: [] as string[], unheard: 0 },
        ...{ lost: [] as string[], doubled: [] as string[], growing: [] as string[] },
      };
      for (const { question, isHeard, answers } of questions) {
        const shown = await answers();
        const told = `${question} ${JSON.stringify(shown)}`;
        const all = shown.filter(
          (text) => text === undefined || !text.includes(question) || isAnswer(text),
        );
        if (shown.includes(undefined)) verdict.growing.push(told);
        else if (all.length > 1) verdict.doubled.push(told);
        else if (all.some((text) => text?.includes(lastWord(question)))) verdict.whole += 1;
        else if (all.length === 1) verdict.noted.push(told);
        else if (isHeard()) verdict.lost.push(told);
        else verdict.unheard += 1;
      }
      return verdict;
    },
    /** What the browser was told in the end, held against what a fresh one is shown. */
    async expectNothingMissed(processes: Processes) {
      await console_.stop();
      const [url = ''] = processes.urls();
      const heard = new Map<string, Message[]>();
      const note = (message: Message) =>
        heard.set(message.id, [...(heard.get(message.id) ?? []), message]);
      for (const event of console_.heard) {
        if (event.kind === 'snapshot') for (const { message } of event.messages) note(message);
        else if (event.kind === 'message') note(event.listed.message);
        else if (event.kind === 'reply') note(event.reply);
      }
      const fresh = await openTab(url, { cookie: console_.cookie });
      const snapshot = await eventually(() => fresh.heard.find(({ kind }) => kind === 'snapshot'));
      if (snapshot.kind !== 'snapshot') throw new Error('no snapshot');
      fresh.close();
      expect(console_.snapshots).toBe(0);
      const missed: unknown[] = [];
      for (const { message } of snapshot.messages) {
        const replies = await repliesOf(url, message.id, console_.cookie);
        for (const shown of [message, ...replies]) {
          const all = heard.get(shown.id) ?? [];
          if (!isDeepStrictEqual(all.at(-1), shown)) missed.push({ shown, heard: all });
        }
      }
      expect(missed).toEqual([]);
      return heard.size;
    },
  };
}

const answerTo = (question: string) => `The answer to ${question}`;
const lastWord = (question: string) => `${/\d+/.exec(question)?.[0]}w${WORDS - 1}`;
const isAnswer = (text: string) => text.includes('The answer to');

const wholeText = ({ text, note = '' }: { text: string; note?: string | undefined }) =>
  `${text} ${note}`;

// biome-ignore lint/suspicious/noExplicitAny: what a provider is asked
function answerWords(body: any): string[] {
  const asked = String(body.messages.at(-1)?.content ?? '');
  const question = /question \d+\./.exec(asked)?.[0] ?? 'nothing';
  const number = /\d+/.exec(question)?.[0];
  const words = Array.from({ length: WORDS }, (_, at) => ` ${number}w${at}`);
  return [answerTo(question), ...words];
}
