import { z } from 'zod';
import type { RatingCounts } from '../feedback/feedback.ts';
import { type Card, type CardPart, tablePart, textCard } from '../shared/card.ts';
import { toAsker } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
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
  summary: 'Answers and tokens in this channel by person and by model, with ratings',
  right: 'anyone',
  input: z.object({
    days: z.int().min(1).max(90).optional().describe('How many days back; 30 if omitted'),
  }),
  examples: ['/askwatch usage', '/askwatch usage days=7'],
  async run({ days = 30 }, { usageLog, feedback, place }) {
    const fromMs = Date.now() - days * DAY_MS;
    const answers = await usageLog.since(place, fromMs);
    const ratings = await feedback.countsIn(placeKey(place), fromMs);
    return toAsker(usageCard(answers, days, ratings));
  },
});

/** Answers by person and by model, those with most tokens first, and how those of each model were rated. Pure. */
export function usageCard(
  answers: readonly UsageEntry[],
  days: number,
  ratings: readonly RatingCounts[] = [],
): Card {
  const span = days === 1 ? 'the last day' : `the last ${days} days`;
  if (answers.length === 0) {
    const hint = 'Ask something: /ask why is the sky blue?';
    const card = textCard('info', `No questions here in ${span}`, hint);
    return { ...card, parts: [...card.parts, ...ratingsTable(ratings)] };
  }
  const all = total(sumsBy(answers, 'model'));
  const isPartly = answers.some(({ tokens }) => tokens === undefined);
  return {
    tone: 'info',
    title: `${counted(all.answers, 'answer')} with ${all.tokens.toLocaleString('en')} tokens${all.lookups > 0 ? ` and ${counted(all.lookups, 'look-up')}` : ''} in ${span}`,
    parts: [
      table('Person', answers, { by: 'person', shown: 'name' }),
      table('Model', answers, { by: 'model', shown: 'model' }),
      ...ratingsTable(ratings),
    ],
    footer: [
      'Tokens cover questions, everything sent with them, and answers.',
      ...(all.lookups > 0
        ? ['They include look-ups: the calls that models wrote, and the prompts sent again.']
        : []),
      ...(isPartly ? ['Token counts are missing for some answers.'] : []),
    ].join(' '),
  };
}

/** Not a table where nobody rated anything. */
function ratingsTable(ratings: readonly RatingCounts[]): CardPart[] {
  if (ratings.length === 0) return [];
  const others = ratings.slice(MAX_ROWS);
  const sumOf = (as: 'good' | 'bad') => others.reduce((sum, one) => sum + one[as], 0);
  const rest = { model: `${others.length} others`, good: sumOf('good'), bad: sumOf('bad') };
  const shown = [...ratings.slice(0, MAX_ROWS), ...(others.length > 0 ? [rest] : [])];
  return [
    tablePart(
      ['Model', 'Rated'],
      shown.map(({ model, good, bad }) => [shortened(model, 60), `👍 ${good} · 👎 ${bad}`]),
    ),
  ];
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
    [column, 'Answers', 'Tokens', ...(hasLookups ? ['Look-ups', 'Look-up tokens'] : [])],
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
