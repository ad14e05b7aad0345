/** Paces in milliseconds. */
export interface Paces {
  /**
   * Between two edits of growing answers in a workspace: 46 of the 50 a minute of `chat.update`, so that alerts and the ends of
   * answers find room. Source: Slack docs, "Rate limits", "Web API rate limits by tier", tier 3.
   */
  editMs: number;
  appendMs: number;
  /** A stream grows for this long. Slack ends it after about five minutes: slackapi/python-slack-sdk issue 1859. */
  streamMs: number;
  /** Between two alerts in a channel. Source: the same page, "Posting messages": one per second and channel. */
  alertMs: number;
  /** Before a second attempt to connect; doubles with each attempt. */
  retryMs: number;
  /**
   * A command or press is acknowledged after this long even if it isn't stored: Slack sends it only once and shows an error
   * after three seconds. Source: Slack docs, "Handling user interaction", "Acknowledgment response".
   */
  storeMs: number;
  /** A stop waits this long for answers under way. */
  drainMs: number;
}

/** Between two additions to each of several streams. Slack takes 100 a minute in a workspace. Source: the same page, tier 4. */
export const appendEveryMs = ({ appendMs }: Pick<Paces, 'appendMs'>, streams: number) =>
  appendMs * Math.max(1, 0.55 * streams);
