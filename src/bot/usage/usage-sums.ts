import type { UsageEntry } from './usage-log.ts';

/** Answers that have something in common. */
export interface UsageSum {
  answers: number;
  tokens: number;
  /** How often something was looked up for them. */
  lookups: number;
  /** Of the tokens, those that the look-ups took. */
  lookupTokens: number;
  /** The newest of them, for what it is called. */
  last: UsageEntry;
}

/** Sums of the answers of each person, or of each model, those with most tokens first. Pure. */
export function sumsBy(answers: readonly UsageEntry[], by: 'person' | 'model'): UsageSum[] {
  const sums = new Map<string, UsageSum>();
  for (const answer of answers) {
    const {
      answers: count = 0,
      tokens = 0,
      lookups = 0,
      lookupTokens = 0,
    } = sums.get(answer[by]) ?? {};
    sums.set(answer[by], {
      answers: count + 1,
      tokens: tokens + (answer.tokens ?? 0),
      lookups: lookups + (answer.lookups ?? 0),
      lookupTokens: lookupTokens + (answer.lookupTokens ?? 0),
      last: answer,
    });
  }
  return [...sums.values()].sort((a, b) => b.tokens - a.tokens || b.answers - a.answers);
}
