import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitMessages } from '../../../src/bot/ask/prompt.ts';
import { estimatePromptTokens } from '../../../src/contracts/tokens.ts';
import { long } from '../../helpers/long.ts';

const turn = (question: string, answer: string) => ({ question, answer, atMs: 0 });

test('a prompt leaves room for a reply and keeps the newest turns without a gap', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 300 });
  fc.assert(
    fc.property(
      fc.array(fc.record({ question: text, answer: text, atMs: fc.constant(0) })),
      text,
      fc.integer({ min: 1, max: 3000 }),
      (turns, question, contextTokens) => {
        const messages = fitMessages({ system: 'Be brief.', turns, question }, contextTokens);
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

test('an unknown context counts as 4096 tokens', () => {
  const turns = [turn('old '.repeat(3000), 'x'), turn('new', 'y'.repeat(4000))];
  const prompt = { system: 's', turns, question: 'q' };
  expect(fitMessages(prompt)?.map(({ content }) => String(content).slice(0, 3))).toEqual([
    's',
    'new',
    'yyy',
    'q',
  ]);
  expect(fitMessages({ ...prompt, question: 'q'.repeat(4 * 4096) })).toBeUndefined();
});
