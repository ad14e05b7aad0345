import { z } from 'zod';
import type { UsageEntry } from '../ask/usage-log.ts';
import { type Card, type CardPart, textCard } from '../shared/card.ts';
import { toAsker } from '../shared/invocation.ts';
import { counted, shortened } from '../shared/text-format.ts';
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
  const all = total(answers);
  const isPartly = answers.some(({ tokens }) => tokens === undefined);
  return {
    tone: 'info',
    title: `${counted(all.answers, 'answer')} with ${all.tokens.toLocaleString('en')} tokens in ${span}`,
    parts: [
      table(
        'Person',
        answers,
        ({ person }) => person,
        ({ name }) => name,
      ),
      table(
        'Model',
        answers,
        ({ model }) => model,
        ({ model }) => model,
      ),
    ],
    footer: `Tokens of questions, of what was sent with them, and of answers.${isPartly ? ' Some answers came without a count.' : ''}`,
  };
}

/** One row for each key; shown under the name of its last answer. */
function table(
  column: string,
  answers: readonly UsageEntry[],
  keyOf: (one: UsageEntry) => string,
  nameOf: (one: UsageEntry) => string,
): CardPart {
  const groups = new Map<string, UsageEntry[]>();
  for (const one of answers) {
    const group = groups.get(keyOf(one));
    if (group) group.push(one);
    else groups.set(keyOf(one), [one]);
  }
  const rows = [...groups.values()]
    .map((group) => {
      const last = group.at(-1);
      return { ...total(group), name: last ? shortened(nameOf(last), 60) : '' };
    })
    .sort((a, b) => b.tokens - a.tokens || b.answers - a.answers);
  const others = rows.slice(MAX_ROWS);
  const rest =
    others.length === 0
      ? []
      : [
          {
            name: `${others.length} others`,
            answers: others.reduce((sum, one) => sum + one.answers, 0),
            tokens: others.reduce((sum, one) => sum + one.tokens, 0),
          },
        ];
  return {
    kind: 'table',
    columns: [column, 'Answers', 'Tokens'],
    rows: [...rows.slice(0, MAX_ROWS), ...rest].map((row) => [
      row.name,
      String(row.answers),
      row.tokens.toLocaleString('en'),
    ]),
  };
}

const total = (answers: readonly UsageEntry[]) => ({
  answers: answers.length,
  tokens: answers.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
});
