import { expect, test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { labelsOf } from '../fakes/slack/buttons.ts';
import { shownText } from '../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../fakes/slack/slack.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { discordEnv } from '../helpers/end-to-end/discord-program.ts';
import { startModel } from '../helpers/end-to-end/services.ts';
import { expectNoBreach, socketMode } from '../helpers/end-to-end/slack-program.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const DIRECT = 'D00ADA';
const NOTE = 'Interrupted: Askwatch was restarted before this answer was complete. Try again.';

/** Three answers in mid-sentence: in a channel and in a direct message of Slack's, and on Discord. */
async function beginThree() {
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
  const inSlack = () => [...onSlack(CHANNEL, thread), ...onSlack(DIRECT, direct)];
  const onDiscord = () => discord.messages().filter(({ author }) => author.id === discord.bot.id);
  const texts = () => [...inSlack().map(shownText), ...onDiscord().map(({ content }) => content)];
  await eventually(() => texts().length === 3 && texts().every((text) => text.includes('so good')));
  return {
    ...{ slack, discord, askwatch, texts },
    labels: () => [
      ...inSlack().map(labelsOf),
      ...onDiscord().map(({ components }) =>
        components.flatMap((row) => row.components.map(({ label }) => label)),
      ),
    ],
    async startAgain() {
      goOn();
      model.answerWith('All of it.');
      return await startAskwatch(options);
    },
    tryAgain: () => slack.press('Try again', { ts: onSlack(CHANNEL, thread)[0]?.ts ?? '' }),
  };
}

const ALL_ENDED = [['Try again'], ['Try again'], ['Try again']];

test('kill -9 in mid-answer: after the restart every answer ends where it is and can be tried again', async () => {
  const { slack, askwatch, texts, labels, startAgain, tryAgain } = await beginThree();
  await askwatch.kill();
  expect(texts().some((text) => text.includes(NOTE))).toBe(false);

  const restarted = await startAgain();
  await eventually(() => texts().every((text) => text.includes(NOTE)));
  expect(texts()).toHaveLength(3);
  for (const text of texts()) expect(text).toMatch(/^So far so good,\s[\s\S]*Interrupted/);
  expect(labels()).toEqual(ALL_ENDED);
  await tryAgain();
  await eventually(() => texts().some((text) => text.includes('All of it.')));
  expect(await restarted.stop()).toBe(0);
  expectNoBreach(slack);
});

test('a stop while both platforms limit edits: every answer ends at the next start, and no call comes too early', async () => {
  const { slack, discord, askwatch, texts, labels, startAgain } = await beginThree();
  const limits = { times: 100_000 };
  for (const method of ['chat.update', 'chat.delete', 'chat.appendStream', 'chat.stopStream']) {
    slack.fail(method, { kind: 'limited', retryAfterSeconds: 12 }, limits);
  }
  discord.rateLimit({ method: 'PATCH', path: /messages/, seconds: 12, ...limits });
  expect(await askwatch.stop()).toBe(0);
  slack.recover();
  discord.recover();

  // The fakes still enforce limits that the killed process received.
  const restarted = await startAgain();
  // If Slack refused edits, the end was posted below.
  const ends = /So far so good,[\s\S]*(Interrupted|restarting|The full answer is below)/;
  await eventually(() => texts().every((text) => ends.test(text)));
  expect(labels().filter((each) => each.length > 0)).toEqual(ALL_ENDED);
  expect(await restarted.stop()).toBe(0);
});

test.each([
  ['and lose them', false],
  ['and do them', true],
])(
  'a stop while both platforms take calls, never answer, %s: every answer ends at the next start',
  async (_what, stored) => {
    const { slack, discord, askwatch, texts, labels, startAgain } = await beginThree();
    for (const method of [
      'chat.update',
      'chat.postMessage',
      'chat.appendStream',
      'chat.stopStream',
    ]) {
      slack.fail(method, { kind: 'hang', stored }, { times: 100_000 });
    }
    discord.fail({ hang: true, applied: stored, times: 100_000 });
    expect(await askwatch.stop()).toBe(0);
    slack.recover();
    discord.recover();

    const restarted = await startAgain();
    await eventually(() => labels().join() === ALL_ENDED.join());
    expect(texts()).toHaveLength(3);
    const notes = stored ? /Interrupted|restarting/ : /Interrupted/;
    for (const text of texts()) expect(text).toMatch(notes);
    expect(await restarted.stop()).toBe(0);
  },
);
