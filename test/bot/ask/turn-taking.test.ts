import { expect, test } from 'vitest';
import { createTurnTaking } from '../../../src/bot/ask/turn-taking.ts';

const open = () => new AbortController().signal;

test('a turn of one key is waited for, and one of another key is not', async () => {
  const turns = createTurnTaking({ maxWaiting: 5 });
  const endFirst = await turns.take('a', open());
  expect(await turns.take('b', open())).toBeDefined();
  let isNext = false;
  const second = turns.take('a', open()).then((end) => {
    isNext = true;
    return end;
  });
  expect([turns.isTaken('a'), turns.isTaken('c')]).toEqual([true, false]);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isNext).toBe(false);
  endFirst?.();
  // A second end is not the end of the next one's turn.
  endFirst?.();
  const endSecond = await second;
  expect(turns.isTaken('a')).toBe(true);
  endSecond?.();
  expect(turns.isTaken('a')).toBe(false);
});

test('no more wait for a turn than may, and nobody who has gone', async () => {
  const turns = createTurnTaking({ maxWaiting: 1 });
  const endFirst = await turns.take('a', open());
  const gone = new AbortController();
  const waiting = turns.take('a', gone.signal);
  expect(await turns.take('a', open())).toBeUndefined();
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  // Another caller may wait in its place.
  const next = turns.take('a', open());
  endFirst?.();
  (await next)?.();
  await expect(turns.take('a', AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  expect(turns.isTaken('a')).toBe(false);
});

test('turns of any key are taken one at a time, in the order in which they were asked for', async () => {
  const turns = createTurnTaking({ maxWaiting: 100 });
  for (const key of ['', '\u0000', '__proto__', '\ud800']) {
    const order: number[] = [];
    let inside = 0;
    const all = Array.from({ length: 12 }, async (_, no) => {
      const end = await turns.take(key, open());
      inside += 1;
      expect(inside).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 1));
      inside -= 1;
      order.push(no);
      end?.();
    });
    await Promise.all(all);
    expect(order).toEqual(Array.from({ length: 12 }, (_, no) => no));
  }
});
