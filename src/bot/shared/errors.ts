/** What a person asked for cannot be done; the message is shown to them as it is: what happened and what to do next. */
export class CommandError extends Error {
  override name = 'CommandError' as const;
  /** The input that it is about, if it is about one. */
  readonly input: string | undefined;

  constructor(message: string, options: { input?: string } = {}) {
    super(message);
    this.input = options.input;
  }
}

/** A platform did not take a message. */
export class DeliveryError extends Error {
  override name = 'DeliveryError' as const;
  /** True when trying again cannot help: the channel is gone, the bot is not in it, a permission is missing. */
  readonly permanent: boolean;
  /**
   * True when this is not about the message but about where it goes, which takes it once somebody opens that again: an
   * archived channel, one without the bot, a missing permission. It is permanent, too.
   */
  readonly closed: boolean;
  /** How long the platform asked to wait, if it did. */
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

/** A platform refused to start, such as for a wrong token; the message says which setting to change and how. */
export class PlatformStartError extends Error {
  override name = 'PlatformStartError' as const;
}
