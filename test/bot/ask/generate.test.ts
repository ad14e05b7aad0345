import fc from 'fast-check';
import { expect, test } from 'vitest';
import { trim } from '../../../src/bot/ask/generate.ts';
import { inWords } from '../../../src/bot/shared/text-format.ts';
import { estimatePromptTokens } from '../../../src/contracts/tokens.ts';
import { long } from '../../helpers/long.ts';

const turn = (question: string, answer: string) => ({ question, answer, atMs: 0 });

test('never sends more than the context less room for a reply, and keeps the newest turns without a gap', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 300 });
  fc.assert(
    fc.property(
      fc.array(fc.record({ question: text, answer: text, atMs: fc.constant(0) })),
      text,
      fc.integer({ min: 1, max: 3000 }),
      (turns, question, contextTokens) => {
        const messages = trim({ system: 'Be brief.', turns, question }, contextTokens);
        const all = [
          { role: 'system' as const, content: 'Be brief.' },
          ...turns.flatMap((one) => [
            { role: 'user' as const, content: one.question },
            { role: 'assistant' as const, content: one.answer },
          ]),
          { role: 'user' as const, content: question },
        ];
        if (!messages) {
          const least = estimatePromptTokens([...all.slice(0, 1), ...all.slice(-1)]);
          expect(least).toBeGreaterThan(contextTokens * 0.75 - 1);
          return;
        }
        expect(estimatePromptTokens(messages)).toBeLessThanOrEqual(contextTokens * 0.75);
        expect(messages).toEqual([all[0], ...all.slice(all.length - messages.length + 1)]);
      },
    ),
    { numRuns: long ? 1_000 : 40 },
  );
});

test('assumes 4096 tokens for a model that does not say, and forgets only what does not fit', () => {
  const turns = [turn('old '.repeat(3000), 'x'), turn('new', 'y'.repeat(4000))];
  const prompt = { system: 's', turns, question: 'q' };
  expect(trim(prompt)?.map(({ content }) => String(content).slice(0, 3))).toEqual([
    's',
    'new',
    'yyy',
    'q',
  ]);
  expect(trim({ ...prompt, question: 'q'.repeat(4 * 4096) })).toBeUndefined();
});

test.each([
  [0, '1 second'],
  [45_000, '45 seconds'],
  [60_000, '1 minute'],
  [90_400, '1 minute 30 seconds'],
  [3_600_000, '1 hour'],
  [3_605_000, '1 hour'],
  [2 * 86_400_000 + 3_600_000 + 5, '2 days 1 hour'],
])('%d ms are %s', (ms, words) => {
  expect(inWords(ms)).toBe(words);
});
