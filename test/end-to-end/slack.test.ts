import { describe, expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../fakes/model-provider.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { CHANNEL, type Fault, type SlackFake, startSlack } from '../fakes/slack.ts';
import { shownText } from '../fakes/slack-limits.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { eventually } from '../support/eventually.ts';
import { long } from '../support/long.ts';
import { type AtEnd, temporaryFolder } from '../support/temporary-folder.ts';
import { sharedAskwatch, spawnAskwatch, startAskwatch } from './askwatch-process.ts';

const socketMode = (slack: SlackFake) => ({
  SLACK_BOT_TOKEN: slack.botToken,
  SLACK_APP_TOKEN: slack.appToken,
  SLACK_API_URL: slack.apiUrl,
});

/** A model behind the gateway's contract. */
async function startModel(atEnd: AtEnd = onTestFinished) {
  const model = await startModelProvider();
  atEnd(() => model.close());
  return { model, env: { GATEWAY_BASE_URL: model.url, GATEWAY_API_KEY: model.apiKey } };
}

/** A monitoring service whose monitors' statuses the test sets; alerts go to the channel. */
async function startWatched(atEnd: AtEnd) {
  const service = await startMonitoringService({ limit: false });
  atEnd(() => service.close());
  const env = {
    MONITORING_BASE_URL: service.url,
    MONITORING_API_KEY: service.apiKey,
    ALERT_CHANNELS: `slack:${CHANNEL}`,
    ALERT_POLL_SECONDS: '1',
  };
  return { service, env };
}

const shown = (slack: SlackFake, channel = CHANNEL) => slack.messages(channel).map(shownText);
const waitFor = <T>(condition: () => T) => eventually(condition, { withinMs: 90_000 });

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

  model.answerWith(Array(2_000).fill('word '), { chunkMs: 20 });
  await slack.slash('/ask', 'a long story');
  const { ts: story } = await waitFor(() => slack.messages(CHANNEL)[known + 1]);
  await waitFor(() => slack.thread(CHANNEL, story)[0]?.edits);
  // With code 1 after ten seconds.
  expect(await askwatch.stop()).toBe(0);
  const [answer] = slack.thread(CHANNEL, story).map(shownText);
  expect(answer).toMatch(/^word/);
  expect(answer).toContain('⚠️');
  expect(answer).not.toContain('Writing…');
  await waitFor(() => slack.sockets() === 0);
  expect(askwatch.output()).not.toMatch(/xoxb-\w|xapp-\w|\/response\//);
  expectNoBreach(slack);
});

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
  const rounds = long ? 60 : 2;
  let slack: SlackFake;
  let model: Awaited<ReturnType<typeof startModel>>['model'];
  let service: Awaited<ReturnType<typeof startWatched>>['service'];
  const askwatch = sharedAskwatch(async (atEnd) => {
    slack = await startSlack(atEnd);
    const answering = await startModel(atEnd);
    const watched = await startWatched(atEnd);
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
    await waitFor(() => service.requests.length > 2);
    const messages = slack.messages(CHANNEL).length;
    const { id } = service.monitors.find((monitor) => monitor.name === name) ?? { id: '' };
    const isTime = killTime();
    service.setStatus(id, 'DOWN');
    await isTime;
    await askwatch().restart();
    await waitFor(() => told(name).length > 0);
    service.setStatus(id, 'UP');
    await waitFor(() => told(name).every((message) => shownText(message).includes('🟢')));
    // Time for the line under it that says that it is over, so that the next fault meets an alert.
    const looks = service.requests.length;
    await waitFor(() => service.requests.length > looks + 2);
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
    await waitFor(() => posts() > before);
  }

  test('while Slack stores an alert and cannot say so, it does not tell twice', async () => {
    await killInOutage('Stored.', () => postMeets({ kind: 'hang', stored: true }));
  });

  test('before Slack took an alert, it tells it after the restart', async () => {
    await killInOutage('Lost.', () => postMeets({ kind: 'hang' }));
  });

  test(
    'at any moment, it tells every outage once and every recovery on the same message',
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        await killInOutage(`Shop ${round}.`, async () => {
          // From before the poll to after the post, a few milliseconds further in each round.
          const polls = service.requests.length;
          await waitFor(() => service.requests.length > polls);
          await new Promise((resolve) => setTimeout(resolve, (round * 7) % 60));
        });
      }
    },
    long ? 900_000 : undefined,
  );

  test('in mid-answer, it answers the next question in the same thread', async () => {
    model.answerWith(Array(500).fill('word '), { chunkMs: 20 });
    const thread = slack.mention('a long story');
    await waitFor(() => slack.thread(CHANNEL, thread)[0]?.edits);
    model.answerWith('Short.');
    await askwatch().restart();
    slack.mention('and now?', { threadTs: thread });
    await waitFor(() =>
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
