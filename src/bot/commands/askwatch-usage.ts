import { z } from 'zod';
import { type Card, type CardPart, compact, tablePart, textCard } from '../shared/card.ts';
import { toAsker } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import { counted, shortened } from '../shared/text-format.ts';
import { sumsBy, type UsageEntry, type UsageSum } from '../usage/usage-log.ts';
import { command } from './command.ts';

const DAY_MS = 86_400_000;
/** Rows of one table. */
const MAX_ROWS = 10;

export const usageCommand = command({
  name: 'askwatch usage',
  summary: 'Answers and tokens in this channel by person and by model, with ratings',
  group: 'ask',
  right: 'anyone',
  input: z.object({
    days: z.int().min(1).max(90).optional().describe('How many days back; 30 if omitted'),
  }),
  examples: ['/askwatch usage', '/askwatch usage days=7'],
  async run({ days = 30 }, { usageLog, features, place }) {
    const fromMs = Date.now() - days * DAY_MS;
    const answers = await usageLog.since(place, fromMs);
    const more = await Promise.all(
      features.all.map((one) => one.usageParts?.(placeKey(place), fromMs) ?? []),
    );
    return toAsker(usageCard(answers, days, more.flat()));
  },
});

/** Answers by person and by model, those with most tokens first, and what features add. Pure. */
export function usageCard(
  answers: readonly UsageEntry[],
  days: number,
  more: readonly CardPart[] = [],
): Card {
  const span = days === 1 ? 'the last day' : `the last ${days} days`;
  if (answers.length === 0) {
    const hint = 'Ask something: /ask why is the sky blue?';
    const card = textCard('info', `No questions here in ${span}`, hint);
    return { ...card, parts: [...card.parts, ...more] };
  }
  const all = total(sumsBy(answers, 'model'));
  const isPartly = answers.some(({ tokens }) => tokens === undefined);
  return {
    tone: 'info',
    title: `${counted(all.answers, 'answer')} with ${all.tokens.toLocaleString('en')} tokens${all.lookups > 0 ? ` and ${counted(all.lookups, 'look-up')}` : ''} in ${span}`,
    parts: [
      table('Person', answers, { by: 'person', shown: 'name' }),
      table('Model', answers, { by: 'model', shown: 'model' }),
      ...more,
    ],
    footer: compact(
      'Tokens cover questions, everything sent with them, and answers.',
      all.lookups > 0 &&
        'They include look-ups: the calls that models wrote, and the prompts sent again.',
      isPartly && 'Token counts are missing for some answers.',
    ).join(' '),
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
    [column, 'Answers', 'Tokens', ...(hasLookups ? ['Look-ups', 'Look-up tokens'] : [])],
    [
      ...sums.slice(0, MAX_ROWS).map((sum) => row(shortened(sum.last[shown], 60), sum)),
      ...(others.length > 0 ? [row(`${others.length} others`, total(others))] : []),
    ],
  );
}

function total(sums: readonly UsageSum[]) {
  const sumOf = (key: Exclude<keyof UsageSum, 'last'>) =>
    sums.reduce((all, sum) => all + sum[key], 0);
  return {
    answers: sumOf('answers'),
    tokens: sumOf('tokens'),
    lookups: sumOf('lookups'),
    lookupTokens: sumOf('lookupTokens'),
  };
}
