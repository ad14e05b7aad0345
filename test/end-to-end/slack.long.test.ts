import { describe, expect, test } from 'vitest';
import { shownText } from '../fakes/slack/limits.ts';
import { CHANNEL, type Fault, type SlackFake, startSlack } from '../fakes/slack/slack.ts';
import {
  sharedAskwatch,
  spawnAskwatch,
  startAskwatch,
} from '../helpers/end-to-end/askwatch-process.ts';
import { startModel, startWatched } from '../helpers/end-to-end/services.ts';
import { expectNoBreach, replies, socketMode } from '../helpers/end-to-end/slack-program.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test('over HTTP the same program answers at /slack/events on its own port', async () => {
  const slack = await startSlack();
  const { env } = await startModel();
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_SIGNING_SECRET: slack.signingSecret,
      SLACK_API_URL: slack.apiUrl,
      ...env,
    },
  });
  slack.useHttp(`${askwatch.url}/slack/events`);
  const ts = slack.mention('are you there?');
  expect((await replies(slack, ts, 1))[0]).toContain('Hello from the fake provider.');
  const forged = await fetch(`${askwatch.url}/slack/events`, { method: 'POST', body: '{}' });
  expect(forged.status).toBe(401);
  expectNoBreach(slack);
});

describe('one program, killed with -9 again and again', () => {
  const rounds = 60;
  let slack: SlackFake;
  let model: Awaited<ReturnType<typeof startModel>>['model'];
  let service: Awaited<ReturnType<typeof startWatched>>['service'];
  const askwatch = sharedAskwatch(async (atEnd) => {
    slack = await startSlack(atEnd);
    const answering = await startModel(atEnd);
    const watched = await startWatched(`slack:${CHANNEL}`, atEnd);
    ({ model } = answering);
    ({ service } = watched);
    for (const name of ['Stored.', 'Lost.']) service.add({ name });
    for (let round = 0; round < rounds; round += 1) service.add({ name: `Shop ${round}.` });
    return { ...socketMode(slack), ...answering.env, ...watched.env };
  });

  const told = (name: string) =>
    slack.messages(CHANNEL).filter((message) => shownText(message).includes(name));

  /** One monitor goes down, the program is killed some time after that, started again, and the monitor comes back. */
  async function killInOutage(name: string, killTime: () => Promise<unknown>) {
    await eventually(() => service.requests.length > 2);
    const messages = slack.messages(CHANNEL).length;
    const { id } = service.monitors.find((monitor) => monitor.name === name) ?? { id: '' };
    const isTime = killTime();
    service.setStatus(id, 'DOWN');
    await isTime;
    await askwatch().restart();
    await eventually(() => told(name).length > 0);
    service.setStatus(id, 'UP');
    await eventually(() => told(name).every((message) => shownText(message).includes('🟢')));
    // Time for the line under it that says that it is over, so that the next fault meets an alert.
    const looks = service.requests.length;
    await eventually(() => service.requests.length > looks + 2);
    expect(told(name)).toHaveLength(1);
    expect(slack.thread(CHANNEL, told(name)[0]?.ts ?? '').length).toBeLessThanOrEqual(1);
    expect(slack.messages(CHANNEL)).toHaveLength(messages + 1);
    expectNoBreach(slack);
  }

  /** When the next message is sent, which meets the fault. */
  async function postMeets(fault: Fault) {
    const posts = () => slack.calls.filter(({ method }) => method === 'chat.postMessage').length;
    const before = posts();
    slack.fail('chat.postMessage', fault);
    await eventually(() => posts() > before);
  }

  test('a kill while Slack stores an alert causes no duplicate', async () => {
    await killInOutage('Stored.', () => postMeets({ kind: 'hang', stored: true }));
  });

  test('an alert that Slack has not accepted before a kill is posted after the restart', async () => {
    await killInOutage('Lost.', () => postMeets({ kind: 'hang' }));
  });

  test('kills at random moments leave one alert per outage, with its recovery', async () => {
    for (let round = 0; round < rounds; round += 1) {
      await killInOutage(`Shop ${round}.`, async () => {
        // From before the poll to after the post, a few milliseconds further in each round.
        const polls = service.requests.length;
        await eventually(() => service.requests.length > polls);
        await new Promise((resolve) => setTimeout(resolve, (round * 7) % 60));
      });
    }
  }, 900_000);

  test('the next question in the thread is answered after a kill in the middle of an answer', async () => {
    model.answerWith(Array(500).fill('word '), { chunkMs: 20 });
    const thread = slack.mention('a long story');
    await eventually(() => slack.thread(CHANNEL, thread)[0]?.edits);
    model.answerWith('Short.');
    await askwatch().restart();
    slack.mention('and now?', { threadTs: thread });
    await eventually(() =>
      slack
        .thread(CHANNEL, thread)
        .map(shownText)
        .some((text) => text.includes('Short.')),
    );
    expectNoBreach(slack);
  });

  test('a token that is revoked while it runs ends it for good, with one sentence and code 1', async () => {
    slack.revoke('app');
    slack.disconnect();
    expect(await askwatch().exit).toBe(1);
    expect(askwatch().output()).toMatch(/^SLACK_APP_TOKEN: .*token_revoked/m);
  });
});

test.each([
  ['SLACK_BOT_TOKEN', 'xoxb-wrong-token-0000'],
  ['SLACK_APP_TOKEN', 'xapp-wrong-token-0000'],
])('a wrong %s ends the program with one sentence and code 1', async (name, value) => {
  const slack = await startSlack();
  const child = spawnAskwatch({
    dataDir: await temporaryFolder(),
    env: { ...socketMode(slack), [name]: value },
  });
  expect(await child.exit).toBe(1);
  const sentences = child
    .output()
    .split('\n')
    .filter((line) => line.startsWith(`${name}: `));
  expect(sentences).toHaveLength(1);
  expect(child.output()).not.toMatch(/\n\s+at |xoxb-\w|xapp-\w/);
});
