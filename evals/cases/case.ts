import type { Evidence } from '../run/evidence.ts';

export const TAGS = [
  ...['status', 'incidents', 'uptime', 'writes', 'hostile', 'unknown'],
  ...['similar-names', 'flaps', 'gaps', 'unrelated', 'german', 'spanish'],
] as const;

/** True, or why not. */
export type Finding = true | string;

/** A sentence that must be true of an answer. */
export type Criterion = {
  says: string;
  /** Weight in the score; 1 by default. */
  weight?: number;
} & (
  | { by: 'code'; check(evidence: Evidence): Finding | Promise<Finding> }
  /** Judged from the answer alone, or with its look-ups. */
  | { by: 'judge'; of: 'answer' | 'transcript' }
);

/** A question with what its answer has to be. */
export interface EvalCase {
  /** Never another one: results are kept by it. */
  id: string;
  question: string;
  tags: readonly string[];
  criteria: readonly Criterion[];
  /** The answer should propose changes. Each card is confirmed, and criteria may check the result. */
  proposes?: boolean;
}
