import { expect, onTestFinished, test, vi } from 'vitest';
import { AnswerRun } from '../../../src/bot/ask/answer-run.ts';

const usage = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

test('look-up tokens are the calls and the repeated prompts', () => {
  const run = new AnswerRun(undefined, 60_000);
  expect(run.lookupTokens).toBeUndefined();
  run.recordUsage(usage(1_000, 20), 0);
  run.recordToolRound(0);
  run.countLookup();
  run.recordUsage(usage(1_500, 30), 1);
  run.recordToolRound(1);
  run.recordUsage(usage(2_000, 400), 2);
  expect([run.tokens, run.lookupTokens]).toEqual([4_950, 20 + 1_500 + 30 + 2_000]);
  run.startModel({ id: 'test-model' });
  expect(run.footer()).toMatch(/ · 4950 tokens \(1000 prompt, 3550 look-ups, 400 answer\)$/);
  run.end();
});

test('a look-up by rules costs no tokens', () => {
  const run = new AnswerRun(undefined, 60_000);
  run.countLookup();
  expect(run.lookupTokens).toBeUndefined();
  run.recordUsage(usage(1_000, 20), 1);
  expect(run.lookupTokens).toBe(0);
  run.end();
});

test('the footer of an ended answer keeps its time', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  onTestFinished(() => void now.mockRestore());
  const run = new AnswerRun(undefined, 60_000);
  run.startModel({ id: 'test-model' });
  now.mockReturnValue(2_200);
  run.end();
  // An answer that is shared is shown long after it ended, and what ends it again changes nothing.
  now.mockReturnValue(9_000);
  run.end();
  expect(run.footer()).toBe('test-model · 1.2 s');
});
