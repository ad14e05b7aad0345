import { expect, test } from 'vitest';
import { createTurnTaking } from '../../../src/bot/ask/turn-taking.ts';

const open = () => new AbortController().signal;

test('one caller at a time has the turn of a key', async () => {
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

test('a full queue refuses callers, and an aborted one leaves it', async () => {
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
