/** The paces at which Slack is spoken to, in milliseconds. */
export interface Paces {
  /**
   * Between two edits of answers being written, all of the workspace together: 46 of the 50 a minute of `chat.update`, so
   * that alerts and the ends of answers find room. Source: Slack docs, "Rate limits", "Web API rate limits by tier", tier 3.
   */
  editMs: number;
  /** Between two additions to one stream; see `appendEveryMs`. */
  appendMs: number;
  /** How long a stream is added to. Slack ends it after about five minutes: slackapi/python-slack-sdk issue 1859. */
  streamMs: number;
  /** Between two alerts of a channel. Source: the same page, "Posting messages": one per second and channel. */
  alertMs: number;
  /** Before a second attempt to connect; doubled with each further one. */
  retryMs: number;
  /**
   * How long a gesture waits to be stored before it is acknowledged all the same: it comes but once, and Slack shows an error after
   * three seconds. Source: Slack docs, "Handling user interaction", "Acknowledgment response".
   */
  storeMs: number;
  /** How long a stop waits for answers under way to be shown. */
  drainMs: number;
}

/**
 * Between two additions to each of so many streams: all of a workspace together within 100 a minute, the tier of
 * `chat.appendStream`. Source: the same page, tier 4.
 */
export const appendEveryMs = ({ appendMs }: Pick<Paces, 'appendMs'>, streams: number) =>
  appendMs * Math.max(1, 0.55 * streams);
