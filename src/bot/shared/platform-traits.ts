/** Facts about a platform other than its messages. */
export interface PlatformTraits {
  /** `slack`. */
  readonly name: string;
  /** `Slack`. */
  readonly title?: string;
  /** Groups that a new outage can mention. */
  readonly mention?: {
    /** Matches a group in typed text, with the named groups `id` and `name`, which may be missing. */
    readonly pattern: RegExp;
    /** Says what a group is and how to choose one. */
    readonly words: string;
  };
  /** Matches a person in typed text, with the same named groups. */
  readonly person?: { readonly pattern: RegExp };
  /** Matches a channel in typed text, with the same named groups. */
  readonly channel?: { readonly pattern: RegExp };
  /** Each person has a home page. */
  readonly hasHomes?: boolean;
}
