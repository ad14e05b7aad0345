import { z } from 'zod';
import { oneLine } from '../../contracts/one-line.ts';

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
  'answer',
  'value',
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

/** A check found its target wanting; the message is the reason shown to people. */
export class CheckFailure extends Error {
  override name = 'CheckFailure' as const;
  readonly outcome: Exclude<Outcome, 'ok' | Degradation>;

  constructor(outcome: CheckFailure['outcome'], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.outcome = outcome;
  }
}

/** The sentence for an address that the guard refused, at a check; it never says which address that is. */
export const notAllowed = (what: string) =>
  new CheckFailure('blocked', `${what} may not be checked (see MONITOR_ALLOW_PRIVATE)`);

/** A connection closed too early, for all of them: each closes at last, and most of the errors would be made for nobody. */
export const CLOSED_EARLY = Object.assign(new Error('The connection was closed.'), {
  code: 'ECONNRESET',
});

/** Node's error code of an unknown error, also when several tries to connect failed together. */
export function errorCode(error: unknown): string | undefined {
  if (error instanceof AggregateError) {
    return error.errors.map(errorCode).find((code) => code !== undefined);
  }
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** How much a reason shows of a text that others wrote. */
const SHOWN_CHARACTERS = 60;

/** A text that others wrote as a reason quotes it: one line of a few visible characters. */
export function inQuotes(text: string): string {
  const line = oneLine(text.slice(0, 10 * SHOWN_CHARACTERS));
  const characters = [...line];
  if (characters.length <= SHOWN_CHARACTERS) return `“${line}”`;
  return `“${characters.slice(0, SHOWN_CHARACTERS - 1).join('')}…”`;
}

/** A number of bytes as people read it, such as `14 KB`. */
export function inKilobytes(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KB`;
}
