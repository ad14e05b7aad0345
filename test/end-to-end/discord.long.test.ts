import { describe, expect, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../fakes/discord/discord.ts';
import type { Fault } from '../fakes/discord/http.ts';
import type { FakeMessage } from '../fakes/discord/state.ts';
import { sharedAskwatch, spawnAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import {
  answerIn,
  discordEnv,
  isDown,
  questionShown,
  textOf,
} from '../helpers/end-to-end/discord-program.ts';
import { startModel, startWatched } from '../helpers/end-to-end/services.ts';
import { eventually } from '../helpers/eventually.ts';
import { createRandom } from '../helpers/random.ts';
import { seed } from '../helpers/seed.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

describe('one program, killed with -9 again and again', () => {
  const kills = 60;
  const random = createRandom(seed());
  let discord: DiscordFake;
  let model: Awaited<ReturnType<typeof startModel>>['model'];
  let service: Awaited<ReturnType<typeof startWatched>>['service'];
  const askwatch = sharedAskwatch(async (atEnd) => {
    discord = await startDiscord({ atEnd });
    const answering = await startModel(atEnd);
    const watched = await startWatched(`discord:${discord.general.id}`, atEnd);
    ({ model } = answering);
    ({ service } = watched);
    for (const name of ['Stored.', 'Forgotten.', 'Lost.']) service.add({ name });
    for (let kill = 0; kill <= kills; kill += 1) service.add({ name: `Shop ${kill}.` });
    return { ...discordEnv(discord), ...answering.env, ...watched.env };
  });

  const messages = () => discord.channel(discord.general.id);
  const alerts = () => messages().filter((message) => message.message_reference === undefined);
  const told = (name: string) => alerts().filter((alert) => textOf(alert).includes(name));
  const linesUnder = ({ id }: FakeMessage) =>
    messages().filter((message) => message.message_reference?.message_id === id);

  /** A monitor goes down, the program is killed some time after that and started again, and the monitor comes back. */
  async function killInOutage(name: string, killTime: () => Promise<unknown>) {
    await eventually(() => service.requests.length > 1);
    const before = alerts().length;
    const { id } = service.monitors.find((monitor) => monitor.name === name) ?? { id: '' };
    const isTime = killTime();
    service.setStatus(id, 'DOWN');
    await isTime;
    await askwatch().restart();
    const alert = await eventually(() => told(name)[0]);
    service.setStatus(id, 'UP');
    await eventually(() => !isDown(alert));
    // Time for the line under it that says that it is over, so that the next fault meets an alert.
    const looks = service.requests.length;
    await eventually(() => service.requests.length > looks + 2);
    expect(linesUnder(alert).length).toBeLessThanOrEqual(1);
    expect(told(name)).toHaveLength(1);
    expect(alerts()).toHaveLength(before + 1);
  }

  /** When the next message is posted to a channel, which meets the fault. */
  async function postMeets(fault: Fault) {
    const posting = { method: 'POST', path: /^\/channels\/\d+\/messages$/ };
    const posts = () =>
      discord.requests.filter(
        ({ method, path }) => method === posting.method && posting.path.test(path),
      ).length;
    const before = posts();
    discord.fail({ ...posting, ...fault });
    await eventually(() => posts() > before);
  }

  test('a kill while Discord stores an alert causes no duplicate', async () => {
    await killInOutage('Stored.', () => postMeets({ hang: true, applied: true }));
  });

  test('nor does it when Discord has forgotten the nonce by then', async () => {
    const { nonceWindowMs } = discord.settings;
    discord.settings.nonceWindowMs = 0;
    await killInOutage('Forgotten.', () => postMeets({ hang: true, applied: true }));
    discord.settings.nonceWindowMs = nonceWindowMs;
  });

  test('an alert that Discord has not accepted before a kill is posted after the restart', async () => {
    await killInOutage('Lost.', () => postMeets({ hang: true }));
  });

  test('kills at random moments leave one true alert per outage', async () => {
    // A different monitor each time, because repeated outages count as flapping.
    for (let kill = 1; kill <= kills; kill += 1) {
      await killInOutage(`Shop ${kill}.`, async () => {
        // Anywhere between the change and well after its alert.
        const killAtMs = performance.now() + random() * 2_500;
        await eventually(() => performance.now() >= killAtMs);
      });
    }
  }, 900_000);

  test('a conversation continues after a kill in the middle of an answer', async () => {
    const thread = await questionShown(discord.slash('ask', { question: 'First' }));
    await answerIn(discord, thread, 1);
    model.answerWith(['One ', 'two ', 'three.'], { chunkMs: 300 });
    const channel = await discord.thread(thread);
    discord.say('Second', { channel, mention: true });
    await eventually(() => discord.channel(thread).length === 3);
    await askwatch().restart();
    model.answerWith('Here again.');
    discord.say('Third', { channel, mention: true });
    expect(await answerIn(discord, thread, 5)).toContain('Here again.');
    const said: { role: string; content: string }[] = model.calls.at(-1)?.body.messages;
    expect(said.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'First',
      'Third',
    ]);
  });

  test('a token that is revoked while it runs ends it for good, with one sentence', async () => {
    discord.settings.token = 'another';
    const { id } = service.monitors.find(({ name }) => name === 'Shop 0.') ?? { id: '' };
    service.setStatus(id, 'DOWN');
    expect(await askwatch().exit).toBe(1);
    expect(askwatch().output()).toMatch(/DISCORD_TOKEN/);
  });
});

describe('what Discord refuses at the start', () => {
  test.each([
    ['a token', { DISCORD_TOKEN: 'not.the.token' }, /DISCORD_TOKEN/],
    ['an intent', { DISCORD_MESSAGE_CONTENT: 'true' }, /DISCORD_MESSAGE_CONTENT/],
    ['a server', { DISCORD_GUILD_ID: '123456789012345678' }, /DISCORD_GUILD_ID/],
  ])('%s ends the program with one sentence and code 1', async (_what, env, sentence) => {
    const discord = await startDiscord();
    const child = spawnAskwatch({
      dataDir: await temporaryFolder(),
      env: { ...discordEnv(discord), ...env },
    });
    expect(await child.exit).toBe(1);
    expect(child.output()).toMatch(sentence);
    expect(child.output()).not.toMatch(/^ +at /m);
  });
});
