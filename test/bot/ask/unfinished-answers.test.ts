import { expect, test } from 'vitest';
import { createConversations } from '../../../src/bot/ask/conversations.ts';
import { openUnfinishedAnswers } from '../../../src/bot/ask/unfinished-answers.ts';
import type { Platform } from '../../../src/bot/platform.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import type { CommandAnswer, UnfinishedAnswer } from '../../../src/bot/shared/invocation.ts';
import { openSeenInvocations, unclaimed } from '../../../src/bot/shared/seen-invocations.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { asKilled } from '../../helpers/after-kill.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { eventually } from '../../helpers/eventually.ts';
import { mortalStore } from '../../helpers/mortal-store.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const DAY_MS = 86_400_000;

const answerOf = (id: string): CommandAnswer => ({
  ...{ kind: 'answer', id, question: `why ${id}?`, private: false },
  async *stream() {},
});

const invocationOf = (id: string) => ({
  id,
  request: { line: '/ask' },
  place: { platform: 'slack', channel: 'C1' },
  person: { id: 'U1', name: 'Ada' },
});

/** What one process knows, on the folder of the one before it. */
async function open(folder: string, nowMs = 0) {
  const { log, lines } = recordingLog();
  const real = await openLowdbStore({ folder, log });
  const life = { writes: Number.POSITIVE_INFINITY };
  const store = mortalStore(real, life, log);
  const conversations = createConversations(store);
  const seenInvocations = await openSeenInvocations(store);
  const clock = createHandClock(nowMs);
  const cut = () => {};
  const options = { conversations, seenInvocations, cut, clock, random: () => 0.5, log };
  const unfinished = await openUnfinishedAnswers(store, options);
  return {
    ...{ store, life, conversations, seenInvocations, clock, lines },
    /** Begins an answer in a channel. */
    async begin(id: string, channel: string) {
      const place = { platform: 'slack', channel } as const;
      const invocation = { ...invocationOf(`slack:${id}`), place };
      const answer = unfinished.noted(answerOf(id), invocation, unclaimed());
      await answer.begin({ thread: 't1' });
      return answer;
    },
    start(endAnswer: (one: UnfinishedAnswer) => Promise<void>) {
      unfinished.start([{ name: 'slack', endAnswer } as Partial<Platform> as Platform]);
    },
    snapshot: unfinished.snapshot,
    async kill() {
      const copy = await asKilled(folder);
      await unfinished.stop();
      await store.close();
      return copy;
    },
  };
}

test('an unfinished answer is tried again until the platform has ended it, and holds up no other channel', async () => {
  const first = await open(await temporaryFolder());
  await first.begin('a', 'C1');
  await first.begin('b', 'C1');
  await first.begin('c', 'C2');
  await (await first.begin('d', 'C2')).ended();
  const second = await open(await first.kill());
  const tried: string[] = [];
  let troubles = 2;
  second.start(async ({ id, channel }) => {
    tried.push(id);
    if (channel === 'C1' && troubles-- > 0) throw new DeliveryError('away', { permanent: false });
  });
  await eventually(() => second.clock.isAwaited() && tried.includes('c'));
  expect(tried.sort()).toEqual(['a', 'c']);
  for (const tries of [3, 5]) {
    await eventually(() => second.clock.isAwaited());
    second.clock.goOn(60_000);
    await eventually(() => tried.length >= tries);
  }
  expect(tried).toEqual(['a', 'c', 'a', 'a', 'b']);

  const third = await open(await second.kill());
  third.start(async ({ id }) => {
    throw new Error(`${id} was ended before.`);
  });
  expect(third.lines).toEqual([]);
});

test('an answer that can never be ended is given up, and so is one that nobody waits for any more', async () => {
  const first = await open(await temporaryFolder());
  await first.begin('a', 'C1');
  const second = await open(await first.kill());
  second.start(async () => {
    throw new DeliveryError('gone', { permanent: true });
  });
  await eventually(() =>
    second.lines.some(({ msg }) => /an interrupted answer.* giving up/.test(String(msg))),
  );
  await second.begin('b', 'C1');
  const third = await open(await second.kill(), 8 * DAY_MS);
  const tried: string[] = [];
  third.start(async ({ id }) => void tried.push(id));
  const fourth = await open(await third.kill());
  fourth.start(async ({ id }) => void tried.push(id));
  expect(tried).toEqual([]);
});

test.each([0, 1, 2])(
  'an answer whose end is shown is not given again, killed after %i writes',
  async (writes) => {
    const first = await open(await temporaryFolder());
    await first.seenInvocations.once(invocationOf('slack:a'), false);
    const answer = await first.begin('a', 'C1');
    first.life.writes = writes;
    await answer.ended();
    const { seenInvocations } = await open(await first.kill());
    expect(await seenInvocations.once(invocationOf('slack:a'), false)).toBeUndefined();
  },
);

test('its invocation is refused from then on; its question can be asked again, unless its answer is remembered', async () => {
  const first = await open(await temporaryFolder());
  await first.seenInvocations.once(invocationOf('slack:a'), false);
  await first.begin('a', 'C1');
  await first.begin('b', 'C2');
  const turn = { id: 'b', question: 'why b?', answer: 'So.', atMs: 1 };
  await first.conversations.add('slack:C2:t1', turn);
  const { seenInvocations, conversations } = await open(await first.kill());
  expect(await seenInvocations.once(invocationOf('slack:a'), false)).toBeUndefined();
  expect(await conversations.turns('slack:C1:t1')).toEqual([]);
  expect(await conversations.lastAsked('slack:C1:t1')).toMatchObject({
    id: 'a',
    asked: { question: 'why a?' },
  });
  expect(await conversations.turns('slack:C2:t1')).toEqual([turn]);
});

test('a platform that is started again ends the answers that the one before left open, and nothing else', async () => {
  const { begin, start, snapshot } = await open(await temporaryFolder());
  const ended: Array<Pick<UnfinishedAnswer, 'id' | 'thread' | 'note'>> = [];
  start(async ({ id, thread = '', note }) => void ended.push({ id, thread, note }));
  const over = await begin('a', 'C1');
  await begin('b', 'C1');
  const late = await begin('c', 'C2');
  await over.ended();
  const [endSlack, endDiscord] = [snapshot('slack'), snapshot('discord')];
  await late.ended();
  // Of the new one's own answers none is meant.
  await begin('d', 'C1');
  endDiscord();
  endSlack();
  const note = 'Interrupted: Askwatch had to reconnect before this answer was complete. Try again.';
  await eventually(() => ended.length > 0);
  snapshot('slack')();
  await eventually(() => ended.length > 1);
  expect(ended).toEqual([
    { id: 'b', thread: 't1', note },
    { id: 'd', thread: 't1', note },
  ]);
});
