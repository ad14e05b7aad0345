import { expect, test } from 'vitest';
import { createConversations } from '../../../src/bot/ask/conversations.ts';
import { openUnfinishedAnswers } from '../../../src/bot/ask/unfinished-answers.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import type { CommandAnswer, Interrupted, Invocation } from '../../../src/bot/shared/invocation.ts';
import { openSeenInvocations } from '../../../src/bot/shared/seen-invocations.ts';
import { asKilled } from '../../helpers/after-kill.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { eventually } from '../../helpers/eventually.ts';
import { mortalStore } from '../../helpers/mortal-store.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { filesWith, openTestStore } from '../../helpers/test-store.ts';

const DAY_MS = 86_400_000;

const QUESTION = { isQuestion: true, private: false };

const answerOf = (id: string): CommandAnswer => ({
  ...{ kind: 'answer', id, question: `why ${id}?`, private: false },
  async *stream() {},
});

const invocationOf = (id: string, channel = 'C1'): Invocation => ({
  id: `slack:${id}`,
  request: { line: `/ask why ${id}?` },
  place: { platform: 'slack', channel },
  person: { id: 'U1', name: 'Ada' },
});

/** One process on a folder, which takes the place of the one before it. */
async function open(folder: string, nowMs = 0) {
  const { log, lines } = recordingLog();
  const real = await openTestStore({ folder, log });
  const life = { writes: Number.POSITIVE_INFINITY };
  const store = mortalStore(real, life, log);
  const conversations = createConversations(store);
  const seenInvocations = openSeenInvocations(store);
  const clock = createHandClock(nowMs);
  const options = { conversations, seenInvocations, clock, random: () => 0.5, log };
  const unfinished = await openUnfinishedAnswers(store, options);
  return {
    ...{ store, life, conversations, seenInvocations, clock, lines, folder },
    unfinished,
    /** Begins an answer in a channel. */
    async begin(id: string, channel: string, origin?: Record<string, string>) {
      const invocation = { ...invocationOf(id, channel), ...(origin && { origin }) };
      const handling = await seenInvocations.once(invocation, QUESTION);
      if (!handling) throw new Error(`${id} is a repeat.`);
      const answer = unfinished.track(answerOf(id), invocation, handling);
      await answer.begin({ thread: 't1' });
      return answer;
    },
    start(endAnswer: (one: Interrupted) => Promise<void>) {
      unfinished.start([{ name: 'slack', endAnswer }]);
    },
    async kill() {
      const copy = await asKilled(folder);
      await unfinished.stop();
      await store.close();
      return copy;
    },
  };
}

test('a note is retried until it is posted, and other channels do not wait for it', async () => {
  const first = await open(await temporaryFolder());
  await first.begin('a', 'C1');
  await first.begin('b', 'C1');
  const origin = { token: 'encrypted' };
  await first.begin('c', 'C2', origin);
  await (await first.begin('d', 'C2')).ended();
  const second = await open(await first.kill());
  const tried: string[] = [];
  let troubles = 2;
  second.start(async (one) => {
    const { id, channel } = one;
    tried.push(id);
    if (id === 'c') expect(one).toMatchObject({ thread: 't1', shown: {}, origin });
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

test('a note that is refused for good, or a week old, is given up', async () => {
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
    const answer = await first.begin('a', 'C1');
    first.life.writes = writes;
    await answer.ended();
    const { seenInvocations } = await open(await first.kill());
    expect(await seenInvocations.once(invocationOf('a'), QUESTION)).toBeUndefined();
  },
);

test('an interrupted question can be asked again unless its answer is remembered', async () => {
  const first = await open(await temporaryFolder());
  await first.begin('a', 'C1');
  await first.begin('b', 'C2');
  const turn = { id: 'b', question: 'why b?', answer: 'So.', atMs: 1 };
  await first.conversations.add('slack:C2:t1', turn);
  const { seenInvocations, conversations } = await open(await first.kill());
  expect(await seenInvocations.once(invocationOf('a'), QUESTION)).toBeUndefined();
  expect(await conversations.turns('slack:C1:t1')).toEqual([]);
  expect(await conversations.lastAsked('slack:C1:t1')).toMatchObject({
    id: 'a',
    asked: { question: 'why a?' },
  });
  expect(await conversations.turns('slack:C2:t1')).toEqual([turn]);
});

test('a restarted platform posts notes only under the answers that its predecessor left open', async () => {
  const { begin, start, unfinished } = await open(await temporaryFolder());
  const ended: Array<Pick<Interrupted, 'id' | 'thread' | 'note'>> = [];
  start(async ({ id, thread = '', note }) => void ended.push({ id, thread, note }));
  const over = await begin('a', 'C1');
  await begin('b', 'C1');
  const late = await begin('c', 'C2');
  await over.ended();
  const [endSlack, endDiscord] = [unfinished.snapshot('slack'), unfinished.snapshot('discord')];
  await late.ended();
  // The successor's own answers are left alone.
  await begin('d', 'C1');
  endDiscord();
  endSlack();
  const note = 'Interrupted: Askwatch had to reconnect before this answer was complete. Try again.';
  await eventually(() => ended.length > 0);
  unfinished.snapshot('slack')();
  await eventually(() => ended.length > 1);
  expect(ended).toEqual([
    { id: 'b', thread: 't1', note },
    { id: 'd', thread: 't1', note },
  ]);
});

const NOT_ANSWERED = 'Interrupted: Askwatch was restarted before it could answer. Ask again.';
const NOT_DONE =
  'Interrupted: Askwatch was restarted while doing this. Check whether it was done before you try again.';

test.each([
  ['a question', { isQuestion: true, private: false }, NOT_ANSWERED],
  ['a question in private', { isQuestion: true, private: true }, NOT_ANSWERED],
  ['a command', { isQuestion: false, private: true }, NOT_DONE],
])(
  'the person of %s of which nothing was shown is told once, where and as it came',
  async (_, kind, note) => {
    const first = await open(await temporaryFolder());
    const origin = { ts: '171.1', token: 'encrypted' };
    const beganAtMs = Date.now();
    await first.seenInvocations.once({ ...invocationOf('a'), thread: 't1', origin }, kind);
    const second = await open(await first.kill());
    const told: Interrupted[] = [];
    second.start(async (one) => void told.push(one));
    await eventually(() => told.length > 0);
    const [one] = told;
    expect(one).toMatchObject({
      ...{ id: expect.stringMatching(/^[\w-]{12}$/), invocation: 'slack:a', channel: 'C1' },
      ...{ person: 'U1', private: kind.private, thread: 't1', origin, note },
    });
    expect(one).not.toHaveProperty('shown');
    expect(Math.abs((one?.beganAtMs ?? 0) - beganAtMs)).toBeLessThan(10_000);
    // The question is not stored, so there is no Try again.
    expect(await one?.actionsIn('t1')).toEqual([]);

    const third = await open(await second.kill());
    third.start(async ({ invocation }) => {
      throw new Error(`${invocation} was told before.`);
    });
    await third.kill();
    expect(third.lines).toEqual([]);
  },
);

test('a repeat of an interrupted invocation is refused before and after its note', async () => {
  const first = await open(await temporaryFolder());
  await first.seenInvocations.once(invocationOf('a'), QUESTION);
  const { seenInvocations, start } = await open(await first.kill());
  const repeat = () => seenInvocations.once(invocationOf('a'), QUESTION);
  expect(await repeat()).toBeUndefined();
  let isTold = false;
  start(async () => {
    expect(await repeat()).toBeUndefined();
    isTold = true;
  });
  await eventually(() => isTold);
  expect(await repeat()).toBeUndefined();
});

test('a finished, put off or forgotten invocation gets no note', async () => {
  const first = await open(await temporaryFolder());
  const hear = (id: string) => first.seenInvocations.once(invocationOf(id), QUESTION);
  await hear('finished');
  await first.seenInvocations.finish('slack:finished');
  await (await hear('put off'))?.putOff();
  const answered = await first.begin('answered', 'C1');
  await answered.ended();
  await hear('told');
  const second = await open(await first.kill());
  const told: string[] = [];
  second.start(async ({ invocation }) => void told.push(invocation));
  await eventually(() => told.length > 0);
  await second.kill();
  expect(told).toEqual(['slack:told']);
});

test('a failed note is retried, also after another restart', async () => {
  const first = await open(await temporaryFolder());
  await first.seenInvocations.once(invocationOf('a'), QUESTION);
  const second = await open(await first.kill());
  let tries = 0;
  second.start(async () => {
    tries += 1;
    throw new DeliveryError('away', { permanent: false });
  });
  for (const count of [1, 2]) {
    await eventually(() => tries === count && second.clock.isAwaited());
    second.clock.goOn(60_000);
  }
  const third = await open(await second.kill());
  const told: string[] = [];
  third.start(async ({ note }) => void told.push(note));
  await eventually(() => told.length > 0);
  expect(told).toEqual([NOT_ANSWERED]);
});

test('a question is stored only once its answer is shown', async () => {
  const { seenInvocations, folder, store } = await open(await temporaryFolder());
  await seenInvocations.once(invocationOf('secret'), { isQuestion: true, private: true });
  expect(await filesWith('slack:secret', folder)).not.toEqual([]);
  expect(await filesWith('why secret', folder)).toEqual([]);
  await store.close();
});
