import { describe, expect, onTestFinished, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../fakes/discord.ts';
import type { Fault } from '../fakes/discord-http.ts';
import type { FakeInteraction } from '../fakes/discord-interactions.ts';
import type { FakeMessage } from '../fakes/discord-state.ts';
import { startModelProvider } from '../fakes/model-provider.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { spawnAskwatch, startAskwatch } from './askwatch-process.ts';

const long = process.env.ASKWATCH_TEST_LONG === '1';

const discordEnv = (discord: DiscordFake) => ({
  DISCORD_TOKEN: discord.settings.token,
  DISCORD_GUILD_ID: discord.guildId,
  DISCORD_API_URL: discord.api,
});

/** A model behind the gateway's contract, for as long as the test runs. */
async function startModel() {
  const model = await startModelProvider();
  onTestFinished(() => model.close());
  return { model, env: { GATEWAY_BASE_URL: model.url, GATEWAY_API_KEY: model.apiKey } };
}

/** A monitoring service whose monitors' statuses the test sets; alerts go to the first channel. */
async function startWatched(discord: DiscordFake) {
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  const env = {
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    ALERT_CHANNELS: `discord:${discord.general.id}`,
    ALERT_POLL_SECONDS: '1',
  };
  return { service, env };
}

const waitFor = <T>(condition: () => T) => eventually(condition, { withinMs: 40_000 });
const textOf = ({ content, embeds }: FakeMessage) => `${content} ${JSON.stringify(embeds)}`;
/** Whether an alert says that the outage goes on. */
const isDown = (alert: FakeMessage) => /is DOWN/.test(textOf(alert));
const questionShown = (asked: FakeInteraction) =>
  waitFor(() => asked.reply?.content && asked.reply.id);

/** The last message of a thread with so many, once its answer is whole. */
async function answerIn(discord: DiscordFake, thread: string, count: number): Promise<string> {
  return await waitFor(() => {
    const texts = discord.channel(thread).map(({ content }) => content);
    return texts.length === count && texts.at(-1)?.includes('-# test-model') && texts.at(-1);
  });
}

test('ask, go on asking, add a monitor, list it, and be told when it goes down and comes back', async () => {
  const discord = await startDiscord();
  const { model, env } = await startModel();
  const target = await startWebTarget();
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      ...discordEnv(discord),
      ...env,
      MONITOR_ALLOW_PRIVATE: '127.0.0.1/32',
      ALERT_POLL_SECONDS: '1',
    },
  });

  model.answerWith('Light is scattered.', { chunkMs: 10 });
  const asked = discord.slash('ask', { question: 'why is the sky blue?' });
  const thread = await questionShown(asked);
  expect(await answerIn(discord, thread, 1)).toContain('Light is scattered.');

  model.answerWith('Then it travels further.');
  discord.say('and at sunset?', { channel: await discord.thread(thread), mention: true });
  expect(await answerIn(discord, thread, 3)).toContain('Then it travels further.');
  const said: { content: string }[] = model.calls[1]?.body.messages;
  expect(said.map(({ content }) => content)).toEqual(
    expect.arrayContaining(['why is the sky blue?', 'Light is scattered.', 'and at sunset?']),
  );

  const added = discord.slash('monitor add', { target: target.url, name: 'Shop', interval: 5 });
  await waitFor(() => added.reply && textOf(added.reply).includes('Now watching Shop'));
  const listed = discord.slash('monitor list');
  await waitFor(() => listed.reply && /UP +Shop/.test(textOf(listed.reply)));

  const known = discord.channel(discord.general.id).length;
  await target.stop();
  const alert = await waitFor(() => discord.channel(discord.general.id)[known]);
  expect(textOf(alert)).toContain('Shop is DOWN');
  await target.startAgain();
  await waitFor(() => !isDown(alert));
  expect(discord.channel(discord.general.id)).toHaveLength(known + 1);

  expect(await askwatch.stop()).toBe(0);
  expect(discord.gateway.connected()).toBe(0);
  expect(askwatch.output()).not.toContain(discord.settings.token);
}, 90_000);

describe('killed with -9', () => {
  /** Runs until an alert meets the fault, kills the program there, and starts it again. */
  async function killAtPost(fault: Fault, nonceWindowMs: number) {
    const discord = await startDiscord({ nonceWindowMs });
    const { service, env } = await startWatched(discord);
    const shop = service.add({ name: 'Shop' });
    const options = { dataDir: await temporaryFolder(), env: { ...discordEnv(discord), ...env } };
    const first = await startAskwatch(options);
    await waitFor(() => service.requests.length > 1);
    const posting = { method: 'POST', path: /^\/channels\/\d+\/messages$/ };
    discord.fail({ ...posting, ...fault });
    service.setStatus(shop.id, 'DOWN');
    const isPost = ({ method, path }: { method: string; path: string }) =>
      method === posting.method && posting.path.test(path);
    await waitFor(() => discord.requests.some(isPost));
    await first.kill();
    await startAskwatch(options);
    const alert = await waitFor(() => discord.channel(discord.general.id)[0]);
    service.setStatus(shop.id, 'UP');
    await waitFor(() => !isDown(alert));
    expect(discord.channel(discord.general.id)).toHaveLength(1);
  }

  test('while Discord stores an alert and cannot say so, it does not tell twice', async () => {
    await killAtPost({ hang: true, applied: true }, 300_000);
  }, 60_000);

  test.runIf(long)(
    'nor does it when Discord has forgotten the nonce by then',
    async () => {
      await killAtPost({ hang: true, applied: true }, 0);
    },
    60_000,
  );

  test('before Discord took an alert, it tells it after the restart', async () => {
    await killAtPost({ hang: true }, 300_000);
  }, 60_000);

  test(
    'at any moment, it tells each outage once and in the end the truth',
    async () => {
      const kills = long ? 60 : 1;
      const discord = await startDiscord();
      const { service, env } = await startWatched(discord);
      const shop = service.add({ name: 'Shop' });
      const options = { dataDir: await temporaryFolder(), env: { ...discordEnv(discord), ...env } };
      let askwatch = await startAskwatch(options);
      await waitFor(() => service.requests.length > 1);
      const alerts = () => discord.channel(discord.general.id);
      for (let outage = 1; outage <= kills; outage += 1) {
        service.setStatus(shop.id, 'DOWN');
        // Anywhere between the change and well after its alert.
        const killAtMs = performance.now() + Math.random() * 2_500;
        await waitFor(() => performance.now() >= killAtMs);
        await askwatch.kill();
        askwatch = await startAskwatch(options);
        const alert = await waitFor(() => alerts()[outage - 1]);
        expect(textOf(alert)).toMatch(/Shop/);
        service.setStatus(shop.id, 'UP');
        await waitFor(() => !isDown(alert));
        expect(alerts()).toHaveLength(outage);
      }
    },
    long ? 900_000 : 90_000,
  );

  test('in the middle of an answer, it goes on with the conversation after the restart', async () => {
    const discord = await startDiscord();
    const { model, env } = await startModel();
    const options = { dataDir: await temporaryFolder(), env: { ...discordEnv(discord), ...env } };
    const first = await startAskwatch(options);
    const thread = await questionShown(discord.slash('ask', { question: 'First' }));
    await answerIn(discord, thread, 1);
    model.answerWith(['One ', 'two ', 'three.'], { chunkMs: 300 });
    const channel = await discord.thread(thread);
    discord.say('Second', { channel, mention: true });
    await waitFor(() => discord.channel(thread).length === 3);
    await first.kill();
    await startAskwatch(options);
    model.answerWith('Here again.');
    discord.say('Third', { channel, mention: true });
    expect(await answerIn(discord, thread, 5)).toContain('Here again.');
    const said: { role: string; content: string }[] = model.calls.at(-1)?.body.messages;
    expect(said.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'First',
      'Third',
    ]);
  }, 60_000);
});

test('SIGTERM in the middle of an answer ends it with a note, and the program with code 0', async () => {
  const discord = await startDiscord();
  const { model, env } = await startModel();
  model.answerWith(
    Array.from({ length: 2_000 }, (_, index) => `w${index} `),
    { chunkMs: 20 },
  );
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: { ...discordEnv(discord), ...env },
  });
  const thread = await questionShown(discord.slash('ask', { question: 'Count' }));
  await waitFor(() => discord.channel(thread)[0]?.content.startsWith('w0 w1 '));
  const startMs = performance.now();
  expect(await askwatch.stop()).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(10_000);
  const [answer] = discord.channel(thread);
  expect(answer?.content).toMatch(/^w0 [\s\S]*\n\*Askwatch is restarting.*\*\n-# test-model/);
}, 60_000);

describe('what Discord refuses at the start', () => {
  test.each([
    ['a token', { DISCORD_TOKEN: 'not.the.token' }, /DISCORD_TOKEN/],
    ['an intent', { DISCORD_MESSAGE_CONTENT: 'true' }, /DISCORD_MESSAGE_CONTENT/],
    ['a server', { DISCORD_GUILD_ID: '123456789012345678' }, /DISCORD_GUILD_ID/],
  ])(
    '%s ends the program with one sentence and code 1',
    async (_what, env, sentence) => {
      const discord = await startDiscord();
      const child = spawnAskwatch({
        dataDir: await temporaryFolder(),
        env: { ...discordEnv(discord), ...env },
      });
      expect(await child.exit).toBe(1);
      expect(child.output()).toMatch(sentence);
      expect(child.output()).not.toMatch(/^ +at /m);
    },
    60_000,
  );
});

test('a token that is revoked while the program runs ends it with one sentence', async () => {
  const discord = await startDiscord();
  const { service, env } = await startWatched(discord);
  const shop = service.add({ name: 'Shop' });
  const child = spawnAskwatch({
    dataDir: await temporaryFolder(),
    env: { ...discordEnv(discord), ...env },
  });
  await waitFor(() => service.requests.length > 1);
  discord.settings.token = 'another';
  service.setStatus(shop.id, 'DOWN');
  expect(await child.exit).toBe(1);
  expect(child.output()).toMatch(/DISCORD_TOKEN/);
}, 60_000);
