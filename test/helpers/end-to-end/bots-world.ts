import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startSlack } from '../../fakes/slack/slack.ts';
import { HEARD_BY_ALL_MS } from '../../fakes/too-early.ts';
import { eventually } from '../eventually.ts';
import { FAULTS, type FaultyCall, type Press, type StormPlatform } from './alert-storm.ts';
import { CLEAN, judge, type Verdict, type WatchedMonitor } from './alert-verdict.ts';
import { ConsoleBrowser } from './console-browser.ts';
import { discordEnv } from './discord-program.ts';
import { discordStorm } from './discord-storm.ts';
import {
  answerWords,
  consolePerson,
  discordPeople,
  judgeAnswers,
  type Question,
  reasonOf,
  slackPeople,
} from './people.ts';
import { startForBot } from './services.ts';
import { socketMode } from './slack-program.ts';
import { slackStorm } from './slack-storm.ts';

/** More outages within 15 minutes count as flapping. */
const MAX_OUTAGES = 2;

/** A change that is not told yet is stored for certain when so many looks came after it, over a time in which a takeover ends. */
const SURE_LOOKS = 3;
const SURE_MS = 20_000;

/** Time limit of a webhook's sender: the process may stand still. */
const WAIT_MS = 5_000;

/** A delivery that was given up may still be read by a process that stood still, so long after. */
const GIVEN_UP_MS = 10_000;

/** Within this time before and after a fault, no process may be connected to Discord. */
const QUIET_MS = 15_000;

/** A doubled message would come so soon after the first. */
const DOUBLED_MS = 1_500;

/** A monitor, or an alert of another system. */
interface Watched extends WatchedMonitor {
  platform: StormPlatform;
  changedMs: number;
  /** Changes it where Askwatch reads it, or sends the alert. */
  change(isDown: boolean): Promise<void>;
  /** True if it has its own channel, in which people acknowledge its outages. */
  isAlone: boolean;
}

/** A press of Acknowledge under an outage. */
interface Acknowledging extends Press {
  monitor: Watched;
  isDone(): boolean;
}

/**
 * Teams on Slack, on Discord and at the console, with changing monitors, alerts from other systems, and questions; and a record of
 * the true events. `random` decides; `urls` are the processes' addresses, or a load balancer's in front of them.
 */
export async function startBotsWorld(options: {
  database: string;
  random: () => number;
  /** Teams on each platform, and monitors and external alerts of each team; several at once become a group. */
  teams: number;
  members: number;
  /** Slack sends over HTTP, to an address that is given later, instead of over sockets. */
  overHttp?: boolean;
}) {
  const { database, random, teams, members, overHttp = false } = options;
  const schema = `bots_${randomBytes(4).toString('hex')}`;
  const { provider, service, env } = await startForBot();
  provider.answerWith((body) => answerWords(body), { chunkMs: 60 });
  const slack = await startSlack(onTestFinished, { heardMs: HEARD_BY_ALL_MS });
  const discord = await startDiscord({ heardMs: HEARD_BY_ALL_MS });
  const platforms = [slackStorm(slack), discordStorm(discord)];
  let urls: () => readonly string[] = () => [];
  let faultMs = Number.NEGATIVE_INFINITY;
  /** Answers to webhook deliveries that had to be repeated. */
  const refusals: string[] = [];

  /** Repeats a delivery until it is accepted, as webhook senders do. */
  async function deliver(token: string, alert: { key: string; state: string }) {
    for (let attempt = 0; ; attempt += 1) {
      const all = urls();
      const url = all[Math.floor(random() * all.length)] ?? '';
      const answer = await fetch(`${url}/hooks/generic/${token}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...alert, name: alert.key }),
        signal: AbortSignal.timeout(WAIT_MS),
      }).catch((error: Error) => error);
      if (answer instanceof Response && answer.ok) return;
      const isGivenUp = !(answer instanceof Response);
      refusals.push(isGivenUp ? reasonOf(answer) : `${answer.status} ${await answer.text()}`);
      if (attempt > 300) throw new Error(`No process took an alert: ${refusals.at(-1)}`);
      await pause(isGivenUp ? 500 : 200);
    }
  }

  const operator = await openPostgresStore({
    ...{ url: database, schema, version: 'test' },
    log: pino({ level: 'silent' }),
  });
  const channels = createChannels(operator);
  const intakes = await createIntakes(operator);
  const monitors: Watched[] = [];
  function watch(
    platform: StormPlatform,
    { channel, name, team }: { channel: string; name: string; team: number },
    change: (isDown: boolean) => Promise<void>,
  ) {
    const isNew = { outages: 0, isDown: false, changedAt: 0, changedMs: 0, isAlone: team < 0 };
    const channelsOfIt = [channel];
    monitors.push({ id: name, name, team, channels: channelsOfIt, ...isNew, platform, change });
  }
  async function watchService(platform: StormPlatform, team: number, count: number) {
    const filter = `${platform.name}${team < 0 ? `own${-team}` : team}x`;
    const channel = platform.addChannel(team < 0 ? `own${-team}` : `team${team}`);
    const place = { platform: platform.name, channel };
    await channels.change(place, { hearing: { on: true, filter: { text: filter } } });
    for (let at = 0; at < count; at += 1) {
      const { id, name } = service.add({ name: `${filter}${at}x` });
      watch(platform, { channel, name, team }, async (isDown) =>
        service.setStatus(id, isDown ? 'DOWN' : 'UP'),
      );
    }
  }
  for (const platform of platforms) {
    for (let team = 0; team < teams; team += 1) {
      await watchService(platform, team, members);
      await watchService(platform, -1 - team, 1);
      const sentTo = platform.addChannel(`hooks${team}`);
      const to = { platform: platform.name, channel: sentTo };
      const { token } = await intakes.add(to, { kind: 'generic', by: 'the test' });
      for (let at = 0; at < members; at += 1) {
        const key = `${platform.name}${team}hook${at}x`;
        watch(platform, { channel: sentTo, name: key, team }, (isDown) =>
          deliver(token, { key, state: isDown ? 'firing' : 'resolved' }),
        );
      }
    }
  }
  await operator.close();

  const upTo = (count: number) => Math.floor(random() * count);
  const presses: Acknowledging[] = [];
  /** Acknowledged presses without a visible result yet. */
  const openPresses = () =>
    presses.filter((one) => one.isAcknowledged() && one.notes().length === 0 && !one.isDone());
  const isSure = (monitor: Watched) =>
    monitor.changedAt === 0 && !openPresses().some((press) => press.monitor === monitor);
  const isTold = (monitor: Watched) => {
    const { lost, doubled, untrue } = judge(monitor.platform, [monitor]);
    return lost.length + doubled.length + untrue.length === 0;
  };

  function noteSure() {
    for (const monitor of monitors) {
      // The time limit starts when the delivery has been accepted.
      if (isSure(monitor) || monitor.changedMs === Number.POSITIVE_INFINITY) continue;
      const looks = service.requests.length - monitor.changedAt;
      const sinceMs = performance.now() - monitor.changedMs;
      if ((sinceMs > 0 && isTold(monitor)) || (looks >= SURE_LOOKS && sinceMs > SURE_MS)) {
        monitor.changedAt = 0;
      }
    }
  }

  const sending = new Set<Promise<void>>();
  function turnOver(monitor: Watched) {
    monitor.isDown = !monitor.isDown;
    if (monitor.isDown) monitor.outages += 1;
    monitor.changedAt = service.requests.length + 1;
    monitor.changedMs = Number.POSITIVE_INFINITY;
    const before = refusals.length;
    const sent = monitor.change(monitor.isDown).then(() => {
      const isGivenUp = refusals.slice(before).some((one) => /Error/.test(one));
      monitor.changedMs = performance.now() + (isGivenUp ? GIVEN_UP_MS : 0);
      sending.delete(sent);
    });
    sending.add(sent);
  }

  /** Presses Acknowledge under an outage that has none. */
  function pressSome() {
    const monitor = monitors.find(
      (one) => one.isAlone && one.isDown && isSure(one) && isTold(one) && !isPressed(one),
    );
    if (!monitor) return;
    const { platform, outages } = monitor;
    const [channel = ''] = monitor.channels;
    const isDone = () =>
      monitor.outages > outages ||
      platform
        .alerts(channel)
        .some(({ facts }) => facts.some(({ label }) => label === 'Acknowledged by'));
    presses.push({ ...platform.press(channel, 'Acknowledge'), monitor, isDone });
  }
  const isPressed = ({ platform, channels: [channel = ''] }: Watched) =>
    presses.some(
      (press) => press.monitor.channels[0] === channel && press.monitor.platform === platform,
    );

  const browser = new ConsoleBrowser(() => urls(), random);
  const onSlack = slackPeople(slack);
  const onDiscord = discordPeople(discord, () => performance.now() - faultMs > QUIET_MS);
  const atConsole = consolePerson(
    () => urls(),
    () => browser.cookie,
  );
  const ways = [
    onSlack.mention,
    onDiscord.command,
    atConsole.saying,
    onSlack.command,
    onDiscord.mention,
  ];
  const questions: Question[] = [];

  const dropped = () =>
    presses.filter((one) => !one.isAcknowledged()).map(({ monitor }) => monitor.name);

  const world = {
    ...{ schema, slack, discord, provider, service, monitors, questions, browser },
    /** Answers over HTTP after which the client tried again. */
    refusals: () => [...refusals, ...atConsole.refusals],
    env: {
      ...socketMode(slack),
      ...discordEnv(discord),
      ...env,
      ...(overHttp && { SLACK_APP_TOKEN: '', SLACK_SIGNING_SECRET: slack.signingSecret }),
    } as Record<string, string>,
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
    /** Asks a question on one of the platforms. */
    ask() {
      const number = questions.length;
      const way = ways[number % ways.length] ?? onSlack.mention;
      questions.push(way(`question ${number}.`));
    },
    /** The next call of a platform goes wrong. */
    failSome() {
      const calls: FaultyCall[] = ['post', 'edit', 'post', 'history', 'edit'];
      const platform = platforms[upTo(platforms.length)];
      const call = calls[upTo(calls.length)] ?? 'post';
      platform?.fail(call, FAULTS[upTo(FAULTS.length)] ?? 'limited');
    },
    /** Notes a fault of a process or of the database. */
    faulted() {
      faultMs = performance.now();
    },
    /** A process was killed. */
    killed() {
      for (const platform of platforms) platform.killed();
    },
    /**
     * Waits until it is watched and connected. From then on monitors change, people ask and press buttons, and with `faults` calls
     * go wrong, until the function that it resolves to has resolved.
     */
    async live(
      of: () => readonly string[],
      { faults = false, everyMs = 650 } = {},
    ): Promise<() => Promise<void>> {
      urls = of;
      let isOver = false;
      await browser.open();
      await eventually(() => discord.gateway.connected() === 1);
      // Askwatch has polled the monitors.
      await eventually(() => service.requests.length > SURE_LOOKS);
      const looking = (async () => {
        while (!isOver) {
          // The console forgets threads of long ago.
          for (const one of questions.slice(-150)) await one.answers().catch(() => {});
          await pause(2_000);
        }
      })();
      const living = (async () => {
        while (!isOver) {
          if (random() < 0.5) world.turnSome(1 + upTo(2));
          pressSome();
          if (faults && random() < 0.15) world.failSome();
          world.ask();
          await pause(everyMs * (0.5 + random()));
        }
      })();
      return async () => {
        isOver = true;
        await Promise.all([living, looking]);
        await Promise.all(sending);
        slack.recover();
        discord.recover();
        // An event that was not acknowledged comes again a minute later, and once more after five.
        slack.clock.advance(60_000);
        await pause(200);
        slack.clock.advance(300_000);
      };
    },
    /** Presses that were not acknowledged: Slack and Discord show an error. */
    dropped,
    /** Recovers all monitors. */
    async recoverAll() {
      await eventually(() => monitors.every(isSure) || void noteSure(), {
        withinMs: 120_000,
        everyMs: 100,
      });
      for (const monitor of monitors) if (monitor.isDown) turnOver(monitor);
      await Promise.all(sending);
    },
    alertVerdict: (): Verdict[] =>
      platforms.map((platform) =>
        judge(
          platform,
          monitors.filter((one) => one.platform === platform),
        ),
      ),
    answerVerdict: () => judgeAnswers(questions),
    /** Waits until every outage is posted once, every message is true, and every acknowledged question has one answer. */
    async expectTruth(withinMs = 180_000) {
      const isClean = async () => {
        for (const verdict of world.alertVerdict()) {
          // An external alert is posted even if it was over before the first post.
          const unfounded = verdict.unfounded.filter((title) => !title.startsWith('RESOLVED: '));
          expect({ ...verdict, unfounded }).toMatchObject(CLEAN);
        }
        const { lost, doubled, growing } = await world.answerVerdict();
        expect({ lost, doubled, growing }).toEqual({ lost: [], doubled: [], growing: [] });
        expect(openPresses().map(({ monitor }) => monitor.name)).toEqual([]);
        return true;
      };
      const what = 'every outage to be told once, and every question to have one answer';
      await eventually(isClean, { withinMs, everyMs: 250, what });
      await pause(DOUBLED_MS);
      await isClean();
    },
    /** Compares the browser's final state with a fresh browser's. */
    async expectNothingMissed() {
      // The last events need a moment to reach the browser.
      await pause(500);
      await browser.close();
      expect(await browser.missed()).toEqual([]);
    },
    /** The run in figures. */
    async report() {
      const { whole, noted, unheard } = await world.answerVerdict();
      const [onSlackToo, onDiscordToo] = world.alertVerdict();
      return {
        ...{ questions: questions.length, whole, noted: noted.length, unheard: unheard.length },
        ...{ presses: presses.length, dropped: dropped().length },
        ...{ due: [onSlackToo?.due, onDiscordToo?.due] },
        ...{ messages: [onSlackToo?.messages, onDiscordToo?.messages] },
        ...{ refusals: world.refusals().length, snapshots: browser.snapshots },
      };
    },
  };
  return world;
}
