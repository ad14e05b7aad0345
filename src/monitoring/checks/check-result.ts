import { z } from 'zod';

/** How a check ended; `ok` or what was found. The labels of the metric, and what makes two findings "the same". */
export const Outcome = z.enum([
  'ok',
  'slow',
  'expiring',
  'timeout',
  'connection',
  'name',
  'tls',
  'protocol',
  'status',
  'redirect',
  'keyword',
  'dns',
  'blocked',
  'late',
  'failed',
]);

export type Outcome = z.infer<typeof Outcome>;

/** Outcomes of a check that passed, but not as it should. */
export type Degradation = 'slow' | 'expiring';

/** What one check found. */
export interface CheckResult {
  /** It passed, if only just: then `outcome` is `ok`, `slow` or `expiring`. */
  ok: boolean;
  outcome: Outcome;
  /** Why it is not as it should be, in words a person understands; absent when `outcome` is `ok`. */
  reason?: string;
  responseTimeMs: number;
  /** When the certificate ends that was shown, Unix milliseconds. */
  certificateEndsMs?: number;
}
