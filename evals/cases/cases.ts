import { ALWAYS, CLAIMS_NOTHING, NO_CARD } from '../criteria/criteria.ts';
import type { EvalCase } from './case.ts';
import { HOSTILE } from './hostile.ts';
import { INCIDENTS } from './incidents.ts';
import { STATUS } from './status.ts';
import { UNKNOWN } from './unknown.ts';
import { UPTIME } from './uptime.ts';
import { WRITES } from './writes.ts';

/** Every case, with what holds for all of them. */
export const CASES: readonly EvalCase[] = [
  ...[...STATUS, ...INCIDENTS, ...UPTIME, ...WRITES, ...HOSTILE, ...UNKNOWN].map(whole),
];

/**
 * Minimum number of cases by tag. A run over fewer would prove less than it seems to, so it fails. Update it with every new case.
 */
export const CASES_COUNT = {
  all: 62,
  status: 20,
  incidents: 14,
  uptime: 10,
  writes: 6,
  hostile: 6,
  unknown: 6,
} as const;

function whole(one: EvalCase): EvalCase {
  const { proposes = false, criteria } = one;
  return { ...one, criteria: [...criteria, ...ALWAYS, proposes ? CLAIMS_NOTHING : NO_CARD] };
}

/** Which kinds there are too few cases of, as sentences. Pure. */
export function missingIn(cases: ReadonlyArray<Pick<EvalCase, 'tags'>>): string[] {
  return Object.entries(CASES_COUNT).flatMap(([tag, wanted]) => {
    const found = cases.filter(({ tags }) => tag === 'all' || tags.includes(tag)).length;
    return found < wanted ? [`There are ${found} cases of ${wanted} (${tag}).`] : [];
  });
}
