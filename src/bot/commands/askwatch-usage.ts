import { z } from 'zod';
import { type Card, type CardPart, tablePart, textCard } from '../shared/card.ts';
import { toAsker } from '../shared/invocation.ts';
import { counted, shortened } from '../shared/text-format.ts';
import type { UsageEntry } from '../usage/usage-log.ts';
import { sumsBy, type UsageSum } from '../usage/usage-sums.ts';
import { command } from './command.ts';

const DAY_MS = 86_400_000;
/** Rows of one table. */
const MAX_ROWS = 10;

/** `/askwatch usage`: who asked how much in this channel. */
export const usageCommand = command({
  name: 'askwatch usage',
  summary: 'Who asked how much in this channel, and which models answered',
  right: 'anyone',
  input: z.object({
    days: z.int().min(1).max(90).optional().describe('How many days back; 30 when left out'),
  }),
  examples: ['/askwatch usage', '/askwatch usage days=7'],
  async run({ days = 30 }, { usageLog, place }) {
    const answers = await usageLog.since(place, Date.now() - days * DAY_MS);
    return toAsker(usageCard(answers, days));
  },
});

/** Answers by person and by model, those with most tokens first. Pure. */
export function usageCard(answers: readonly UsageEntry[], days: number): Card {
  const span = days === 1 ? 'the last day' : `the last ${days} days`;
  if (answers.length === 0) {
    return textCard(
      'info',
      `Nobody asked here in ${span}`,
      'Ask something: /ask why is the sky blue?',
    );
  }
  const all = total(sumsBy(answers, 'model'));
  const isPartly = answers.some(({ tokens }) => tokens === undefined);
  return {
    tone: 'info',
    title: `${counted(all.answers, 'answer')} with ${all.tokens.toLocaleString('en')} tokens${all.lookups > 0 ? ` and ${counted(all.lookups, 'look-up')}` : ''} in ${span}`,
    parts: [
      table('Person', answers, { by: 'person', shown: 'name' }),
      table('Model', answers, { by: 'model', shown: 'model' }),
    ],
    footer: [
      'Tokens of questions, of what was sent with them, and of answers.',
      ...(all.lookups > 0
        ? ['Those of look-ups are among them: what models wrote to look, and prompts sent again.']
        : []),
      ...(isPartly ? ['Some answers came without a count.'] : []),
    ].join(' '),
  };
}

/** One row for all answers that are alike in `by`; it shows `shown` of the last of them. */
function table(
  column: string,
  answers: readonly UsageEntry[],
  { by, shown }: { by: 'person' | 'model'; shown: 'name' | 'model' },
): CardPart {
  const sums = sumsBy(answers, by);
  const others = sums.slice(MAX_ROWS);
  const hasLookups = sums.some(({ lookups }) => lookups > 0);
  const row = (name: string, sum: Omit<UsageSum, 'last'>) => [
    name,
    String(sum.answers),
    sum.tokens.toLocaleString('en'),
    ...(hasLookups ? [String(sum.lookups), sum.lookupTokens.toLocaleString('en')] : []),
  ];
  return tablePart(
    [column, 'Answers', 'Tokens', ...(hasLookups ? ['Look-ups', 'Their tokens'] : [])],
    [
      ...sums.slice(0, MAX_ROWS).map((sum) => row(shortened(sum.last[shown], 60), sum)),
      ...(others.length > 0 ? [row(`${others.length} others`, total(others))] : []),
    ],
  );
}

const total = (sums: readonly UsageSum[]) => ({
  answers: sums.reduce((all, { answers }) => all + answers, 0),
  tokens: sums.reduce((all, { tokens }) => all + tokens, 0),
  lookups: sums.reduce((all, { lookups }) => all + lookups, 0),
  lookupTokens: sums.reduce((all, { lookupTokens }) => all + lookupTokens, 0),
});
