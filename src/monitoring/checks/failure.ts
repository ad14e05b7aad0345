import type { Degradation, Outcome } from './check-result.ts';

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
  new CheckFailure('blocked', `${what} is not allowed to be checked (see MONITOR_ALLOW_PRIVATE)`);

/** Node's error code of an unknown error, also when several tries to connect failed together. */
export function errorCode(error: unknown): string | undefined {
  if (error instanceof AggregateError) {
    return error.errors.map(errorCode).find((code) => code !== undefined);
  }
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** A number of bytes as people read it, such as `14 KB`. */
export function inKilobytes(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KB`;
}
