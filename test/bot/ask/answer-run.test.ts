import { expect, onTestFinished, test, vi } from 'vitest';
import { createAnswerRun } from '../../../src/bot/ask/answer-run.ts';

test('the footer of an answer that has ended tells the same time whenever it is asked for', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  onTestFinished(() => void now.mockRestore());
  const run = createAnswerRun(undefined, 60_000);
  run.began({ id: 'test-model' });
  now.mockReturnValue(2_200);
  run.end();
  // An answer that is shared is shown long after it ended, and what ends it again changes nothing.
  now.mockReturnValue(9_000);
  run.end();
  expect(run.footer()).toBe('test-model · 1.2 s');
});
