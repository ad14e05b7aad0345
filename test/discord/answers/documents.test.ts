// Bolt first: what is imported first decides which undici is the global one, and uploads must not depend on that.
import '@slack/bolt';
import { expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { labelsOf } from '../../helpers/discord/run-discord.ts';
import { startPlatform } from '../../helpers/discord/start-platform.ts';
import { eventually } from '../../helpers/eventually.ts';

const NAME = /^postmortem-[a-z\d]{8}-\d{4}-\d\d-\d\d\.md$/;

/** With all headings, nothing is added to a model's text. */
const OTHERS = [...['## Timeline', '## Cause', '## Impact', '## Response', '## Open questions']];

/** A channel whose alert is over, and what stands where the postmortem is written. */
async function startWithAlert(name = 'Shop') {
  // A postmortem is several messages.
  const discord = await startDiscord({ limit: false });
  const place = { platform: 'discord', channel: discord.general.id };
  const running = await startTestBot({ settings: { alertPlaces: [place] } });
  const platform = await startPlatform(discord, running.bot);
  const shop = running.service.add({ name });
  await running.bot.start([platform.platform]);
  await eventually(() => running.service.requests.length > 1);
  running.service.setStatus(shop.id, 'DOWN');
  const alert = await eventually(() => discord.channel(discord.general.id)[0]);
  running.service.setStatus(shop.id, 'UP');
  await eventually(() => labelsOf(alert).includes('Summarise'));
  /** The last message of the answer, once its end is there. */
  const end = (channel = alert.id, label = 'Regenerate') =>
    eventually(() => discord.channel(channel).findLast((one) => labelsOf(one).includes(label)));
  return { discord, ...running, alert, end };
}

const filesOf = (messages: readonly FakeMessage[]) =>
  messages.flatMap(({ attachments }) => attachments);
const textOf = ({ attachments }: FakeMessage, at = 0) => attachments[at]?.bytes.toString() ?? '';

test('the last message explains missing files', async () => {
  const { discord, alert, end } = await startWithAlert();
  discord.deny(discord.general, 'AttachFiles');
  discord.press(alert, 'Summarise');
  const last = await end();
  expect(last.content).toMatch(/The file postmortem-\S+\.md could not be attached\..*Attach Files/);
  expect(filesOf(discord.channel(alert.id))).toEqual([]);
});

test('a file that was sent though its answer was lost is there once', async () => {
  const { discord, alert, end, provider } = await startWithAlert();
  provider.answerWith(['## Summary\n\n', `All is well.\n\n${OTHERS.join('\n\n')}`]);
  const wake = provider.holdChunks(1);
  discord.press(alert, 'Summarise');
  await eventually(() => discord.channel(alert.id).some(({ content }) => /Summary/.test(content)));
  // Before the end there may be one more change, and each is tried four times at once.
  discord.fail({ method: 'PATCH', path: /messages/, applied: true, drop: true, times: 6 });
  wake();
  await end();
  const sent = () => discord.requests.filter(({ uploads }) => uploads.length > 0).length;
  await eventually(() => sent() > 1);
  await eventually(() => filesOf(discord.channel(alert.id)).length > 0);
  expect(filesOf(discord.channel(alert.id))).toHaveLength(1);
});

test('a long postmortem is whole in its file, next to the rest of the answer', async () => {
  const { discord, alert, end, provider } = await startWithAlert();
  const words = Array.from({ length: 5_000 }, (_, no) => `w${no}`).join(' ');
  provider.answerWith(`# Postmortem draft: Shop recovered\n\n## Summary\n\n${words}`);
  discord.press(alert, 'Summarise');
  const last = await end();
  expect(last.attachments.map(({ filename }) => filename)).toEqual([
    'answer.md',
    expect.stringMatching(NAME),
  ]);
  expect(textOf(last, 1)).toContain(words);
});
