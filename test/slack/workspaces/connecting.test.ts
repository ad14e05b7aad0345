import { describe, expect, test } from 'vitest';
import { PlatformStartError } from '../../../src/bot/shared/errors.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { makeSlack, runSlack } from '../../helpers/slack/running-slack.ts';

/** The sentence with which a start is refused. */
async function refusal(start: Promise<void>): Promise<string> {
  const error = await start.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(PlatformStartError);
  return (error as Error).message;
}

describe('a start that Slack refuses says which setting to change', () => {
  test.each([
    [
      'a wrong bot token',
      { botToken: 'xoxb-wrong-token-000' },
      /^SLACK_BOT_TOKEN: .*invalid_auth.*OAuth/,
    ],
    [
      'a wrong app token',
      { appToken: 'xapp-wrong-token-000' },
      /^SLACK_APP_TOKEN: .*invalid_auth.*Basic/,
    ],
    [
      'an app token that is a bot token',
      { appToken: 'xoxb-fake-bot-token-1234' },
      /^SLACK_APP_TOKEN: .*wrong type/,
    ],
  ])('%s', async (_what, tokens, sentence) => {
    const { slack } = await makeSlack(tokens);
    const { bot } = await startTestBot();
    const message = await refusal(slack.start(bot));
    expect(message).toMatch(sentence);
    expect(message).not.toMatch(/xoxb-\w{4}|xapp-\w{4}/);
  });

  test('an app without chat:write', async () => {
    const { fake, slack } = await makeSlack();
    fake.scopes.delete('chat:write');
    expect(await refusal(slack.start((await startTestBot()).bot))).toMatch(
      /SLACK_BOT_TOKEN: .*chat:write/,
    );
  });

  test('an app token without connections:write', async () => {
    const { fake, slack } = await makeSlack();
    fake.fail('apps.connections.open', { kind: 'error', error: 'missing_scope' });
    expect(await refusal(slack.start((await startTestBot()).bot))).toMatch(
      /SLACK_APP_TOKEN: .*connections:write/,
    );
  });

  test('an address that is not Slack’s', async () => {
    const { fake, slack } = await makeSlack();
    fake.fail('auth.test', { kind: 'status', status: 404 });
    expect(await refusal(slack.start((await startTestBot()).bot))).toMatch(/^SLACK_API_URL: /);
  });
});

test('a start waits while Slack is away', async () => {
  const { fake, slack, lines } = await makeSlack();
  fake.fail('apps.connections.open', { kind: 'status', status: 503 }, { times: 2 });
  await slack.start((await startTestBot()).bot);
  expect(fake.sockets()).toBe(1);
  expect(lines.filter(({ msg }) => String(msg).includes('retrying'))).toHaveLength(2);
});
test.each(['asked to go', 'cut'])(
  'a connection that is %s is opened again, and nothing is lost',
  async (how) => {
    const { fake } = await runSlack();
    for (const round of [1, 2]) {
      if (how === 'cut') fake.cut();
      else fake.disconnect();
      await eventually(
        () => fake.calls.filter(({ method }) => method === 'apps.connections.open').length > round,
      );
      const ts = fake.mention(`question ${round}`);
      await eventually(() => fake.thread(CHANNEL, ts).length === 1);
    }
  },
);
test('an app token that is revoked later ends the program with a sentence', async () => {
  const { fake, fatal } = await runSlack();
  fake.revoke('app');
  fake.disconnect();
  const [error] = await eventually(() => fatal.length > 0 && fatal);
  expect(error?.message).toMatch(/^SLACK_APP_TOKEN: .*token_revoked/);
});

test('a bot token that is revoked later ends the program once, with a sentence', async () => {
  const { fake, fatal } = await runSlack();
  fake.revoke('bot', 'account_inactive');
  await fake.slash('/ask', 'are you there?');
  await fake.slash('/ask', 'and now?');
  const [error] = await eventually(() => fatal.length > 0 && fatal);
  expect(error?.message).toMatch(/^SLACK_BOT_TOKEN: .*account_inactive/);
  await eventually(() => fake.whispers(CHANNEL).length === 2);
  expect(fatal).toHaveLength(1);
});

test('a stop takes nothing new, shows what was begun, and closes the connection', async () => {
  const { fake, slack, bot } = await runSlack({ drainMs: 60_000 });
  bot.provider.answerWith(Array(4_000).fill('word '), { chunkMs: 25 });
  await fake.slash('/ask', 'a long story');
  const { ts } = await eventually(() => fake.messages(CHANNEL)[0]);
  await eventually(() => fake.thread(CHANNEL, ts)[0]?.edits);
  await bot.bot.stop();
  await slack.stop();
  // The other side of the connection notices a moment later.
  await eventually(() => fake.sockets() === 0);
  const [answer] = fake.thread(CHANNEL, ts).map(shownText);
  expect(answer).toContain('word');
  expect(answer).toContain('⚠️');
  expect(answer).not.toContain('Writing…');
});

test('over HTTP nothing is taken before the start and after the stop, so that Slack sends it again', async () => {
  const { fake, slack } = await makeSlack({ mode: 'http' });
  const status = async () =>
    ((await fake.slash('/ask', 'hello')) as unknown as { status: number }).status;
  expect(await status()).toBe(503);
  await slack.start((await startTestBot()).bot);
  expect(await status()).toBe(200);
  await slack.stop();
  expect(await status()).toBe(503);
});

test('over HTTP a request with another signature is refused', async () => {
  const fake = await startSlack();
  const { slack, lines } = await makeSlack({
    fake: { ...fake, signingSecret: 'another' },
    mode: 'http',
  });
  const { bot, provider } = await startTestBot();
  await slack.start(bot);
  const ack = (await fake.slash('/ask', 'hello')) as unknown as { status: number };
  expect(ack.status).toBe(401);
  expect(provider.calls).toEqual([]);
  expect(JSON.stringify(lines)).not.toContain('another');
});

test('over HTTP a request is refused that was signed more than five minutes ago, or from now', async () => {
  const { fake, bot, lines } = await runSlack({ mode: 'http' });
  const statusAt = async (aheadSeconds: number) => {
    fake.aheadSeconds = aheadSeconds;
    return ((await fake.slash('/askwatch', 'help')) as unknown as { status: number }).status;
  };
  // A minute of room on either side: the request is on its way for a moment.
  for (const seconds of [-240, 0, 240]) expect(await statusAt(seconds)).toBe(200);
  for (const seconds of [-360, 360, 400, 86_400, 1e12]) expect(await statusAt(seconds)).toBe(401);
  await eventually(() => fake.whispers(CHANNEL).length === 3);
  expect(bot.provider.calls).toEqual([]);
  expect(lines.filter(({ msg }) => String(msg).includes('signed in the future'))).toHaveLength(4);
});

test('no token, ticket or response address reaches the log', async () => {
  const { fake, lines } = await runSlack();
  await fake.slash('/askwatch', 'help');
  await eventually(() => fake.whispers(CHANNEL).length > 0);
  const log = JSON.stringify(lines);
  expect(log).not.toMatch(/fake-bot-token|fake-app-token|fake-ticket|\/response\//);
});
