import { expect, onTestFinished, test, vi } from 'vitest';
import { createConversations } from '../../../src/bot/ask/conversations.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const DAY_MS = 86_400_000;

async function openConversations() {
  const clock = { nowMs: 1_800_000_000_000 };
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  vi.spyOn(Date, 'now').mockImplementation(() => clock.nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const conversations = createConversations(store);
  return { clock, store, conversations };
}

test('a conversation keeps its newest fifty turns', async () => {
  const { conversations, store } = await openConversations();
  for (let i = 1; i <= 60; i += 1) {
    await conversations.add('k', { question: `q${i}`, answer: 'a', atMs: i });
  }
  const turns = await conversations.turns('k');
  expect([turns.length, turns[0]?.question, turns.at(-1)?.question]).toEqual([50, 'q11', 'q60']);
  await store.close();
});

test('a conversation stays under half a megabyte, and its last turn stays whole', async () => {
  const { conversations, store } = await openConversations();
  const answer = 'ä'.repeat(50_000);
  for (let i = 1; i <= 8; i += 1) {
    await conversations.add('k', { question: `q${i}`, answer, atMs: i });
  }
  expect((await conversations.turns('k')).map(({ question }) => question)).toEqual([
    'q4',
    'q5',
    'q6',
    'q7',
    'q8',
  ]);
  const huge = { question: 'huge', answer: 'x'.repeat(600_000), atMs: 9 };
  await conversations.add('k', huge);
  expect(await conversations.turns('k')).toEqual([huge]);
  await store.close();
});

test('a thread belongs to the bot from its first question on, and is forgotten after 90 silent days', async () => {
  const { conversations, clock, store } = await openConversations();
  expect(await conversations.stateOf('old')).toBeUndefined();
  await conversations.open('old');
  await conversations.open('kept');
  expect(await conversations.stateOf('old')).toBe('ours');
  clock.nowMs += 89 * DAY_MS;
  await conversations.add('kept', { question: 'q', answer: 'a', atMs: clock.nowMs });
  await conversations.forgetOld();
  expect(await conversations.stateOf('old')).toBe('ours');
  clock.nowMs += 2 * DAY_MS;
  await conversations.forgetOld();
  expect(await conversations.stateOf('old')).toBeUndefined();
  expect(await conversations.turns('kept')).toHaveLength(1);
  await store.close();
});

test('a question asked while silent threads are forgotten is remembered', async () => {
  const { conversations, clock, store } = await openConversations();
  await conversations.open('old');
  clock.nowMs += 91 * DAY_MS;
  const turn = { question: 'q', answer: 'a', atMs: clock.nowMs };
  await Promise.all([conversations.forgetOld(), conversations.add('old', turn)]);
  expect(await conversations.turns('old')).toEqual([turn]);
  await store.close();
});
