/** A command failed. Its person sees the message: what happened and what to do next. */
export class CommandError extends Error {
  override name = 'CommandError' as const;
  /** Name of the wrong input, if it is one. */
  readonly input: string | undefined;

  constructor(message: string, options: { input?: string } = {}) {
    super(message);
    this.input = options.input;
  }
}

/** A platform rejected a message. */
export class DeliveryError extends Error {
  override name = 'DeliveryError' as const;
  /** True if a retry can't help. */
  readonly permanent: boolean;
  /** True if the channel is closed to the bot until someone opens it: archived, without the bot, or without a permission. */
  readonly closed: boolean;
  /** The wait that the platform asked for. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: { permanent: boolean; closed?: boolean; retryAfterMs?: number; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.permanent = options.permanent;
    this.closed = options.permanent && (options.closed ?? false);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A platform could not start, such as for a wrong token. The message says which setting to change. */
export class PlatformStartError extends Error {
  override name = 'PlatformStartError' as const;
}
