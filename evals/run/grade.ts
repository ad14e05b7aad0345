import type { EvalCase } from '../cases/case.ts';
import type { Evidence } from './evidence.ts';
import type { Judge } from './judge.ts';

/** The verdict on a criterion; `not judged` if it needs a judge and there is none. */
export interface Graded {
  says: string;
  verdict: 'yes' | 'no' | 'not judged';
  /** Why it is not, or what the judge said. */
  why?: string;
  weight: number;
}

/** Grades an answer by code first, then with one call of a judge for all that code cannot tell. */
export async function grade(
  { criteria }: Pick<EvalCase, 'criteria'>,
  evidence: Evidence,
  judge: Judge | undefined,
): Promise<Graded[]> {
  const toJudge = criteria.filter((one) => one.by === 'judge');
  const byCode = new Map<unknown, Pick<Graded, 'verdict' | 'why'>>();
  for (const criterion of criteria) {
    if (criterion.by !== 'code') continue;
    const finding = await criterion.check(evidence);
    byCode.set(criterion, finding === true ? { verdict: 'yes' } : { verdict: 'no', why: finding });
  }
  const judged = toJudge.length > 0 ? await judge?.(evidence, toJudge) : [];
  return criteria.map((criterion) => {
    const { says, weight = 1 } = criterion;
    if (criterion.by === 'code') return { says, ...findingOf(byCode, criterion), weight };
    const ruling = judged?.[toJudge.indexOf(criterion)];
    return { says, ...(ruling ?? { verdict: 'not judged' as const }), weight };
  });
}

function findingOf<T>(findings: ReadonlyMap<unknown, T>, criterion: unknown): T {
  const finding = findings.get(criterion);
  if (finding === undefined) throw new Error('a criterion was not graded');
  return finding;
}

/** A try is right when every criterion is; what nobody judged is never right, and nothing makes good for what is wrong. */
export function outcomeOf(graded: readonly Graded[]): 'passed' | 'failed' | 'not judged' {
  if (graded.some(({ verdict }) => verdict === 'no')) return 'failed';
  return graded.some(({ verdict }) => verdict === 'not judged') ? 'not judged' : 'passed';
}

/** The share of its weight that is right, 0 to 1. */
export function scoreOf(graded: readonly Graded[]): number {
  const sum = (all: readonly Graded[]) => all.reduce((weights, { weight }) => weights + weight, 0);
  return sum(graded.filter(({ verdict }) => verdict === 'yes')) / sum(graded);
}
