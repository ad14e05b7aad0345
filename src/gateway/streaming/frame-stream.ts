/** A streamed answer that has begun. */
export interface FrameStream {
  /**
   * Passes frames on until the answer is whole; holds the provider back while the reader does not keep up. Call once.
   * Rejects with `UpstreamError` when the answer broke, or with the caller's reason.
   */
  pipe(sink: FrameSink): Promise<void>;
}

export interface FrameSink {
  /** Takes frames, UTF-8 as a string of bytes; false asks to wait for `drained`. */
  write(frames: string): boolean;
  drained(): Promise<void>;
}
