import { checkFindings } from './bench-run.ts';
import type { Cores } from './cores.ts';
import type { Finding } from './finding.ts';
import type { Patience } from './passes.ts';

/** Options of every area. */
export interface BenchContext {
  /** An empty folder that goes with the bench. */
  folder: string;
  cores: Cores;
  quick: boolean;
  /** The one measure that is asked for; all when undefined. */
  only: string | undefined;
  /** Another program of the same kind that is to be measured in the same run, one of the area's `peers`. */
  beside: string | undefined;
  /** Folder for CPU profiles; undefined without profiling. */
  profile: string | undefined;
  patience: Patience;
  /** Says something below the table. */
  note(text: string): void;
  /** Says how far it is. */
  progress(text: string): void;
  /** Says what only those want to know who look closer. */
  detail(text: string): void;
}

/** A part of Askwatch with its own measures. */
export interface Area {
  /** Names for `--only`. */
  measures: readonly string[];
  /** Names of supported peers. */
  peers?: readonly string[];
  /** It takes so long, or so much, that `all` leaves it out. */
  isOnRequest?: boolean;
  /** Measures. Throws when something could not be measured, or was answered wrongly. */
  run(context: BenchContext): Promise<Finding[]>;
}

/** An area could not measure all of it. */
export class UnfinishedError extends Error {
  override name = 'UnfinishedError' as const;
  /** Findings of the earlier run. */
  readonly found: Finding[];

  constructor(message: string, found: Finding[], options: ErrorOptions) {
    super(message, options);
    this.found = found;
  }
}

/**
 * Measures what is asked for, one after another, until one cannot be measured: what it started may still run and would disturb
 * the others. Throws an `UnfinishedError` then, which names the measure.
 */
export async function runMeasures<Bed>(
  { only, progress, detail }: BenchContext,
  measures: Record<string, (bed: Bed) => Promise<Finding[]>>,
  bed: Bed,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, measure] of Object.entries(measures)) {
    if (only !== undefined && name !== only) continue;
    progress(name);
    const startMs = performance.now();
    try {
      const found = await measure(bed);
      checkFindings(found);
      findings.push(...found);
      detail(`${name} took ${Math.round((performance.now() - startMs) / 1000)} s`);
    } catch (cause) {
      throw new UnfinishedError(`${name}: ${(cause as Error).message}`, findings, { cause });
    }
  }
  return findings;
}
