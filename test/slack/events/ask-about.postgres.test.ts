import { describe, expect, onTestFinished, test } from 'vitest';
import { ASK_ABOUT } from '../../../src/bot/commands/ask-about.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { startBreakableProxy } from '../../helpers/console/breakable-proxy.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';

type Database = Awaited<ReturnType<typeof testDatabase>>;

/** So that a process is thought dead within a test's time. */
const SHORT = { ttlMs: 1_500, beatMs: 200 };

/** A process of the bot, which can be killed: from then on nothing that it does reaches anybody. */
async function startProcess(fake: SlackFake, database: Database) {
  const [toSlack, toDatabase] = [
    await startBreakableProxy(fake.apiUrl),
    await startBreakableProxy(database.url),
  ];
  const own = new URL(database.url);
  own.port = new URL(toDatabase.url).port;
  const store = await database.open({ url: own.href, times: SHORT });
  const provider = await startModelProvider();
  onTestFinished(() => provider.close());
  provider.answerWith('A connection was cut.');
  const { bot } = await startTestBot({ store, provider, settings: RESTING });
  const { slack } = await makeSlack({ fake, store, drainMs: 100, apiUrl: `${toSlack.url}/api/` });
  await slack.start(bot);
  await bot.start([slack]);
  return {
    provider,
    kill() {
      toSlack.cut();
      toDatabase.cut();
    },
  };
}

describe.skipIf(!hasPostgres)('a question about a message', () => {
  test('is gone on with by another process, which knows the message and its thread', async () => {
    const fake = await startSlack();
    const database = await testDatabase();
    const first = await startProcess(fake, database);
    const thread = fake.say('The shop is slow');
    const ts = fake.say('ECONNRESET: s3cret-in-log', { threadTs: thread, user: 'U00BEN' });
    await fake.chooseFor(ts, ASK_ABOUT.id);
    await eventually(() => fake.form());
    first.provider.holdChunks();
    await fake.submit({ question: 'what is it?' });
    await eventually(() => first.provider.calls.length === 1);
    const second = await startProcess(fake, database);
    first.kill();
    await eventually(() =>
      fake
        .thread(CHANNEL, thread)
        .some((one) => shownText(one).startsWith('A connection was cut.')),
    );
    const [call] = second.provider.calls;
    const told = String(call?.body.messages.at(-1).content);
    expect(told).toMatch(
      /^The question is about this message[\s\S]*ben: ECONNRESET: s3cret-in-log/,
    );
    expect(told).toContain('ada: The shop is slow');
    expect(told).toMatch(/what is it\?$/);
    const texts = fake.thread(CHANNEL, thread).map(shownText);
    expect(texts.filter((text) => text.startsWith('ada asks'))).toHaveLength(1);
    expect(texts.filter((text) => text.startsWith('A connection'))).toHaveLength(1);
  });
});
