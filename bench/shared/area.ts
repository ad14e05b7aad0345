import type { Cores } from './cores.ts';
import type { Patience } from './passes.ts';

/** What every area of the bench is given. */
export interface BenchContext {
  /** An empty folder that goes with the bench. */
  folder: string;
  cores: Cores;
  quick: boolean;
  /** The one measure that is asked for; all when undefined. */
  only: string | undefined;
  /** Where CPU profiles of what is measured are put; undefined when none are made. */
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
  measures: readonly string[];
  /** Measures and gives the table. Throws when something could not be measured, or was answered wrongly. */
  run(context: BenchContext): Promise<{ header: string[]; rows: string[][] }>;
}
