/** A streamed answer that has begun. */
export interface AnswerStream {
  /**
   * Passes events on until the answer is whole; holds the provider back while the reader does not keep up. Call once.
   * Rejects with `UpstreamError` when the answer broke, or with the caller's reason.
   */
  pipe(sink: EventSink): Promise<void>;
}

export interface EventSink {
  /** Takes events, UTF-8 as a string of bytes; false asks to wait for `drained`. */
  write(events: string): boolean;
  drained(): Promise<void>;
}
