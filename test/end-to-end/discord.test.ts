import { expect, test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import {
  answerIn,
  discordEnv,
  isDown,
  questionShown,
  textOf,
} from '../helpers/end-to-end/discord-program.ts';
import { startModel } from '../helpers/end-to-end/services.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test('ask, go on asking, add a monitor, hear that it goes down and comes back; SIGTERM in mid-answer leaves a note', async () => {
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
  await eventually(() => added.reply && textOf(added.reply).includes('Now watching Shop'));
  const listed = discord.slash('monitor list');
  await eventually(() => listed.reply && /UP +Shop/.test(textOf(listed.reply)));

  const known = discord.channel(discord.general.id).length;
  await target.stop();
  const alert = await eventually(() => discord.channel(discord.general.id)[known]);
  expect(textOf(alert)).toContain('Shop is DOWN');
  await target.startAgain();
  await eventually(() => discord.channel(discord.general.id).length > known + 1);
  expect(isDown(alert)).toBe(false);
  const [line, ...others] = discord.channel(discord.general.id).slice(known + 1);
  expect(line?.content).toMatch(/Shop recovered after \d+ seconds/);
  expect(others).toEqual([]);

  model.answerWith(
    Array.from({ length: 2_000 }, (_, index) => `w${index} `),
    { chunkMs: 20 },
  );
  const counting = await questionShown(discord.slash('ask', { question: 'Count' }));
  await eventually(() => discord.channel(counting)[0]?.content.startsWith('w0 w1 '));
  // With code 1 after ten seconds.
  expect(await askwatch.stop()).toBe(0);
  const [answer] = discord.channel(counting);
  expect(answer?.content).toMatch(/^w0 [\s\S]*\n\*Askwatch is restarting.*\*\n-# test-model/);
  expect(discord.gateway.connected()).toBe(0);
  expect(askwatch.output()).not.toContain(discord.settings.token);
});
