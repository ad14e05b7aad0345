import type { Evidence } from '../run/evidence.ts';

export const TAGS = [
  ...['status', 'incidents', 'uptime', 'writes', 'hostile', 'unknown'],
  ...['similar-names', 'flaps', 'gaps', 'unrelated', 'german', 'spanish'],
] as const;

/** True, or why not. */
export type Finding = true | string;

/** What an answer has to be, as a sentence that is true of it or not. */
export type Criterion = {
  says: string;
  /** How much of the score it is, beside others; 1 when left out. */
  weight?: number;
} & (
  | { by: 'code'; check(evidence: Evidence): Finding | Promise<Finding> }
  /** Of the answer alone, or of what was looked up for it. */
  | { by: 'judge'; of: 'answer' | 'transcript' }
);

/** A question with what its answer has to be. */
export interface EvalCase {
  /** Never another one: results are kept by it. */
  id: string;
  question: string;
  tags: readonly string[];
  criteria: readonly Criterion[];
  /** Whether cards are wanted; then each is confirmed, and criteria may be about what comes of it. */
  proposes?: boolean;
}
