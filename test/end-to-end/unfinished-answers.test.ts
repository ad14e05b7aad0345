import { expect, test } from 'vitest';
import { startDiscord } from '../fakes/discord.ts';
import { CHANNEL, startSlack } from '../fakes/slack.ts';
import { labelsOf } from '../fakes/slack-buttons.ts';
import { shownText } from '../fakes/slack-limits.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startAskwatch } from './askwatch-process.ts';
import { discordEnv } from './discord-program.ts';
import { expectNoBreach, socketMode, startModel, waitFor } from './slack-program.ts';

const DIRECT = 'D00ADA';
const NOTE = 'Interrupted: Askwatch was restarted before this answer was complete. Try again.';

test('kill -9 in mid-answer: after the restart every answer ends where it is and can be tried again', async () => {
  const slack = await startSlack();
  slack.addChannel({ id: DIRECT });
  const discord = await startDiscord();
  const { model, env } = await startModel();
  const options = {
    dataDir: await temporaryFolder(),
    env: { ...socketMode(slack), ...discordEnv(discord), ...env },
  };
  const askwatch = await startAskwatch(options);

  model.answerWith(['So far ', 'so good, ', 'and more']);
  const goOn = model.holdChunks(2);
  const thread = slack.mention('in a channel');
  const direct = slack.say('in a direct message', { channel: DIRECT });
  discord.say('on Discord', { mention: true });
  const onSlack = (channel: string, ts: string) =>
    slack.thread(channel, ts).filter(({ bot_id }) => bot_id);
  const onDiscord = () => discord.messages().filter(({ author }) => author.id === discord.bot.id);
  const texts = () => [
    ...[...onSlack(CHANNEL, thread), ...onSlack(DIRECT, direct)].map(shownText),
    ...onDiscord().map(({ content }) => content),
  ];
  await waitFor(() => texts().length === 3 && texts().every((text) => text.includes('so good')));
  await askwatch.kill();
  expect(texts().some((text) => text.includes(NOTE))).toBe(false);

  goOn();
  model.answerWith('All of it.');
  const restarted = await startAskwatch(options);
  await waitFor(() => texts().every((text) => text.includes(NOTE)));
  expect(texts()).toHaveLength(3);
  for (const text of texts()) expect(text).toMatch(/^So far so good,\s[\s\S]*Interrupted/);
  const labels = [
    ...[...onSlack(CHANNEL, thread), ...onSlack(DIRECT, direct)].map(labelsOf),
    ...onDiscord().map(({ components }) =>
      components.flatMap((row) => row.components.map(({ label }) => label)),
    ),
  ];
  expect(labels).toEqual([['Try again'], ['Try again'], ['Try again']]);
  await slack.press('Try again', { ts: onSlack(CHANNEL, thread)[0]?.ts ?? '' });
  await waitFor(() => texts().some((text) => text.includes('All of it.')));
  expect(await restarted.stop()).toBe(0);
  expectNoBreach(slack);
});
