import { describe, expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../fakes/model-provider.ts';
import { type FakeMonitor, startMonitoringService } from '../fakes/monitoring-service.ts';
import { CHANNEL, type Fault, type SlackFake, startSlack } from '../fakes/slack.ts';
import { shownText } from '../fakes/slack-limits.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { spawnAskwatch, startAskwatch } from './askwatch-process.ts';

const long = process.env.ASKWATCH_TEST_LONG === '1';

const socketMode = (slack: SlackFake) => ({
  SLACK_BOT_TOKEN: slack.botToken,
  SLACK_APP_TOKEN: slack.appToken,
  SLACK_API_URL: slack.apiUrl,
});

/** A model behind the gateway's contract, for as long as the test runs. */
async function startModel() {
  const model = await startModelProvider();
  onTestFinished(() => model.close());
  return { model, env: { GATEWAY_BASE_URL: model.url, GATEWAY_API_KEY: model.apiKey } };
}

/** A monitoring service whose monitors' statuses the test sets; alerts go to the channel. */
async function startWatched() {
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  const env = {
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    ALERT_CHANNELS: `slack:${CHANNEL}`,
    ALERT_POLL_SECONDS: '1',
  };
  return { service, env };
}

const shown = (slack: SlackFake, channel = CHANNEL) => slack.messages(channel).map(shownText);
const waitFor = <T>(condition: () => T) => eventually(condition, { withinMs: 40_000 });

/** The finished replies of a thread, waited for. */
async function replies(slack: SlackFake, thread: string, count: number): Promise<string[]> {
  return await waitFor(() => {
    const texts = slack.thread(CHANNEL, thread).map(shownText);
    const busy = texts.some((text) => /Thinking…|Writing…/.test(text));
    return !busy && texts.length === count && texts;
  });
}

function expectNoBreach(slack: SlackFake) {
  expect(slack.unhandled).toEqual([]);
  expect(slack.acks.filter(({ ms }) => ms === undefined)).toEqual([]);
}

test('ask, go on asking, add a monitor, list it, and be told when it goes down and comes back', async () => {
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
  const { ts: thread } = await waitFor(() => slack.messages(CHANNEL)[0]);
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
  await waitFor(() => everything().includes('Shop'));
  await slack.slash('/monitor', 'list');
  await waitFor(() => everything().match(/UP.*Shop|Shop.*UP/s));

  const known = slack.messages(CHANNEL).length;
  await target.stop();
  const alert = await waitFor(() => slack.messages(CHANNEL)[known]);
  await waitFor(() => shownText(alert).includes('🔴'));
  expect(shownText(alert)).toContain('Shop');
  await target.startAgain();
  await waitFor(() => shownText(alert).includes('🟢'));
  expect(slack.messages(CHANNEL)).toHaveLength(known + 1);

  expect(await askwatch.stop()).toBe(0);
  await waitFor(() => slack.sockets() === 0);
  expect(askwatch.output()).not.toMatch(/xoxb-\w|xapp-\w|\/response\//);
  expectNoBreach(slack);
}, 90_000);

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
}, 60_000);

describe('killed with -9', () => {
  /** Runs until an alert meets the fault, kills the program there, and starts it again. */
  async function killAtPost(fault: Fault) {
    const slack = await startSlack();
    const { service, env } = await startWatched();
    const shop = service.add({ name: 'Shop' });
    const options = { dataDir: await temporaryFolder(), env: { ...socketMode(slack), ...env } };
    const first = await startAskwatch(options);
    await waitFor(() => service.requests.length > 2);
    slack.fail('chat.postMessage', fault);
    service.setStatus(shop.id, 'DOWN');
    await waitFor(() => slack.calls.some(({ method }) => method === 'chat.postMessage'));
    await first.kill();
    await startAskwatch(options);
    const alert = await waitFor(() => slack.messages(CHANNEL)[0]);
    service.setStatus(shop.id, 'UP');
    await waitFor(() => shownText(alert).includes('🟢'));
    expect(slack.messages(CHANNEL)).toHaveLength(1);
    expectNoBreach(slack);
  }

  test('while Slack stores an alert and cannot say so, it does not tell twice', async () => {
    await killAtPost({ kind: 'hang', stored: true });
  }, 60_000);

  test('before Slack took an alert, it tells it after the restart', async () => {
    await killAtPost({ kind: 'hang' });
  }, 60_000);

  test(
    'at any moment, it tells every outage once and every recovery on the same message',
    async () => {
      const rounds = long ? 60 : 2;
      const slack = await startSlack();
      const { service, env } = await startWatched();
      const options = { dataDir: await temporaryFolder(), env: { ...socketMode(slack), ...env } };
      const monitors: FakeMonitor[] = [];
      for (let round = 0; round < rounds; round += 1)
        monitors.push(service.add({ name: `Shop ${round}.` }));
      let askwatch = await startAskwatch(options);
      await waitFor(() => service.requests.length > 1);
      for (const [round, { id, name }] of monitors.entries()) {
        const polls = service.requests.length;
        service.setStatus(id, 'DOWN');
        // From before the poll to after the post, a few milliseconds further in each round.
        await waitFor(() => service.requests.length > polls);
        await new Promise((resolve) => setTimeout(resolve, (round * 7) % 60));
        await askwatch.kill();
        askwatch = await startAskwatch(options);
        const told = () =>
          slack.messages(CHANNEL).filter((message) => shownText(message).includes(name));
        await waitFor(() => told().length > 0);
        service.setStatus(id, 'UP');
        await waitFor(() => told().every((message) => shownText(message).includes('🟢')));
        expect(told()).toHaveLength(1);
      }
      expect(slack.messages(CHANNEL)).toHaveLength(rounds);
    },
    long ? 900_000 : 90_000,
  );

  test('in mid-answer, it answers the next question in the same thread', async () => {
    const slack = await startSlack();
    const { model, env } = await startModel();
    const options = { dataDir: await temporaryFolder(), env: { ...socketMode(slack), ...env } };
    const first = await startAskwatch(options);
    model.answerWith(Array(500).fill('word '), { chunkMs: 20 });
    const thread = slack.mention('a long story');
    await waitFor(() => slack.thread(CHANNEL, thread)[0]?.edits);
    await first.kill();
    model.answerWith('Short.');
    await startAskwatch(options);
    slack.mention('and now?', { threadTs: thread });
    await waitFor(() =>
      slack
        .thread(CHANNEL, thread)
        .map(shownText)
        .some((text) => text.includes('Short.')),
    );
    expectNoBreach(slack);
  }, 60_000);
});

test('SIGTERM in mid-answer leaves a note where it cut, and exits with 0 within ten seconds', async () => {
  const slack = await startSlack();
  const { model, env } = await startModel();
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: { ...socketMode(slack), ...env },
  });
  model.answerWith(Array(2_000).fill('word '), { chunkMs: 20 });
  await slack.slash('/ask', 'a long story');
  const { ts: thread } = await waitFor(() => slack.messages(CHANNEL)[0]);
  await waitFor(() => slack.thread(CHANNEL, thread)[0]?.edits);
  expect(await askwatch.stop()).toBe(0);
  const [answer] = slack.thread(CHANNEL, thread).map(shownText);
  expect(answer).toMatch(/^word/);
  expect(answer).toContain('⚠️');
  expect(answer).not.toContain('Writing…');
  await waitFor(() => slack.sockets() === 0);
}, 60_000);

test.each([
  ['SLACK_BOT_TOKEN', 'xoxb-wrong-token-0000'],
  ['SLACK_APP_TOKEN', 'xapp-wrong-token-0000'],
])(
  'a wrong %s ends the program with one sentence and code 1',
  async (name, value) => {
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
  },
  30_000,
);

test('a token that is revoked while the program runs ends it with one sentence and code 1', async () => {
  const slack = await startSlack();
  const child = spawnAskwatch({ dataDir: await temporaryFolder(), env: socketMode(slack) });
  await waitFor(() => child.output().includes('is ready after'));
  slack.revoke('app');
  slack.disconnect();
  expect(await child.exit).toBe(1);
  expect(child.output()).toMatch(/^SLACK_APP_TOKEN: .*token_revoked/m);
}, 60_000);
