import { ChannelType, MessageFlags } from 'discord.js';
import { describe, expect, test } from 'vitest';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeChannel, FakeMessage } from '../../fakes/discord/state.ts';
import type { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startTestBot, type TestBotOptions } from '../../helpers/bot.ts';
import { labelsOf } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';

const ANSWER = 'Hello from the fake provider.';
const SUMMARISE = 'Write a postmortem draft of this incident';
const WHY = 'Why is this down, and what should we look at first?';

/** A bot whose alerts go to one channel, and everything a test looks at. */
async function startIn(discord: DiscordFake, channel: FakeChannel, options: TestBotOptions = {}) {
  const alertPlaces = [{ platform: 'discord' as const, channel: channel.id }];
  const running = await startTestBot({ settings: { alertPlaces }, ...options });
  const started = await startPlatform(discord, running.bot);
  await running.bot.start([started.platform]);
  const textsIn = (id: string) => discord.channel(id).map(({ content }) => content);
  /** The last prompt by roles. */
  const said = (...roles: string[]) => {
    const all: Array<{ role: string; content: string }> =
      running.provider.calls.at(-1)?.body.messages ?? [];
    return all.filter(({ role }) => roles.includes(role)).map(({ content }) => content);
  };
  return {
    ...running,
    ...started,
    said,
    /** The texts of a channel or thread once it has so many messages and the last one is whole. */
    answered: (id: string, count: number) =>
      eventually(() => {
        const texts = textsIn(id);
        return texts.length === count && texts.at(-1)?.includes('-# test-model') && texts;
      }),
  };
}

async function startWithAlert(where?: (discord: DiscordFake) => FakeChannel) {
  const discord = await startDiscord();
  const channel = where?.(discord) ?? discord.general;
  const running = await startIn(discord, channel);
  const alert = await alertOf(discord, channel, running.service);
  // That it was posted is noted a moment after it is seen.
  const place = { platform: 'discord' as const, channel: channel.id };
  await eventually(() => running.bot.isConversation(place, alert.id));
  return { discord, ...running, alert };
}

async function alertOf(
  discord: DiscordFake,
  channel: FakeChannel,
  service: Awaited<ReturnType<typeof startMonitoringService>>,
): Promise<FakeMessage> {
  const shop = service.add({ name: 'Shop' });
  const asked = service.requests.length;
  await eventually(() => service.requests.length > asked + 1);
  service.setStatus(shop.id, 'DOWN');
  return await eventually(() => discord.channel(channel.id)[0]);
}

const isEphemeral = ({ flags }: FakeMessage) => (flags & MessageFlags.Ephemeral) !== 0;

/** Posts rows of buttons as something else with the same token does, such as an Askwatch of another version. */
function postRows(discord: DiscordFake, channel: FakeChannel, rows: unknown[][]) {
  const components = rows.map((buttons) => ({ type: 1, components: buttons }));
  return fetch(`${discord.api}/v10/channels/${channel.id}/messages`, {
    method: 'POST',
    headers: { authorization: `Bot ${discord.settings.token}` },
    body: JSON.stringify({ content: 'Buttons', components }),
  });
}

const button = (custom_id: string, more = {}) => ({
  ...{ type: 2, style: 2, label: custom_id, custom_id },
  ...more,
});

/** A message with buttons that are labelled with what they carry. */
async function postButtons(discord: DiscordFake, channel: FakeChannel, customIds: string[]) {
  const response = await postRows(discord, channel, [customIds.map((id) => button(id))]);
  expect(response.status).toBe(200);
  return (await response.json()) as { id: string };
}

/** The alert with the button that it has once it is over: another question than the one a moment ago. */
function withSummarise(alert: FakeMessage): FakeMessage {
  for (const one of alert.components.flatMap((row) => row.components)) {
    if (one.label !== 'Ask why') continue;
    one.label = 'Summarise';
    one.custom_id = one.custom_id?.replace('incident why', 'incident summary') ?? '';
  }
  return alert;
}

describe('a press under an alert', () => {
  test('a press with a locked thread gets a private note', async () => {
    const { discord, alert, provider } = await startWithAlert();
    discord.press(alert, 'Ask why');
    const thread = await discord.thread(alert.id);
    await eventually(() => provider.calls.length === 1);
    thread.thread_metadata = { archived: true, locked: true, auto_archive_duration: 60 };
    const user = discord.addUser('bob');
    const pressed = discord.press(withSummarise(alert), 'Summarise', { user });
    const told = await eventually(() => pressed.followUps[0]);
    expect(told.content).toMatch(/couldn’t (show|post)/);
    expect(isEphemeral(told)).toBe(true);
    expect(discord.channel(discord.general.id)).toEqual([alert]);
  });
});

test.each(['CreatePublicThreads' as const, ...(long ? ['SendMessagesInThreads' as const] : [])])(
  'without %s the answer comes in the channel, and presses and replies go on with it',
  async (permission) => {
    const { discord, alert, answered, said } = await startWithAlert();
    discord.deny(discord.general, permission);
    const pressed = discord.press(alert, 'Ask why');
    const texts = await answered(discord.general.id, 3);
    expect(texts[1]).toBe(`**Alice** asked: ${WHY}`);
    expect(texts[2]).toContain(ANSWER);
    expect(said('system').join()).toContain('Monitor: Shop');
    discord.press(withSummarise(alert), 'Summarise', { user: discord.addUser('bob') });
    await answered(discord.general.id, 5);
    const [, answer] = pressed.followUps;
    discord.say('And now?', { mention: true, replyTo: answer });
    await answered(discord.general.id, 7);
    const summarise = expect.stringContaining(SUMMARISE);
    // Missing headings of the postmortem are below it.
    const drafted = expect.stringContaining(`${ANSWER}\n\n## Summary`);
    expect(said('user', 'assistant')).toEqual([WHY, ANSWER, summarise, drafted, 'And now?']);
    expect(discord.threads()).toEqual([]);
  },
);

/** A card with a button, as a reply to the alert. */
async function postUnder({ platform, alert }: Awaited<ReturnType<typeof startWithAlert>>) {
  const { channel_id: channel, id } = alert;
  const actions = [{ label: 'Ask', command: 'ask', values: { question: 'Which disk?' } }];
  const card = { tone: 'info' as const, title: 'Looked into it', parts: [], actions };
  const under = { message: id, thread: id };
  const { message } = await platform.post({
    ...{ channel, under, card, id: 'a1/findings', attempted: false },
  });
  return message;
}

test('a press on a card under an alert, and a reply to it, belong to the alert’s conversation', async () => {
  const running = await startWithAlert();
  const { discord, alert, answered, said } = running;
  const message = await postUnder(running);
  discord.press({ id: message }, 'Ask');
  await answered(alert.id, 2);
  expect(said('system').join()).toContain('Monitor: Shop');
  const findings = discord.channel(discord.general.id).find(({ id }) => id === message);
  discord.say('And why?', { replyTo: findings });
  await answered(alert.id, 4);
  expect(said('system').join()).toContain('Monitor: Shop');
  expect(said('user', 'assistant')).toEqual(['Which disk?', ANSWER, 'And why?']);
  expect(discord.threads().map(({ id }) => id)).toEqual([alert.id]);
});

test('a press on a card under an alert in a thread belongs to the alert’s conversation', async () => {
  const running = await startWithAlert((fake) => {
    const parent_id = fake.general.id;
    return fake.addChannel({ type: ChannelType.PublicThread, parent_id, name: 'ops' });
  });
  const { discord, alert, answered, said } = running;
  const [channel] = discord.threads();
  if (channel) discord.gateway.dispatch('THREAD_CREATE', channel, 1);
  discord.press({ id: await postUnder(running) }, 'Ask');
  await answered(alert.channel_id, 4);
  expect(said('system').join()).toContain('Monitor: Shop');
});

test('alone with the bot the answer comes right there, knows the incident, and a reply goes on', async () => {
  const { discord, alert, answered, said } = await startWithAlert((fake) =>
    fake.directChannel(fake.alice),
  );
  const channel = alert.channel_id;
  discord.press(alert, 'Ask why');
  const texts = await answered(channel, 3);
  expect(texts[1]).toBe(`**Alice** asked: ${WHY}`);
  expect(said('system').join()).toContain('Monitor: Shop');
  const answer = discord.channel(channel)[2];
  const direct = { id: channel } as FakeChannel;
  discord.say('And now?', { channel: direct, replyTo: answer });
  await answered(channel, 5);
  expect(said('user', 'assistant')).toEqual([WHY, ANSWER, 'And now?']);
});
test('an alert that is posted into a thread is answered there, and knows the incident', async () => {
  const { discord, bot, alert, answered, said } = await startWithAlert((fake) => {
    const parent_id = fake.general.id;
    return fake.addChannel({ type: ChannelType.PublicThread, parent_id, name: 'ops' });
  });
  const channel = discord.threads()[0] as FakeChannel;
  discord.gateway.dispatch('THREAD_CREATE', channel, 1);
  // That it was posted is noted a moment after it is seen.
  const place = { platform: 'discord' as const, channel: channel.id };
  await eventually(() => bot.isConversation(place, alert.id));
  discord.press(alert, 'Ask why');
  const texts = await answered(channel.id, 3);
  expect(texts[1]).toBe(`**Alice** asked: ${WHY}`);
  expect(said('system').join()).toContain('Monitor: Shop');
  discord.say(`<@${discord.bot.id}> And now?`, { channel, replyTo: alert });
  await answered(channel.id, 5);
  expect(said('system').join()).toContain('Monitor: Shop');
  expect(said('user', 'assistant')).toEqual([WHY, ANSWER, 'And now?']);
});
test('a press whose time is over is dropped', async () => {
  const { discord, alert, lines } = await startWithAlert();
  const late = discord.press(alert, 'Acknowledge', { createdAtMs: Date.now() - 31_000 });
  await eventually(() =>
    lines.some(({ msg }) => msg === 'could not acknowledge an interaction; dropping it'),
  );
  discord.press(alert, 'Snooze 1 h');
  await eventually(() => JSON.stringify(alert.embeds).includes('Snoozed by'));
  expect(labelsOf(alert)).toContain('Acknowledge');
  expect(JSON.stringify(lines)).not.toContain(late.token);
});

test('a foreign button is acknowledged, and does nothing', async () => {
  const { discord, alert, lines } = await startWithAlert();
  const shown = JSON.stringify(alert);
  const strange = ['?', 'incident acknowledge', 'a?b?c', '💥'.repeat(40), '@everyone'];
  const posted = await postButtons(discord, discord.general, strange);
  const pressed = strange.map((label) => discord.press(posted, label));
  await eventually(() => pressed.every(({ acknowledged }) => acknowledged));
  await eventually(() => lines.filter(({ msg }) => String(msg).includes('unknown')).length === 5);
  expect(pressed.flatMap(({ followUps }) => followUps)).toEqual([]);
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  expect(JSON.stringify(alert)).toBe(shown);
});

test('a button with values that mean nothing is explained to who pressed only', async () => {
  const { discord, alert, lines } = await startWithAlert();
  const shown = JSON.stringify(alert);
  const strange = [
    'incident acknowledge?incident=none',
    'incident acknowledge?incident=%40everyone&incident=%ff',
    'incident check?',
    'no such thing?@everyone=<@1>',
    '__proto__?__proto__=1',
  ];
  const posted = await postButtons(discord, discord.general, strange);
  for (const label of strange) {
    const pressed = discord.press(posted, label);
    const told = await eventually(() => pressed.followUps[0]);
    expect(isEphemeral(told)).toBe(true);
    expect(told).toMatchObject({ mention_everyone: false, mentions: [] });
  }
  expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  expect(JSON.stringify(alert)).toBe(shown);
  expect(discord.channel(discord.general.id)).toHaveLength(2);
});
test('the fake refuses the buttons that Discord would refuse', async () => {
  const discord = await startDiscord({ limit: false });
  const post = async (rows: unknown[][]) => (await postRows(discord, discord.general, rows)).status;
  const row = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => button(`${name}${index}`));
  const five = ['a', 'b', 'c', 'd', 'e'];
  expect(await post(five.map((name) => row(name, 5)))).toBe(200);
  expect(await post([[button('x'.repeat(100), { label: 'x'.repeat(80) })]])).toBe(200);
  const link = (url: string) => ({ type: 2, style: 5, label: 'a', url });
  const longest = 'https://a.example/'.padEnd(512, 'x');
  expect(await post([[link(longest), link(longest)]])).toBe(200);
  for (const refused of [
    [...five, 'f'].map((name) => row(name, 1)),
    [row('a', 6)],
    [[]],
    [[button('a')], [button('a')]],
    [[button('x'.repeat(101), { label: 'x' })]],
    [[button('', { label: 'x' })]],
    [[button('a', { label: 'x'.repeat(81) })]],
    [[button('a', { label: '' })]],
    [[button('a', { style: 9 })]],
    [[button('a', { type: 77 })]],
    [[button('a', { url: 'https://a.example' })]],
    [[button('a', { style: 5, url: 'https://a.example' })]],
    [[link('')]],
    [[link('javascript:alert(1)')]],
    [[link('https://a.example/'.padEnd(513, 'x'))]],
  ]) {
    expect(await post(refused)).toBe(400);
  }
});
