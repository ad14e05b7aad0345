import { expect, test } from 'vitest';
import { shownText } from '../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../fakes/slack/slack.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { startModel } from '../helpers/end-to-end/services.ts';
import { expectNoBreach, replies, shown, socketMode } from '../helpers/end-to-end/slack-program.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test('ask, go on asking, add a monitor, hear that it goes down and comes back; SIGTERM in mid-answer leaves a note', async () => {
  const slack = await startSlack();
  const { model, env } = await startModel();
  const target = await startWebTarget();
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      ...socketMode(slack),
      ...env,
      MONITOR_ALLOW_PRIVATE: '127.0.0.1/32',
      ALERT_POLL_SECONDS: '1',
    },
  });

  model.answerWith('Light is scattered.', { chunkMs: 10 });
  await slack.slash('/ask', 'why is the sky blue?');
  const { ts: thread } = await eventually(() => slack.messages(CHANNEL)[0]);
  expect((await replies(slack, thread, 1))[0]).toContain('Light is scattered.');

  model.answerWith('Then it travels further.');
  slack.say('and at sunset?', { threadTs: thread });
  expect((await replies(slack, thread, 3))[2]).toContain('Then it travels further.');
  const said: { content: string }[] = model.calls[1]?.body.messages;
  expect(said.map(({ content }) => content)).toEqual(
    expect.arrayContaining(['why is the sky blue?', 'Light is scattered.', 'and at sunset?']),
  );

  await slack.slash('/monitor', `add ${target.url} name="Shop" interval=5`);
  const everything = () => [...shown(slack), ...slack.whispers(CHANNEL)].join('\n');
  await eventually(() => everything().includes('Shop'));
  await slack.slash('/monitor', 'list');
  await eventually(() => everything().match(/UP.*Shop|Shop.*UP/s));

  const known = slack.messages(CHANNEL).length;
  await target.stop();
  const alert = await eventually(() => slack.messages(CHANNEL)[known]);
  await eventually(() => shownText(alert).includes('🔴'));
  expect(shownText(alert)).toContain('Shop');
  await target.startAgain();
  await eventually(() => shownText(alert).includes('🟢'));
  expect(slack.messages(CHANNEL)).toHaveLength(known + 1);

  model.answerWith(Array(2_000).fill('word '), { chunkMs: 20 });
  await slack.slash('/ask', 'a long story');
  const { ts: story } = await eventually(() => slack.messages(CHANNEL)[known + 1]);
  await eventually(() => slack.thread(CHANNEL, story)[0]?.edits);
  // With code 1 after ten seconds.
  expect(await askwatch.stop()).toBe(0);
  const [answer] = slack.thread(CHANNEL, story).map(shownText);
  expect(answer).toMatch(/^word/);
  expect(answer).toContain('⚠️');
  expect(answer).not.toContain('Writing…');
  await eventually(() => slack.sockets() === 0);
  expect(askwatch.output()).not.toMatch(/xoxb-\w|xapp-\w|\/response\//);
  expectNoBreach(slack);
});
