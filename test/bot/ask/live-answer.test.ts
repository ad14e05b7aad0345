import { setImmediate as immediate, setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { everyMs, type LiveView } from '../../../src/bot/ask/live-answer.ts';
import type { AnswerPart } from '../../../src/bot/shared/invocation.ts';
import { showLive } from '../../helpers/bot/show-live.ts';
import { eventually } from '../../helpers/eventually.ts';

/** An answer whose parts are handed over one by one. */
function createParts() {
  const waiting: AnswerPart[] = [];
  let finished = false;
  let failure: Error | undefined;
  let wake = () => {};
  async function* read(): AsyncGenerator<AnswerPart> {
    for (;;) {
      const part = waiting.shift();
      if (part) yield part;
      else if (failure) throw failure;
      else if (finished) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  return {
    stream: read(),
    text(text: string) {
      waiting.push({ kind: 'text', text });
      wake();
    },
    end(note?: string) {
      waiting.push({ kind: 'end', footer: 'model · 1 s', note });
      finished = true;
      wake();
    },
    fail(error: Error) {
      failure = error;
      wake();
    },
  };
}

/** Records every view, with the moments its show began and ended. */
function createScreen(showMs = 0) {
  const shows: Array<{ view: LiveView; startMs: number; endMs: number }> = [];
  return {
    shows,
    async show(view: LiveView) {
      const startMs = performance.now();
      if (showMs > 0) await pause(showMs);
      shows.push({ view, startMs, endMs: performance.now() });
    },
  };
}

test('shows the first text at once and the end with all text', async () => {
  const parts = createParts();
  const { shows, show } = createScreen();
  const done = showLive(parts.stream, { limit: 100, turn: everyMs(() => 60), show });
  parts.text('Hel');
  await eventually(() => shows.length === 1);
  parts.text('lo');
  parts.end();
  await done;
  expect(shows[0]?.view).toEqual({ messages: ['Hel'] });
  expect(shows.at(-1)?.view).toEqual({ messages: ['Hello'], end: { footer: 'model · 1 s' } });
});

test('shows one view at a time, spaced, newest text winning', async () => {
  const parts = createParts();
  const { shows, show } = createScreen(15);
  const beganMs = performance.now();
  const done = showLive(parts.stream, { limit: 100, turn: everyMs(() => 40), show });
  for (let count = 0; count < 60; count += 1) {
    // Twenty at a time, each lot while the one before is shown.
    if (count % 20 === 0) await eventually(() => shows.length >= count / 20);
    parts.text('x');
  }
  parts.end('Stopped.');
  await done;
  expect(shows.length).toBeGreaterThanOrEqual(3);
  expect(shows.length).toBeLessThan(10);
  expect(shows.at(-1)?.view).toEqual({
    messages: ['x'.repeat(60)],
    end: { note: 'Stopped.', footer: 'model · 1 s' },
  });
  for (const [index, later] of shows.slice(1).entries()) {
    const earlier = shows[index];
    expect(later.startMs).toBeGreaterThanOrEqual(earlier?.endMs ?? Infinity);
  }
  // All of them together: a busy machine may stand still between a turn and its show. Neither the first nor the last waits,
  // and timers may fire a millisecond early.
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(39 * (shows.length - 2));
});

test('a failed view is reported and shown again at the next turn with newer text', async () => {
  const parts = createParts();
  const { shows, show } = createScreen();
  const errors: unknown[] = [];
  const done = showLive(parts.stream, {
    limit: 100,
    turn: everyMs(() => 5),
    show: async (view) => {
      if (errors.length < 3) throw new Error('500');
      await show(view);
    },
    onShowError: (error) => errors.push(error),
  });
  parts.text('one ');
  await eventually(() => errors.length > 0);
  parts.text('two');
  await eventually(() => shows.length > 0);
  expect(errors).toHaveLength(3);
  parts.end();
  await done;
  expect(shows.map(({ view }) => view.messages)).toEqual([['one two'], ['one two']]);
});

test('shows only the end if nobody can read the answer any more', async () => {
  const parts = createParts();
  const gone = new AbortController();
  const tried: string[] = [];
  const done = showLive(parts.stream, {
    limit: 100,
    turn: () => immediate(),
    async show({ messages, end }) {
      tried.push(`${messages}${end ? ' (end)' : ''}`);
      if (!end) throw new Error('403');
    },
    onShowError: () => gone.abort(),
    gone: gone.signal,
  });
  parts.text('one ');
  await eventually(() => tried.length === 1);
  parts.text('two ');
  for (let turn = 0; turn < 10; turn++) await immediate();
  parts.text('three');
  parts.end();
  await done;
  expect(tried).toEqual(['one', 'one two three (end)']);
});

test('each turn shows the text so far, and the end waits for none', async () => {
  const parts = createParts();
  const { shows, show } = createScreen();
  const turns: Array<() => void> = [];
  const turn = (ended: AbortSignal) =>
    new Promise<void>((resolve) => {
      turns.push(resolve);
      ended.addEventListener('abort', () => resolve());
    });
  const done = showLive(parts.stream, { limit: 100, turn, show });
  parts.text('one ');
  await eventually(() => turns.length === 1);
  parts.text('two ');
  // Read by the time of the turn.
  await pause(0);
  turns[0]?.();
  await eventually(() => turns.length === 2 || shows.length === 1);
  parts.text('three');
  await eventually(() => turns.length === 2);
  parts.end();
  await done;
  expect(shows.map(({ view }) => view.messages)).toEqual([['one two'], ['one two three']]);
});

test('throws when the last view cannot be shown', async () => {
  const parts = createParts();
  parts.text('one');
  parts.end();
  const done = showLive(parts.stream, {
    limit: 100,
    turn: everyMs(() => 0),
    show: (view) => (view.end ? Promise.reject(new Error('gone')) : Promise.resolve()),
  });
  await expect(done).rejects.toThrow('gone');
});

test('shows the text that came before the parts threw, then throws the same', async () => {
  const parts = createParts();
  const { shows, show } = createScreen();
  parts.text('so far');
  parts.fail(new Error('broken'));
  await expect(
    showLive(parts.stream, { limit: 100, turn: everyMs(() => 0), show }),
  ).rejects.toThrow('broken');
  expect(shows.at(-1)?.view).toEqual({ messages: ['so far'] });
});

test('an answer without text has an end and no message', async () => {
  const parts = createParts();
  const { shows, show } = createScreen();
  parts.text('  \n');
  parts.end('No model answered.');
  await showLive(parts.stream, { limit: 100, turn: everyMs(() => 0), show });
  expect(shows.map(({ view }) => view)).toEqual([
    { messages: [], end: { note: 'No model answered.', footer: 'model · 1 s' } },
  ]);
});
