import { z } from 'zod';
import { CommandError } from '../shared/errors.ts';
import { counted, shortened } from '../shared/text-format.ts';
import { sumsBy } from '../usage/usage-log.ts';
import { isoTime, tool } from './tool.ts';

const DAY_MS = 86_400_000;
const STANDARD_DAYS = 30;
const MAX_ROWS = 20;

const Row = z.object({
  name: z.string(),
  answers: z.int(),
  tokens: z.number(),
  lookups: z.int(),
  lookup_tokens: z.number(),
});

export const getUsage = tool({
  name: 'get_usage',
  title: "Show this channel's usage",
  description: 'Counts answers and tokens in this channel, by person and by model.',
  ofPlace: true,
  input: z.object({
    days: z.int().min(1).max(90).optional().describe(`Days back; default ${STANDARD_DAYS}.`),
  }),
  output: z.object({
    from: z.string(),
    to: z.string(),
    answers: z.int(),
    tokens: z.number(),
    by_person: z.array(Row),
    by_model: z.array(Row),
  }),
  what: ({ days = STANDARD_DAYS }) => `usage here in ${lastDays(days)}`,
  account: ({ answers, tokens }) => ({
    found: `${counted(answers, 'answer')}, ${tokens.toLocaleString('en')} tokens`,
  }),
  async run({ days = STANDARD_DAYS }, { usageLog, place, nowMs }) {
    if (!place) throw new CommandError('There is no channel here.');
    const fromMs = nowMs - days * DAY_MS;
    const answers = await usageLog.since(place, fromMs);
    const rows = (by: 'person' | 'model') =>
      sumsBy(answers, by)
        .slice(0, MAX_ROWS)
        .map(({ last, lookupTokens, ...sum }) => ({
          name: shortened(by === 'person' ? last.name : last.model, 100),
          ...sum,
          lookup_tokens: lookupTokens,
        }));
    return {
      from: isoTime(fromMs),
      to: isoTime(nowMs),
      answers: answers.length,
      tokens: answers.reduce((sum, one) => sum + (one.tokens ?? 0), 0),
      by_person: rows('person'),
      by_model: rows('model'),
    };
  },
});

const lastDays = (days: number) => (days === 1 ? 'the last day' : `the last ${days} days`);
