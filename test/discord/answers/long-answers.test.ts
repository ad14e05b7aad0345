// Bolt first: what is imported first decides which undici is the global one, and uploads must not depend on that.
import '@slack/bolt';
import { MessageFlags } from 'discord.js';
import { expect, test } from 'vitest';
import type { FakeMessage } from '../../fakes/discord/state.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';

/** 100,000 characters, no two words alike, with a code block in the middle. */
const WORDS = Array.from({ length: 20_000 }, (_, index) => `w${index}`).join(' ');
const LONG =
  `${WORDS.slice(0, 9_000)}\n\n\`\`\`ts\n${WORDS.slice(9_000, 40_000)}\n\`\`\`\n\n${WORDS}`.slice(
    0,
    100_000,
  );

const REST = /\*The rest, [\d,]+ characters, is in the file answer\.md\.\*/;

async function start() {
  // Each of these is many messages, and what is asked is how they are cut.
  const running = await runDiscord({ fake: { limit: false } });
  running.provider.answerWith([LONG.slice(0, 3_000), LONG.slice(3_000)]);
  const isEnd = ({ content }: FakeMessage) => content.includes('-# test-model');
  /** The messages of an answer once its end is among them. */
  const shown = (messages: () => FakeMessage[]) =>
    eventually(() => messages().some(isEnd) && messages());
  return { ...running, shown };
}

/** Everything an answer says, without fences and notes, as words. */
function wordsOf(messages: readonly FakeMessage[]): string[] {
  const texts = [
    ...messages.map(({ content }) => content),
    messages.at(-1)?.attachments[0]?.bytes.toString(),
  ];
  return texts.flatMap((text) => text?.match(/\bw\d+\b/g) ?? []);
}

const WANTED = LONG.match(/\bw\d+\b/g) ?? [];

function checkWhole(messages: readonly FakeMessage[]) {
  const last = messages.at(-1);
  expect(last?.content).toMatch(REST);
  expect(last?.attachments).toMatchObject([{ filename: 'answer.md' }]);
  expect(messages.slice(0, -1).flatMap(({ attachments }) => attachments)).toEqual([]);
  expect(messages.length).toBeLessThanOrEqual(9);
  // It continues inside the code block that the last message had to close.
  expect(last?.attachments[0]?.bytes.toString()).toMatch(/^```ts\n ?w\d+ /);
  expect(wordsOf(messages)).toEqual(WANTED);
}

test('an answer of 100,000 characters continues in a file', async () => {
  const { discord, shown } = await start();
  const asked = discord.slash('ask', { question: 'All?' });
  const id = await eventually(() => asked.reply?.content && asked.reply.id);
  checkWhole(await shown(() => discord.channel(id)));
});

test('so it is in private, and where there are no threads', async () => {
  const { discord, shown } = await start();
  const asked = discord.slash('ask', { question: 'All?', private: true });
  const only = await shown(() => [...(asked.reply ? [asked.reply] : []), ...asked.followUps]);
  checkWhole(only);
  expect(only.every(({ flags }) => (flags & MessageFlags.Ephemeral) !== 0)).toBe(true);
  // A file goes by a request of its own, which says like any other that nothing in it may ping.
  const withFile = discord.requests.filter(({ uploads }) => uploads.length > 0);
  expect(withFile.map(({ body }) => body?.allowed_mentions)).toEqual([{ parse: [] }]);
  discord.deny(discord.general, 'CreatePublicThreads');
  discord.slash('ask', { question: 'All?' });
  const all = await shown(() => discord.channel(discord.general.id));
  checkWhole(all.slice(1));
});
test('the last message explains missing files', async () => {
  const { discord, shown } = await start();
  discord.deny(discord.general, 'AttachFiles');
  const asked = discord.slash('ask', { question: 'All?' });
  const id = await eventually(() => asked.reply?.content && asked.reply.id);
  const messages = await shown(() => discord.channel(id));
  expect(messages.at(-1)?.content).toMatch(/The rest, [\d,]+ characters, could not be attached\./);
  expect(messages.at(-1)?.content).toContain('Attach Files');
  expect(messages.at(-1)?.attachments).toEqual([]);
});
