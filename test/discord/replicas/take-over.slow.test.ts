import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import { openPlatformLimits } from '../../../src/bot/shared/platform-limits.ts';
import type { DiscordOptions } from '../../../src/discord/discord.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { answeringBot, type Say, untilKilled } from '../../helpers/discord/answering-bot.ts';
import { startReplicas } from '../../helpers/discord/replicas.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres } from '../../helpers/postgres/test-database.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

type Options = Omit<Parameters<typeof answeringBot>[2], 'killed'> & {
  discord?: Partial<DiscordOptions>;
};

/** A Discord, and processes that are its bot together. */
async function begin() {
  const discord = await startDiscord();
  // As they have them who read of limits what any of them was told.
  const limits = await openPlatformLimits({ platform: 'discord', log: recordingLog().log });
  const { bot: real } = await startTestBot();
  const replicas = await startReplicas(discord);
  return {
    discord,
    ...replicas,
    async start(name: string, { discord: settings = {}, ...options }: Options) {
      let answering: ReturnType<typeof answeringBot> | undefined;
      const started = await replicas.start(
        name,
        (store, killed) => {
          answering = answeringBot(real, store, { ...options, killed });
          return answering.bot;
        },
        { limits, ...settings },
      );
      answering?.watch(started.platform);
      return { ...started, taken: answering?.taken ?? [] };
    },
  };
}

/** Says so much, and then nothing more. */
const stalling = (text: string): Say =>
  async function* (_invocation, killed) {
    yield text;
    await untilKilled(killed);
  };

const saying = (text: string): Say =>
  async function* () {
    yield text;
  };

const LONG = `${'x'.repeat(1_890)}\n\n${'y'.repeat(1_890)}`;

describe.skipIf(!hasPostgres)(
  'what a process that died has left, another one goes on with:',
  () => {
    test('an answer in a thread, in the same messages', async () => {
      const { discord, start, kill } = await begin();
      await start('a', { say: stalling(LONG) });
      await start('b', { say: saying('All of it.') });
      const asked = discord.say('Why?', { mention: true });
      const [first] = await eventually(() => {
        const shown = discord.channel(asked.id);
        return shown.length === 2 && shown;
      });
      await kill('a');
      await eventually(() => discord.channel(asked.id)[0]?.content.endsWith('the end'));
      await eventually(() => discord.channel(asked.id).length === 1);
      expect(discord.channel(asked.id)).toMatchObject([
        { id: first?.id, content: 'All of it.\n-# the end', components: [] },
      ]);
      expect(discord.channel(discord.general.id)).toHaveLength(1);
    });

    test('an answer in the open channel, as a reply to the question', async () => {
      const { discord, start, kill } = await begin();
      discord.deny(discord.general, 'CreatePublicThreads');
      await start('a', { say: stalling('One ') });
      await start('b', { say: saying('All of it.') });
      const asked = discord.say('Why?', { mention: true });
      await eventually(() => discord.channel(discord.general.id).length === 2);
      await kill('a');
      const answer = await eventually(() =>
        discord.channel(discord.general.id).find(({ content }) => content.startsWith('All of it.')),
      );
      expect(answer.message_reference?.message_id).toBe(asked.id);
      expect(discord.channel(discord.general.id)).toHaveLength(2);
    });

    test.each([0, 1])('a slash command whose answer had %i messages', async (count) => {
      const { discord, start, kill } = await begin();
      await start(
        'a',
        count === 0 ? { say: saying(''), stored: untilKilled } : { say: stalling('One ') },
      );
      const { taken } = await start('b', { say: saying('All of it.') });
      const bob = discord.addUser('bob');
      discord.grant(bob, 'ManageGuild');
      const asked = discord.slash('ask', { question: 'Why?' }, { user: bob });
      await eventually(() => asked.acknowledged);
      if (count > 0) await eventually(() => discord.threads().length === 1);
      if (count > 0) await eventually(() => discord.channel(asked.reply?.id ?? '').length === 1);
      else await pause(200);
      await kill('a');
      const { id } = await eventually(() => asked.reply?.content && asked.reply);
      await eventually(() => discord.channel(id).at(-1)?.content === 'All of it.\n-# the end');
      expect(discord.channel(id)).toHaveLength(1);
      expect(asked.reply?.content).toContain('Bob');
      expect(asked.followUps).toEqual([]);
      expect(taken).toHaveLength(1);
      // Whoever has the database has no way to write in the bot's name.
      expect(JSON.stringify(taken)).not.toContain(asked.token);
    });

    test('a command with a card, with what the person may do by now', async () => {
      const { discord, start, kill } = await begin();
      const people: Array<Invocation['person']> = [];
      const say: Say = ({ person }) => {
        people.push(person);
        return { kind: 'card', card: { tone: 'info', title: 'Done', parts: [] }, private: true };
      };
      await start('a', { say, stored: untilKilled });
      await start('b', { say });
      const bob = discord.addUser('bob');
      const role = discord.grant(bob, 'ManageGuild');
      const thread = discord.openThread(discord.say('Hello'));
      const gestures = [
        discord.slash('monitor list', {}, { user: bob }),
        discord.slash('monitor list', {}, { user: bob, channel: thread }),
        discord.press(discord.leaveButton('askwatch help?'), 'Do', { user: bob }),
      ];
      await eventually(() => gestures.every(({ acknowledged }) => acknowledged));
      await pause(200);
      await kill('a');
      await eventually(() => gestures.every(({ followUps }) => followUps.length === 1));
      expect(people).toHaveLength(3);
      for (const { name, mayManage, isIn } of people) {
        expect(name).toBe('Bob');
        expect([await mayManage?.('place'), await mayManage?.('shared')]).toEqual([true, true]);
        expect(await isIn?.(role)).toBe(true);
      }
    });

    test('what Discord takes no more for is a message in the channel, unless one person is to see it', async () => {
      const { discord, start, kill } = await begin();
      const say: Say = ({ request }) => ({
        kind: 'card',
        card: { tone: 'info', title: JSON.stringify(request), parts: [] },
        private: JSON.stringify(request).includes('list'),
      });
      await start('a', { say, stored: untilKilled });
      await start('b', { say, discord: { tokenLifeMs: 0 } });
      const gestures = [discord.slash('askwatch help'), discord.slash('monitor list')];
      await eventually(() => gestures.every(({ acknowledged }) => acknowledged));
      await pause(200);
      await kill('a');
      const shown = () =>
        discord.channel(discord.general.id).filter(({ embeds }) => embeds.length > 0);
      await eventually(() => shown().length > 0);
      expect(shown().map(({ embeds }) => embeds[0]?.title)).toEqual([
        expect.stringContaining('askwatch help'),
      ]);
    });

    test.each([
      ['', {}],
      [', also where Discord takes no more for the press', { tokenLifeMs: 0 }],
    ])(
      'a press whose card takes the place of the message with the button%s',
      async (_, settings) => {
        const { discord, start, kill } = await begin();
        const card: Card = { tone: 'good', title: 'Done', parts: [] };
        const say: Say = () => ({ kind: 'card', card, private: false, inPlace: true });
        await start('a', { say, stored: untilKilled });
        await start('b', { say, discord: settings });
        const buttons = ['One', 'Two'].map((label) =>
          discord.leaveButton(`askwatch help?${label}=`, { label }),
        );
        const [kept, deleted] = buttons as [FakeMessage, FakeMessage];
        const presses = [discord.press(kept, 'One'), discord.press(deleted, 'Two')];
        await eventually(() => presses.every(({ acknowledged }) => acknowledged));
        await pause(200);
        discord.remove(deleted.id);
        await kill('a');
        await eventually(() => kept.embeds.length === 1);
        expect(kept).toMatchObject({ content: '', embeds: [{ title: 'Done' }], components: [] });
        const told = await eventually(() =>
          discord.channel(discord.general.id).find(({ id }) => id !== kept.id),
        );
        expect(told.embeds).toMatchObject([{ title: 'Done' }]);
        expect(discord.channel(discord.general.id)).toEqual([kept, told]);
      },
    );

    test('a command that was acknowledged and not stored comes again, and is done', async () => {
      const { discord, start, kill } = await begin();
      await start('a', { say: saying(''), before: untilKilled });
      const { taken } = await start('b', { say: saying('All of it.') });
      const asked = discord.slash('ask', { question: 'Why?' });
      await eventually(() => asked.acknowledged);
      await kill('a');
      const { id } = await eventually(() => asked.reply?.content && asked.reply);
      await eventually(() => discord.channel(id).at(-1)?.content === 'All of it.\n-# the end');
      expect(taken).toEqual([]);
    });
  },
);
