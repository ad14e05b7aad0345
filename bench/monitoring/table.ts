import { NOISY_CORES } from '../shared/reading.ts';
import { figure } from '../shared/table.ts';

export const HEADER = ['measure', 'reference', 'askwatch', 'result', 'goal', ''];

/** What was found of one measure. */
export interface Finding {
  title: string;
  value: number;
  unit: string;
  goal: { atLeast: number } | { atMost: number };
  /** The bare loop in the same run, and the least share of it that will do. */
  reference?: { value: number; atLeast: number };
  /** Cores that others used. */
  foreignCores: number;
}

/** The row of a finding; `*` and `?` mark one that others disturbed. */
export function rowOf(finding: Finding): string[] {
  const { title, value, unit, goal, reference, foreignCores } = finding;
  const noisy = foreignCores > NOISY_CORES;
  const written = `${figure(value)} ${unit}`;
  const ratio = reference && value / reference.value;
  const [limit, sign, good] =
    'atMost' in goal
      ? ([goal.atMost, '<=', value <= goal.atMost] as const)
      : ([goal.atLeast, '>=', value >= goal.atLeast] as const);
  const share = reference ? `, >= ${reference.atLeast.toFixed(2)}x` : '';
  const fits = good && (reference === undefined || (ratio ?? 0) >= reference.atLeast);
  return [
    title,
    reference ? `${figure(reference.value)} ${unit}` : '',
    `${noisy ? '*' : ''}${written}`,
    ratio === undefined ? '' : `${ratio.toFixed(2)}x`,
    `${sign} ${limit} ${unit}${share}`,
    `${fits ? 'ok' : 'atMost' in goal ? 'over' : 'under'}${noisy ? '?' : ''}`,
  ];
}
