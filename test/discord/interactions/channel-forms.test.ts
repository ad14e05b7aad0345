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

test('one of many models is typed in the form', async () => {
  const models = Array.from({ length: 30 }, (_, index) => `model-${index}`);
  const { discord, grace: user, inputOf, cardOf } = await start({ models });
  const opened = discord.slash('askwatch model', {}, { user });
  expect((await inputOf(opened)).component.options).toBeUndefined();
  const wrong = await cardOf(discord.send(opened, { model: 'model-99' }));
  const again = discord.press(wrong, 'Reopen the form', { user });
  // With the submitted value.
  expect(shownIn((await inputOf(again)).component)).toBe('model-99');
  const right = await cardOf(discord.send(again, { model: 'model-29' }));
  expect(right.embeds[0]?.title).toBe('model-29 answers here from now on');
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
