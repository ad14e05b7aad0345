import { z } from 'zod';
import { oneLine } from '../../contracts/one-line.ts';

/** End of a check. Also a label of the metric; two problems with the same outcome are the same problem. */
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

/** Outcomes of a check that passed with a problem. */
export type Degradation = 'slow' | 'expiring';

export interface CheckResult {
  /** The check passed; `outcome` is then `ok`, `slow` or `expiring`. */
  ok: boolean;
  outcome: Outcome;
  /** The problem in words for people; absent if `outcome` is `ok`. */
  reason?: string;
  responseTimeMs: number;
  /** End of the server's certificate, Unix milliseconds. */
  certificateEndsMs?: number;
}

/** The check failed; the message is the reason that people see. */
export class CheckFailure extends Error {
  override name = 'CheckFailure' as const;
  readonly outcome: Exclude<Outcome, 'ok' | Degradation>;

  constructor(outcome: CheckFailure['outcome'], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.outcome = outcome;
  }
}

/** The failure for an address that the guard refused; it never names the address. */
export const notAllowed = (what: string) =>
  new CheckFailure('blocked', `${what} may not be checked (see MONITOR_ALLOW_PRIVATE)`);

/** One shared error for connections that closed too early: every connection closes, and most errors would be created unused. */
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

/** Characters of a foreign text that a reason quotes. */
const SHOWN_CHARACTERS = 60;

/** Quotes a foreign text in a reason: one line of a few visible characters. */
export function inQuotes(text: string): string {
  const line = oneLine(text.slice(0, 10 * SHOWN_CHARACTERS));
  const characters = [...line];
  if (characters.length <= SHOWN_CHARACTERS) return `“${line}”`;
  return `“${characters.slice(0, SHOWN_CHARACTERS - 1).join('')}…”`;
}

/** Bytes for people, such as `14 KB`. */
export function inKilobytes(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KB`;
}
