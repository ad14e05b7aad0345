import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../fakes/model-provider.ts';
import { labelsOf } from '../fakes/slack/buttons.ts';
import { shownText } from '../fakes/slack/limits.ts';
import { type SlackFake, startSlack } from '../fakes/slack/slack.ts';
import type { Message } from '../fakes/slack/workspace.ts';
import { startTestBot } from '../helpers/bot.ts';
import { startBreakableProxy } from '../helpers/console/breakable-proxy.ts';
import { eventually } from '../helpers/eventually.ts';
import { long } from '../helpers/long.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { createRandom } from '../helpers/random.ts';
import { seed } from '../helpers/seed.ts';
import { makeSlack, RESTING } from '../helpers/slack/running-slack.ts';

/** So that a process is thought dead within a test's time. */
const SHORT = { ttlMs: 1_500, beatMs: 200 };
const WORDS = Array.from({ length: 40 }, (_, no) => ` w${no}`);
const WHOLE = WORDS.join('').trim();

type Database = Awaited<ReturnType<typeof testDatabase>>;
type Provider = Awaited<ReturnType<typeof startModelProvider>>;

/** A process of the bot, which can be killed: from then on nothing that it does reaches anybody. */
async function startProcess(fake: SlackFake, database: Database, provider: Provider) {
  const wires = [await startBreakableProxy(fake.apiUrl), await startBreakableProxy(database.url)];
  const [toSlack, toDatabase] = wires;
  const own = new URL(database.url);
  own.port = new URL(toDatabase?.url ?? '').port;
  const store = await database.open({ url: own.href, times: SHORT });
  const { bot, lines } = await startTestBot({ store, provider, settings: RESTING });
  const { slack, fatal } = await makeSlack({
    ...{ fake, store, drainMs: 100 },
    apiUrl: `${toSlack?.url}/api/`,
  });
  await slack.start(bot);
  await bot.start([slack]);
  return {
    ...{ bot, slack, lines, fatal },
    kill() {
      for (const wire of wires) wire.cut();
    },
    wake() {
      for (const wire of wires) wire.mend();
    },
  };
}

/** Has an end: its buttons are those of an answer that nobody writes any more. */
const isEnded = (message: Message) => {
  const labels = labelsOf(message);
  return labels.length > 0 && !labels.includes('Stop');
};

describe.skipIf(!hasPostgres)(
  'three processes in a workspace, any of which dies at any moment',
  () => {
    test('answer every question once, in one message with an end', async () => {
      const random = createRandom(seed());
      const fake = await startSlack();
      const database = await testDatabase();
      const provider = await startModelProvider();
      onTestFinished(() => provider.close());
      provider.answerWith(WORDS, { chunkMs: 20 });
      const start = () => startProcess(fake, database, provider);
      const alive = [await start(), await start(), await start()];
      const dead: typeof alive = [];
      const channels = Array.from(
        { length: 4 },
        (_, no) => fake.addChannel({ id: `C00N${no}` }).id,
      );
      const direct = fake.addChannel({ id: 'D00ADA' }).id;

      const threads: { channel: string; thread: string }[] = [];
      const commands: { channel: string; text: string; isHeard: Promise<boolean> }[] = [];
      function ask(no: number) {
        const channel = channels[no % channels.length] ?? '';
        const text = `question ${no}`;
        if (no % 3 === 0) threads.push({ channel, thread: fake.mention(text, { channel }) });
        else if (no % 3 === 1)
          threads.push({ channel: direct, thread: fake.say(text, { channel: direct }) });
        else {
          const isHeard = fake.slash('/ask', text, { channel }).then(({ ms }) => ms !== undefined);
          commands.push({ channel, text, isHeard });
        }
      }

      const rounds = long ? 40 : 6;
      for (let round = 0; round < rounds; round += 1) {
        for (let no = 0; no < 3; no += 1) {
          ask(3 * round + no);
          await pause(random() * 200);
        }
        await pause(random() * 600);
        const [hit] = alive.splice(Math.floor(random() * alive.length), 1);
        if (!hit) continue;
        hit.kill();
        if (round % 3 < 2) {
          dead.push(hit);
          alive.push(await start());
          continue;
        }
        // One stands still for so long that it counts as dead, and goes on.
        await pause(2 * SHORT.ttlMs);
        hit.wake();
        alive.push(hit);
      }

      const ownIn = (channel: string, thread: string) =>
        fake.thread(channel, thread).filter(({ bot_id }) => bot_id);
      for (const { channel, text, isHeard } of commands) {
        // Slack sends a command once: of what nobody heard the person is told.
        if (!(await isHeard)) continue;
        const root = await eventually(() =>
          fake.messages(channel).find((message) => shownText(message).includes(text)),
        );
        threads.push({ channel, thread: root.ts });
      }
      const shown = () => threads.map(({ channel, thread }) => ownIn(channel, thread));
      const isRight = (own: Message[]) => own.length === 1 && own.every(isEnded);
      await eventually(() => shown().every(isRight)).catch(() => {
        // What is there says more than that something is not.
        const wrong = shown().filter((own) => !isRight(own));
        expect(wrong.map((own) => own.map((one) => [one.metadata, shownText(one)]))).toEqual([]);
      });

      // Those that were dead come back from a long standstill.
      for (const one of dead) one.wake();
      await pause(1_000);
      for (const own of shown()) {
        expect(own).toHaveLength(1);
        expect(own.map(shownText).join()).toMatch(new RegExp(`${WHOLE}|Interrupted|Try again`));
      }
      const roots = channels.flatMap((channel) => fake.messages(channel)).map(shownText);
      for (const { text } of commands) {
        expect(roots.filter((root) => root.endsWith(text)).length).toBeLessThanOrEqual(1);
      }
      expect(fake.unhandled).toEqual([]);
      expect([...alive, ...dead].flatMap(({ fatal }) => fatal)).toEqual([]);
    });
  },
);
