import { expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { applyReported, NOTHING_WATCHED } from '../../../src/bot/intake/apply-reported.ts';
import type { Platform } from '../../../src/bot/platform.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { listedAt, startTestConsole } from '../../helpers/console/test-console.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const GROUP = 'S0614TZR7';
const SECOND = 1000;

/** A platform with one channel, its messages as text, and their mentions. */
interface Channel {
  platform: Platform;
  channel: string;
  mention: string;
  messages: () => Promise<Array<{ text: string; called: readonly string[] }>>;
}

async function openSlack(): Promise<Channel> {
  const { fake, slack } = await makeSlack();
  return {
    ...{ platform: slack, channel: CHANNEL, mention: GROUP },
    messages: async () =>
      fake
        .messages(CHANNEL)
        .map(({ blocks, called = [] }) => ({ text: JSON.stringify(blocks), called })),
  };
}

async function openDiscord(): Promise<Channel> {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const { platform } = await startPlatform(discord, bot);
  const { id: mention } = discord.addRole({ name: 'on call', mentionable: true });
  return {
    ...{ platform, channel: discord.general.id, mention },
    messages: async () =>
      discord.channel(discord.general.id).map(({ embeds, components, rang }) => ({
        text: JSON.stringify([embeds, components]),
        called: rang,
      })),
  };
}

/** Without a mention. */
async function openConsole(): Promise<Channel> {
  const { console, url } = await startTestConsole();
  return {
    ...{ platform: console, channel: 'general', mention: GROUP },
    messages: async () =>
      (await listedAt(url)).map(({ body }) => ({ text: JSON.stringify(body), called: [GROUP] })),
  };
}

test.each([
  { name: 'Slack', open: openSlack },
  { name: 'Discord', open: openDiscord },
  { name: 'the console', open: openConsole },
])(
  'An outage 100 s after two others, and another system’s alert, are new messages with their facts and mention: $name',
  async ({ open }) => {
    const { platform, channel, mention, messages } = await open();
    const { log } = recordingLog();
    const store = await openTestStore({ log });
    const state = await openWatchState(store);
    const clock = createHandClock(Date.now());
    const place = placeKey({ platform: platform.name, channel });
    const sender = createSender({
      ...{ state, alertPlaces: [], clock, random: () => 0.5, log },
      settingsOf: async () => ({ mention: { id: mention, name: '@oncall' } }),
    });
    sender.start([platform]);
    onTestFinished(async () => {
      await sender.stop();
      await store.close();
    });
    let made = 0;
    const around = () => ({
      ...{ nowMs: clock.nowMs(), newId: () => `incident-${++made}` },
      placesFor: () => [place],
    });
    const down = new Set<string>();
    const poll = async () => {
      const monitors = ['Blog', 'Database', 'Payments'].map(
        (name): Monitor => ({
          ...{ id: name, name, check_type: 'HTTP', target: `https://${name}.example` },
          ...{ status: down.has(name) ? 'DOWN' : 'UP', interval_seconds: 60 },
        }),
      );
      await state.update((watching) => applyPoll(watching, monitors, around()).watching);
      sender.wake();
    };
    const isPosted = (count: number) =>
      eventually(
        async () =>
          (await messages()).length === count &&
          state
            .current()
            ?.alerts.every(({ deliveries }) => deliveries.every(({ posted }) => posted)) === true,
      );
    await poll();
    down.add('Blog');
    await poll();
    await isPosted(1);
    clock.goOn(25 * SECOND);
    down.add('Database');
    await poll();
    await isPosted(2);
    clock.goOn(55 * SECOND);
    const alert = {
      ...({ key: 'latency', name: 'HighLatency', state: 'firing', severity: 'critical' } as const),
      facts: [{ label: 'host', value: 'db-1' }],
      links: [{ label: 'Graph', url: 'https://prometheus.example/graph' }],
    };
    const intake = { id: 'i1', name: 'Alertmanager', place };
    await state.update(
      (watching = NOTHING_WATCHED) =>
        applyReported(watching, [{ intake, alerts: [alert], truncated: 0 }], around()).watching,
    );
    sender.wake();
    await isPosted(3);
    clock.goOn(20 * SECOND);
    down.add('Payments');
    await poll();
    await isPosted(4);

    const shown = await messages();
    for (const { called } of shown) expect(called).toEqual([mention]);
    const [, database, latency, payments] = shown.map(({ text }) => text);
    for (const text of [database, payments]) {
      expect(text).toContain('Since');
      expect(text).toContain('Check now');
    }
    expect(payments).toContain('payments.example');
    expect(latency).toContain('HighLatency');
    expect(latency).toContain('db-1');
    expect(latency).toContain('https://prometheus.example/graph');
    expect(payments).not.toContain('HighLatency');
  },
);
