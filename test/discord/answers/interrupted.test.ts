import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Interrupted, Invocation } from '../../../src/bot/shared/invocation.ts';
import { type DiscordFake, startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { labelsOf } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const NOTE = 'Interrupted: Askwatch was restarted. Try again.';
const SHOWN = '*Interrupted: Askwatch was restarted. Try again.*';

/** A bot that stores what is said and is then killed, before it shows anything. */
async function start() {
  const discord = await startDiscord();
  const { bot } = await startTestBot();
  const stored: Invocation[] = [];
  const killed: Bot = {
    ...bot,
    dispatch(invocation, onStored) {
      stored.push(invocation);
      onStored?.();
      return new Promise<never>(() => {});
    },
  };
  let isKilled = false;
  const first = await startPlatform(discord, killed, { isHeld: () => !isKilled });
  return {
    discord,
    /** The stored invocation of a message, after the process was killed. */
    async left(private_ = false): Promise<Interrupted> {
      const { id: invocation, place, person, thread, origin } = await eventually(() => stored[0]);
      return {
        id: 'answer-1',
        invocation,
        channel: place.channel,
        person: person.id,
        private: private_,
        beganAtMs: Date.now(),
        thread,
        origin,
        note: NOTE,
        actionsIn: async () => [
          { label: 'Try again', command: 'answer again', values: { answer: 'answer-1' } },
        ],
      };
    },
    async restart(options: { tokenLifeMs?: number } = {}) {
      isKilled = true;
      await first.platform.stop();
      const { platform } = await startPlatform(discord, bot, options);
      /** Also repeated, as when it was not stored that it was done. */
      return async (interrupted: Interrupted) => {
        await platform.endAnswer?.(interrupted);
        await platform.endAnswer?.(interrupted);
      };
    },
  };
}

const told = (discord: DiscordFake) =>
  discord.messages().filter(({ content }) => content.includes('Interrupted'));

test.each([true, false])(
  'a slash command gets the note in place of “thinking…” (private: %j)',
  async (isPrivate) => {
    const { discord, left, restart } = await start();
    const asked = discord.slash('ask', { question: 'Why?', private: isPrivate });
    await eventually(() => asked.acknowledged);
    const interrupted = await left(isPrivate);
    expect(JSON.stringify(interrupted)).not.toContain(asked.token);
    const end = await restart();
    await end(interrupted);
    expect(asked.reply?.content).toBe(SHOWN);
    expect(asked.acknowledged?.ephemeral).toBe(isPrivate);
    expect([asked.followUps, told(discord)]).toEqual([[], [asked.reply]]);
    // No thread remembers a question in the middle of a channel.
    expect(labelsOf(asked.reply as FakeMessage)).toEqual([]);
  },
);

test('a slash command whose question is shown keeps it', async () => {
  const { discord, left, restart } = await start();
  const asked = discord.slash('ask', { question: 'Why?' });
  await eventually(() => asked.reply);
  const interrupted = await left();
  if (asked.reply) asked.reply.content = '**Alice** asked: Why?';
  await (await restart())(interrupted);
  expect(asked.reply?.content).toBe(`**Alice** asked: Why?\n${SHOWN}`);
});

test('a slash command whose “thinking…” is gone gets the note for its person', async () => {
  const { discord, left, restart } = await start();
  const asked = discord.slash('monitor list');
  await eventually(() => asked.reply);
  const interrupted = await left(true);
  discord.remove(asked.reply?.id ?? '');
  const end = await restart();
  await end(interrupted);
  expect(asked.followUps[0]).toMatchObject({ content: SHOWN });
  expect((asked.followUps[0]?.flags ?? 0) & MessageFlags.Ephemeral).not.toBe(0);
});
test('a slash command whose token is over gets a message in its channel', async () => {
  const { discord, left, restart } = await start();
  const channel = discord.openThread(discord.say('Hello'));
  const asked = discord.slash('ask', { question: 'Why?' }, { channel });
  await eventually(() => asked.acknowledged);
  const interrupted = await left();
  const end = await restart({ tokenLifeMs: 0 });
  await end({ ...interrupted, beganAtMs: Date.now() - 1_000 });
  expect(told(discord)).toMatchObject([
    { channel_id: channel.id, content: `<@${discord.alice.id}> ${SHOWN}`, mentions: [] },
  ]);
});

test('a private one whose token is over is given up', async () => {
  const { discord, left, restart } = await start();
  discord.slash('ask', { question: 'Why?', private: true });
  const interrupted = await left(true);
  const end = await restart({ tokenLifeMs: 0 });
  await end({ ...interrupted, beganAtMs: Date.now() - 1_000 });
  expect(told(discord)).toEqual([]);
});

test('a press is told to who pressed, and its message stays as it is', async () => {
  const { discord, left, restart } = await start();
  const button = discord.leaveButton('askwatch help?');
  const press = discord.press(button, 'Do');
  await eventually(() => press.acknowledged);
  const interrupted = await left();
  const end = await restart();
  await end(interrupted);
  expect(press.followUps[0]).toMatchObject({ content: SHOWN });
  expect((press.followUps[0]?.flags ?? 0) & MessageFlags.Ephemeral).not.toBe(0);
  expect(button).toMatchObject({ content: 'Do' });
});

test.each([
  ['the middle of a channel', []],
  ['a thread', ['Try again']],
])('a mention in %s gets the note as a reply', async (where, labels) => {
  const { discord, left, restart } = await start();
  const channel = where === 'a thread' ? discord.openThread(discord.say('Hello')) : discord.general;
  const said = discord.say('Why?', { channel, mention: true });
  const interrupted = await left();
  await (await restart())(interrupted);
  expect(told(discord)).toMatchObject([
    { channel_id: channel.id, content: SHOWN, message_reference: { message_id: said.id } },
  ]);
  expect(labelsOf(told(discord)[0] as FakeMessage)).toEqual(labels);
});
