import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { LiveView } from '../../../src/bot/ask/live-answer.ts';
import type { AnswerPart } from '../../../src/bot/shared/invocation.ts';
import { type EditKind, EditPace } from '../../../src/slack/api/edit-pace.ts';
import { createSlackClock } from '../../fakes/slack/clock.ts';
import { createTiers } from '../../fakes/slack/tiers.ts';
import { showLive } from '../../helpers/bot/show-live.ts';
import { long } from '../../helpers/long.ts';

const EDIT_MS = 1_300;
/** The model writes a word in this time. */
const WORD_MS = 1_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Edit {
  answer: number;
  kind: EditKind;
  atMs: number;
  words: number;
}

/** A workspace whose edits Slack counts as it does, and takes a while to get. */
function startWorkspace() {
  const pace = new EditPace({ editMs: EDIT_MS });
  const tiers = createTiers(createSlackClock());
  const edits: Edit[] = [];
  let refused = 0;
  let sent = 0;

  /** A call of `chat.update`, whose turn has come; throws when Slack refuses it. */
  async function edit(answer: number, kind: EditKind, words = 0) {
    sent += 1;
    // On the way between 20 and 500 ms, differently each time.
    await pause(20 + ((sent * 137) % 481));
    const retryAfterSeconds = countElsewhere();
    if (retryAfterSeconds !== undefined) {
      refused += 1;
      pace.limited(retryAfterSeconds * 1000);
      throw new Error('429');
    }
    pace.took();
    edits.push({ answer, kind, atMs: performance.now(), words });
  }

  /** An edit as Slack counts it. */
  const countElsewhere = () => tiers.retryAfterSeconds({ method: 'chat.update', channel: 'C1' });

  /** An answer of so many words, shown as Slack's are; resolves when its end is shown. */
  async function answer(number: number, words: number) {
    let kind: EditKind = 'first';
    async function* write(): AsyncGenerator<AnswerPart> {
      for (let word = 0; word < words; word += 1) {
        await pause(WORD_MS);
        yield { kind: 'text', text: 'word ' };
      }
      yield { kind: 'end', footer: 'over' };
    }
    async function show({ messages, end }: LiveView) {
      const shown = messages.join(' ').split(' ').length;
      if (end) await pace.turn('end');
      await edit(number, end ? 'end' : kind, shown);
      kind = 'more';
    }
    const turn = (ended: AbortSignal) => pace.turn(kind, ended);
    await showLive(write(), { limit: 1e6, turn, show });
  }

  return { pace, edits, answer, countElsewhere, refused: () => refused };
}

const gapsOf = (edits: Edit[]) =>
  edits.slice(1).map(({ atMs }, at) => atMs - (edits[at]?.atMs ?? 0));
const mean = (numbers: number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

describe.each([1, 10, 40])('%d answers at once', (count) => {
  test('are edited in turn, each as seldom as there are others, and never too often for Slack', async () => {
    const { edits, answer, refused } = startWorkspace();
    for (let number = 0; number < count; number += 1) void answer(number, 1e6);
    const minutes = long ? 5 : 2;
    await pass(minutes * 60_000);
    expect(refused()).toBe(0);
    const edited = Array.from({ length: count }, (_, number) =>
      edits.filter((each) => each.answer === number),
    );
    const most = (minutes * 60_000) / EDIT_MS / count;
    for (const own of edited) {
      expect(Math.abs(own.length - most)).toBeLessThanOrEqual(1 + most * 0.02);
      expect(Math.abs(mean(gapsOf(own)) - count * EDIT_MS)).toBeLessThan(count * EDIT_MS * 0.05);
      // Words that were written when the edit started.
      for (const { atMs, words } of own) {
        expect(words).toBeLessThanOrEqual(atMs / WORD_MS);
        expect(words).toBeGreaterThanOrEqual((atMs - 500) / WORD_MS - 1);
      }
    }
  });
});

test('the first text of an answer goes before more of others', async () => {
  const { edits, answer } = startWorkspace();
  for (let number = 0; number < 30; number += 1) void answer(number, 1e6);
  await pass(120_000);
  const askedAtMs = performance.now();
  void answer(99, 1e6);
  await pass(60_000);
  const [first] = edits.filter((each) => each.answer === 99);
  expect(first?.atMs).toBeLessThan(askedAtMs + WORD_MS + EDIT_MS + 500);
});

test('ends and alerts go before all that is being written, however much that is', async () => {
  const { pace, edits, answer, refused } = startWorkspace();
  for (let number = 0; number < 20; number += 1) void answer(number, 1e6);
  await pass(120_000);
  const fromMs = performance.now();
  const ends = [101, 102, 103].map((number) => answer(number, 1));
  let alertWaitMs = 0;
  for (let left = pace.take('alert'); left !== undefined; left = pace.take('alert')) {
    alertWaitMs += left;
    await pass(left);
  }
  expect(alertWaitMs).toBeLessThanOrEqual(EDIT_MS);
  await pass(6 * EDIT_MS);
  await Promise.all(ends);
  const since = edits.filter(({ atMs, kind }) => atMs > fromMs + WORD_MS && kind !== 'first');
  // One that was on its way may come between.
  const order = since.map(({ kind }) => kind).slice(0, 5);
  expect(order.filter((kind) => kind === 'end')).toHaveLength(3);
  expect(refused()).toBe(0);
});

test('changes a message below an alert soon although an answer is being written', async () => {
  const { pace, answer } = startWorkspace();
  void answer(0, 1e6);
  await pass(120_000);
  let waitMs = 0;
  for (let left = pace.take('below'); left !== undefined; left = pace.take('below')) {
    waitMs += left;
    await pass(left);
  }
  expect(waitMs).toBeLessThanOrEqual(2 * EDIT_MS);
});

test('a limit that was met all the same stops all edits for its time, slows them, and is got over', async () => {
  const { edits, answer, countElsewhere, refused } = startWorkspace();
  for (let number = 0; number < 5; number += 1) void answer(number, 1e6);
  await pass(60_000);
  // Another program edits with the same app.
  while (countElsewhere() === undefined);
  const fromMs = performance.now();
  await pass(120_000);
  expect(refused()).toBe(1);
  const after = edits.filter(({ atMs }) => atMs > fromMs);
  const slow = gapsOf(after.slice(0, 8));
  expect(mean(slow)).toBeGreaterThan(1.5 * EDIT_MS);
  await pass(120_000);
  const late = edits.filter(({ atMs }) => atMs > fromMs + 180_000);
  expect(Math.abs(mean(gapsOf(late)) - EDIT_MS)).toBeLessThan(0.1 * EDIT_MS);
  expect(refused()).toBe(1);
});
test('nothing waits at the end of the program', async () => {
  const pace = new EditPace({ editMs: EDIT_MS });
  // A minute of Slack's is used up.
  for (let taken = 0; taken < 50; taken += 1) expect(pace.take('alert')).toBeUndefined();
  const hurried = pace.turn('end');
  const written = pace.turn('more');
  pace.hurry();
  await hurried;
  expect(await Promise.race([written.then(() => 'written'), 'waits'])).toBe('waits');
  // Slack's refusal lasts as long as before.
  pace.limited(60_000);
  expect(pace.take('end')).toBeGreaterThan(59_000);
  expect(pace.hasRunOut('end')).toBe(true);
  pace.close();
  await expect(written).rejects.toThrow('stopped');
  const closed = new EditPace({ editMs: EDIT_MS });
  closed.limited(60_000);
  const left = closed.turn('end');
  closed.close();
  await expect(left).rejects.toThrow('stopped');
  await expect(closed.turn('more')).rejects.toThrow('stopped');
});
