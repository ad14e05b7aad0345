import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { shownIn } from '../../fakes/discord/forms.ts';
import type { FakeInteraction } from '../../fakes/discord/interactions.ts';
import { startTestBot, type TestBotOptions } from '../../helpers/bot.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

async function start(options: TestBotOptions & { change?: (bot: Bot) => Bot } = {}) {
  const { change = (bot: Bot) => bot } = options;
  const discord = await startDiscord();
  const running = await startTestBot(options);
  await startPlatform(discord, change(running.bot));
  const grace = discord.addUser('grace');
  const role = discord.grant(grace, 'ManageChannels');
  /** The first input of the form that a gesture opened. */
  async function inputOf(interaction: FakeInteraction) {
    const { components } = await eventually(() => interaction.form);
    if (!components[0]) throw new Error('The form is empty');
    return components[0];
  }
  /** The card that a gesture got, once it is there. */
  const cardOf = (interaction: FakeInteraction) =>
    eventually(() => [interaction.reply, ...interaction.followUps].find((one) => one?.embeds[0]));
  return { discord, ...running, grace, role, inputOf, cardOf };
}

test('“/askwatch model” alone opens a form with today’s model and all there are', async () => {
  const { discord, grace: user, inputOf, cardOf } = await start();
  const opened = discord.slash('askwatch model', {}, { user });
  const { component, description } = await inputOf(opened);
  expect(opened.form?.title).toBe("This channel's model");
  expect(component.options?.map(({ value }) => value)).toEqual([
    'default',
    'test-model',
    'test-vision',
  ]);
  expect(shownIn(component)).toBe('default');
  expect(description).toContain('now test-model');
  const sent = discord.send(opened, { model: 'test-vision' });
  const card = await cardOf(sent);
  expect(card.embeds[0]?.title).toBe('test-vision answers here from now on');
  expect(card.flags & MessageFlags.Ephemeral).toBe(0);
  const again = await inputOf(discord.slash('askwatch model', {}, { user }));
  expect(shownIn(again.component)).toBe('test-vision');
});

test('“/askwatch prompt” alone opens a form with today’s prompt, in several lines', async () => {
  const { discord, grace: user, inputOf, cardOf } = await start();
  const opened = discord.slash('askwatch prompt', {}, { user });
  expect(shownIn((await inputOf(opened)).component)).not.toBe('');
  const prompt = 'Be brief.\n@everyone & [here](https://evil.example)';
  await cardOf(discord.send(opened, { prompt }));
  const { component } = await inputOf(discord.slash('askwatch prompt', {}, { user }));
  expect(component.style).toBe(2);
  expect(shownIn(component)).toBe(prompt);
  expect(discord.messages().flatMap(({ rang }) => rang)).toEqual([]);
});

test('who may not change it is told what is set, and so is everybody by the word show', async () => {
  const { discord, grace, cardOf } = await start();
  for (const interaction of [
    discord.slash('askwatch model'),
    discord.slash('askwatch model', { model: 'show' }, { user: grace }),
  ]) {
    const card = await cardOf(interaction);
    expect(card.embeds[0]?.title).toBe('test-model answers here');
    expect(card.flags & MessageFlags.Ephemeral).toBe(MessageFlags.Ephemeral);
    expect(interaction.form).toBeUndefined();
  }
});

test('who managed the channel when the form opened, and does not when it is sent, changes nothing', async () => {
  const { discord, grace: user, inputOf, cardOf } = await start();
  const opened = discord.slash('askwatch model', {}, { user });
  await inputOf(opened);
  discord.takeRoles(user);
  const refused = await cardOf(discord.send(opened, { model: 'test-vision' }));
  expect(JSON.stringify(refused.embeds)).toContain('Only people who can manage this channel can');
  expect(refused.flags & MessageFlags.Ephemeral).toBe(MessageFlags.Ephemeral);
  // Nor does the form open again for them.
  const pressed = discord.press(refused, 'Reopen the form', { user });
  const told = await cardOf(pressed);
  expect(JSON.stringify(told.embeds)).toContain('Only people who can manage this channel can');
  expect(pressed.form).toBeUndefined();
  const shown = await cardOf(discord.slash('askwatch model'));
  expect(shown.embeds[0]?.title).toBe('test-model answers here');
});

test('of more models than a form can offer, one is typed', async () => {
  const models = Array.from({ length: 30 }, (_, index) => `model-${index}`);
  const { discord, grace: user, inputOf, cardOf } = await start({ models });
  const opened = discord.slash('askwatch model', {}, { user });
  expect((await inputOf(opened)).component.options).toBeUndefined();
  const wrong = await cardOf(discord.send(opened, { model: 'model-99' }));
  const again = discord.press(wrong, 'Reopen the form', { user });
  // As it was filled in, not as it began.
  expect(shownIn((await inputOf(again)).component)).toBe('model-99');
  const right = await cardOf(discord.send(again, { model: 'model-29' }));
  expect(right.embeds[0]?.title).toBe('model-29 answers here from now on');
});

test('a prompt too long for a form is shown', async () => {
  const askSystemPrompt = 'Be brief. '.repeat(500).trim();
  const { discord, grace: user, cardOf } = await start({ settings: { askSystemPrompt } });
  const interaction = discord.slash('askwatch prompt', {}, { user });
  expect(JSON.stringify((await cardOf(interaction)).embeds)).toContain('uses the default prompt');
  expect(interaction.form).toBeUndefined();
});

test('what is not known in time is shown later, without a form', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const change = (bot: Bot): Bot => ({
    ...bot,
    openForm: (...asked) => held.then(() => bot.openForm(...asked)),
  });
  const { discord, grace: user, cardOf } = await start({ change });
  const interaction = discord.slash('askwatch model', {}, { user });
  const card = await cardOf(interaction);
  expect(card.embeds[0]?.title).toBe('test-model answers here');
  release();
  expect(interaction.form).toBeUndefined();
});
