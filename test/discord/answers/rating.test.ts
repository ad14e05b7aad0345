import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import { exportedLines } from '../../../src/bot/feedback/export.ts';
import { createFeedback } from '../../../src/bot/feedback/feedback.ts';
import type { FakeInteraction } from '../../fakes/discord/interactions.ts';
import type { FakeChannel } from '../../fakes/discord/state.ts';
import type { TestBotOptions } from '../../helpers/bot.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

async function start(options: TestBotOptions = {}) {
  const folder = await temporaryFolder();
  const running = await runDiscord({ bot: { ...options, folder } });
  const { discord } = running;
  /** Asks in the channel; gives the whole answer in the thread under the question. */
  async function ask(question: string) {
    const asked = discord.slash('ask', { question });
    const thread = await eventually(() => asked.reply?.content && asked.reply.id);
    return await eventually(() =>
      discord.channel(thread).find(({ content }) => content.includes('-# test-model')),
    );
  }
  async function askPrivately(question: string, where: { channel?: FakeChannel } = {}) {
    const asked = discord.slash('ask', { question, private: true }, where);
    return await eventually(() => {
      const last = asked.followUps.at(-1) ?? asked.reply;
      return last?.content.includes('-# test-model') && last;
    });
  }
  /** The title of the private card. */
  const told = (gesture: FakeInteraction) =>
    eventually(() => {
      const shown = [gesture.reply, ...gesture.followUps].find(
        (message) => message && (message.flags & MessageFlags.Ephemeral) !== 0 && message.embeds[0],
      );
      return shown?.embeds[0]?.title;
    });
  async function exported() {
    await running.platform.stop();
    await running.stop();
    const store = await openTestStore({ folder, log: recordingLog().log });
    const lines: unknown[] = [];
    const feedback = createFeedback(store, { days: 90 });
    for await (const line of exportedLines(feedback, {}, (text) => text)) {
      lines.push(JSON.parse(line));
    }
    await store.close();
    return lines;
  }
  return { ...running, ask, askPrivately, told, exported };
}

const inputsOf = ({ form }: FakeInteraction) =>
  form?.components.map(({ component }) => [component.custom_id, component.required]);
test('what is too long is told with a button that opens the form as it was left', async () => {
  const { discord, ask, told, exported } = await start();
  const answer = await ask('why?');
  const pressed = discord.press(answer, '👎');
  await eventually(() => pressed.form);
  await told(pressed);
  const wrong = discord.send(pressed, { reason: 'wrong', what: 'x'.repeat(1_001) });
  expect(await told(wrong)).toContain('Some fields need fixing');
  const shown = [wrong.reply, ...wrong.followUps].find((message) => message?.embeds[0]);
  if (!shown) throw new Error('Nothing is shown.');
  const again = discord.press(shown, 'Reopen the form');
  // It was rated as bad already, so the button of the answer would take that back.
  const form = await eventually(() => again.form);
  expect(form.components.map(({ component }) => component.custom_id)).toEqual(['reason', 'what']);
  const sent = discord.send(again, { what: 'y' });
  expect(await told(sent)).toContain('Your comment is saved');
  expect(await exported()).toMatchObject([{ down: 1, wrong: [{ reason: 'wrong', what: 'y' }] }]);
});

test('a private answer is rated by its asker, and kept where they allow it', async () => {
  const { discord, provider, askPrivately, told, exported } = await start();
  provider.answerWith('Quietly.');
  const first = await askPrivately('psst?');
  const second = await askPrivately('and this?');
  const pressed = discord.press(first, '👎');
  await eventually(() => pressed.form);
  expect(inputsOf(pressed)?.map(([name]) => name)).toEqual(['reason', 'what', 'keep']);
  expect(await told(pressed)).toContain('rated 👎');
  const alone = discord.press(second, '👎');
  await eventually(() => alone.form);
  await told(alone);
  const keep = 'the question and the answer, too';
  expect(await told(discord.send(pressed, { what: 'it is loud', keep }))).toContain(
    'Your comment is saved',
  );
  expect(await told(discord.send(alone, { what: 'secret words' }))).toContain('rated 👎');
  const lines = await exported();
  expect(lines).toMatchObject([
    {
      private: true,
      down: 1,
      question: 'psst?',
      answer: 'Quietly.',
      wrong: [{ what: 'it is loud' }],
    },
    { private: true, down: 1 },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/and this|secret words/);
});

test('an answer that is no longer remembered opens no form and says so', async () => {
  const { discord, bot, ask, told } = await start();
  const answer = await ask('why?');
  await bot.forget({ platform: 'discord', channel: discord.general.id });
  const pressed = discord.press(answer, '👎');
  const text = await eventually(() => pressed.followUps[0]?.embeds[0]?.description);
  expect(text).toContain('no longer remembers this answer');
  expect(pressed.form).toBeUndefined();
  await told(pressed);
});
