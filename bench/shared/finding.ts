import { z } from 'zod';
import { quantile } from '../monitoring/arrivals.ts';
import { median } from './passes.ts';

/** More CPU of others than this, in cores, and a pass is marked as noisy. */
export const NOISY_CORES = 0.2;

/** How a figure is compared: as a `ratio` to the reference, as `added` to a base, or by `itself`. */
const Comparison = z.enum(['ratio', 'added', 'itself']);

const Goal = z.union([z.object({ atMost: z.number() }), z.object({ atLeast: z.number() })]);
export type Goal = z.infer<typeof Goal>;

const PassFigures = z.object({
  askwatch: z.number(),
  /** The counterpart's in the same pass. */
  reference: z.number().optional(),
  /** The base of `added`, in the same pass. */
  base: z.number().optional(),
});
/** Figures of one pass, in the measure's unit. */
export type PassFigures = z.infer<typeof PassFigures>;

export const Finding = z.object({
  /** Stable, and unique in its area. */
  name: z.string(),
  title: z.string(),
  /** Such as `µs` or `/s`; empty for counts. */
  unit: z.string(),
  compare: Comparison,
  /** Absent if the figure only explains others. */
  goal: Goal.optional(),
  passes: z.array(PassFigures).min(1),
  /** Passes in which others used the cores too. */
  noisyPasses: z.number().optional(),
});
export type Finding = z.infer<typeof Finding>;

/** The median over the passes of the compared value. */
export function resultOf({ name, compare, passes }: Finding): number {
  return median(
    passes.map(({ askwatch, reference, base }) => {
      if (compare === 'itself') return askwatch;
      const other = compare === 'ratio' ? reference : base;
      if (other === undefined) throw new Error(`${name} has nothing that it is compared with.`);
      return compare === 'ratio' ? askwatch / other : askwatch - other;
    }),
  );
}

/** The medians of Askwatch's figures and of the reference's; undefined where there is none. */
export function mediansOf({ passes }: Finding): { askwatch: number; reference?: number } {
  const references = passes.flatMap(({ reference }) => reference ?? []);
  return {
    askwatch: median(passes.map(({ askwatch }) => askwatch)),
    ...(references.length > 0 && { reference: median(references) }),
  };
}

/** True if the goal is met; undefined without a goal. */
export function isMet(finding: Finding): boolean | undefined {
  const { goal } = finding;
  if (!goal) return undefined;
  const result = resultOf(finding);
  return 'atMost' in goal ? result <= goal.atMost : result >= goal.atLeast;
}

/** A figure by itself that was read once, while others used so many cores. */
export function findingOfOne(
  finding: Pick<Finding, 'name' | 'title' | 'unit' | 'goal'>,
  value: number,
  foreignCores = 0,
): Finding {
  return {
    ...finding,
    compare: 'itself',
    passes: [{ askwatch: value }],
    noisyPasses: noisyOf([foreignCores]),
  };
}

/** In how many passes others disturbed, from the cores that they kept busy in each. */
export const noisyOf = (foreignCores: readonly number[]) =>
  foreignCores.filter((cores) => cores > NOISY_CORES).length;

/** Percentiles that are reported. */
const SHARES = { p50: 0.5, p95: 0.95, p99: 0.99, most: 1 };
type Share = keyof typeof SHARES;

/** A finding for each share of some times, `<name>-p50` and so on; `timesMs` has one list for each pass. */
export function findingsOfTimes(options: {
  name: string;
  title: string;
  timesMs: ReadonlyArray<readonly number[]>;
  /** The counterpart's, in the same passes. */
  referenceMs?: ReadonlyArray<readonly number[]>;
  shares: Partial<Record<Share, Goal | undefined>>;
}): Finding[] {
  const { name, title, timesMs, referenceMs, shares } = options;
  const count = timesMs.reduce((total, times) => total + times.length, 0);
  return (Object.keys(shares) as Share[]).map((share) => ({
    name: `${name}-${share}`,
    title: `${title}, ${share} of ${count}`,
    unit: 'ms',
    compare: 'itself',
    ...(shares[share] && { goal: shares[share] }),
    passes: timesMs.map((times, pass) => {
      const reference = referenceMs?.[pass];
      return {
        askwatch: quantile(times, SHARES[share]),
        ...(reference && { reference: quantile(reference, SHARES[share]) }),
      };
    }),
  }));
}
