import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { conclusion } from '../../helpers/bot/investigated-bot.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { discordEnv, textOf } from '../../helpers/end-to-end/discord-program.ts';
import { startModel, startWatched } from '../../helpers/end-to-end/services.ts';
import { expectNoBreach, socketMode } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { createRandom } from '../../helpers/random.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { seed } from '../../helpers/seed.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const KILLS = long ? 42 : 7;

/** About when the program is killed. A post or an edit never gets an answer, whether it arrived or not. */
const MOMENTS = ['begun', 'posted', 'not posted', 'answered', 'edited', 'ended', 'any'] as const;

/** A message in a thread, with the labels of its buttons. */
interface Reply {
  text: string;
  labels: string[];
}

/** One channel of a platform, which receives the alerts of one monitor. */
interface KilledChannel {
  platform: string;
  channel: string;
  alerts(): Array<{ text: string; replies: Reply[] }>;
  /** The next post or edit never gets an answer. */
  hang(what: 'post' | 'edit', applied: boolean): void;
  /** True if the investigation was posted or edited, even in vain. */
  isTried(what: 'post' | 'edit'): boolean;
}

function slackChannel(slack: SlackFake, at: number): KilledChannel {
  const { id: channel } = slack.addChannel({ id: `C00KILLED${at}` });
  const methods = { post: 'chat.postMessage', edit: 'chat.update' };
  const shownOf = (message: Parameters<typeof shownText>[0]) => ({
    ...{ text: shownText(message), labels: labelsOf(message) },
  });
  return {
    ...{ platform: 'slack', channel },
    alerts: () =>
      slack.messages(channel).map((message) => ({
        text: shownText(message),
        replies: slack.thread(channel, message.ts).map(shownOf),
      })),
    hang: (what, stored) => slack.fail(methods[what], { kind: 'hang', stored }, { channel }),
    isTried(what) {
      const own = slack.calls.filter(({ args }) => args.channel === channel);
      const [alert] = slack.messages(channel);
      return own.some(({ method, args }) =>
        what === 'post'
          ? method === methods.post && args.thread_ts !== undefined
          : method === methods.edit && args.ts !== alert?.ts,
      );
    },
  };
}

function discordChannel(discord: DiscordFake, at: number): KilledChannel {
  const { id: channel } = discord.addChannel({ name: `killed${at}` });
  const posts = { method: 'POST', path: new RegExp(`^/channels/${channel}/messages$`) };
  const edits = { method: 'PATCH', path: new RegExp(`^/channels/${channel}/messages/\\d+$`) };
  const all = () => discord.channel(channel);
  const alerts = () => all().filter((one) => one.message_reference === undefined);
  const shownOf = (message: FakeMessage): Reply => ({
    text: textOf(message),
    labels: message.components.flatMap((row) => row.components.map(({ label = '' }) => label)),
  });
  return {
    ...{ platform: 'discord', channel },
    alerts: () =>
      alerts().map((message) => ({
        text: textOf(message),
        replies: all()
          .filter((one) => one.message_reference?.message_id === message.id)
          .map(shownOf),
      })),
    hang: (what, applied) =>
      discord.fail({ ...(what === 'post' ? posts : edits), hang: true, applied }),
    isTried(what) {
      const [alert] = alerts();
      return discord.requests.some(({ method, path, body }) =>
        what === 'post'
          ? method === 'POST' && posts.path.test(path) && body?.message_reference !== undefined
          : method === 'PATCH' && edits.path.test(path) && !path.endsWith(alert?.id ?? ''),
      );
    },
  };
}

const isEnded = ({ alerts }: KilledChannel) =>
  alerts()[0]?.replies[0]?.labels.includes('Investigate again') === true;

/** `result` or `note`, if the channel has one alert with one investigation that has ended. */
function outcomeOf({ alerts }: KilledChannel): 'result' | 'note' {
  const shown = alerts();
  expect(shown).toHaveLength(1);
  const [{ text, replies } = { text: '', replies: [] }] = shown;
  expect(text).toMatch(/is down/);
  expect(replies).toHaveLength(1);
  const [reply] = replies;
  expect(reply?.labels).toContain('Investigate again');
  if (reply?.text.includes('Askwatch restarted during this investigation.')) return 'note';
  expect(reply?.text).toContain('Likely: ');
  expect(text).toContain('see thread');
  return 'result';
}

test('an investigation is one message that ends with a result or a note, whenever the program is killed with -9', {
  timeout: long ? 3_600_000 : 300_000,
}, async () => {
  const random = createRandom(seed());
  const slack = await startSlack();
  const discord = await startDiscord();
  const { model, env } = await startModel();
  const watched = await startWatched('');
  const dataDir = await temporaryFolder();
  const store = await openLowdbStore({ folder: `${dataDir}/data`, log: recordingLog().log });
  const settings = createChannels(store);
  const rounds: Array<{ monitor: string; channels: KilledChannel[] }> = [];
  for (let at = 0; at < KILLS; at += 1) {
    const name = `shop${at}x`;
    const channels = [slackChannel(slack, at), discordChannel(discord, at)];
    for (const { platform, channel } of channels) {
      const hearing = { on: true, filter: { text: name } };
      const investigate = { afterMs: 1, tokensPerDay: 1_000_000 };
      await settings.change({ platform, channel }, { hearing, settings: { investigate } });
    }
    rounds.push({ monitor: watched.service.add({ name }).id, channels });
  }
  await store.close();
  // A second for an answer, so that some kills come in the middle of it.
  model.answerWith(conclusion(), { chunkMs: 50 });
  const options = {
    dataDir,
    env: {
      ...{ ...socketMode(slack), ...discordEnv(discord), ...env, ...watched.env },
      ALERT_CHANNELS: '',
    },
  };

  let askwatch = await startAskwatch(options);
  await eventually(() => watched.service.requests.length > 2);
  const outcomes: string[] = [];
  for (const [round, { monitor, channels }] of rounds.entries()) {
    const moment = MOMENTS[round % MOMENTS.length] ?? 'any';
    const calls = model.calls.length;
    watched.service.setStatus(monitor, 'DOWN');
    if (moment === 'any') await pause(random() * 4_000);
    else await eventually(() => channels.every(({ alerts }) => alerts().length === 1));
    if (moment === 'begun') await pause(random() * 1_500);
    if (['posted', 'not posted', 'edited'].includes(moment)) {
      const what = moment === 'edited' ? 'edit' : 'post';
      const isApplied = moment === 'posted' || (moment === 'edited' && random() < 0.5);
      for (const one of channels) one.hang(what, isApplied);
      await eventually(() => channels.every((one) => one.isTried(what) || isEnded(one)));
      await pause(random() * 100);
    }
    if (moment === 'answered') {
      await eventually(() => model.calls.length > calls);
      await pause(random() * 1_500);
    }
    if (moment === 'ended') {
      await eventually(() => channels.every(isEnded));
      await pause(random() * 300);
    }
    await askwatch.kill();
    slack.killed();
    discord.killed();
    // Requests of the killed process are read before the next one starts.
    for (let turns = 0; turns < 10; turns += 1) await turn();
    slack.recover();
    discord.recover();
    askwatch = await startAskwatch(options);
    const ends = await eventually(() => channels.map(outcomeOf), { withinMs: 60_000 });
    outcomes.push(`${moment}: ${ends.join(' and ')}`);
  }
  // A second message would have come by now.
  for (const { channels } of rounds) channels.map(outcomeOf);
  expect(await askwatch.stop()).toBe(0);
  expectNoBreach(slack);
  process.stdout.write(`${JSON.stringify({ seed: seed(), kills: KILLS, outcomes })}\n`);
});
