/** What the bot knows of a platform apart from its messages; a platform that it knows nothing of has none of it. */
export interface PlatformTraits {
  /** As in `Place.platform`: `slack`. */
  readonly name: string;
  /** As people call it. */
  readonly title?: string;
  /** The groups that a new outage may call. */
  readonly mention?: {
    /** A group as the platform writes it into what people type, with the named groups `id` and, where it is told, `name`. */
    readonly pattern: RegExp;
    /** What a group is there and how somebody chooses one. */
    readonly words: string;
  };
  /** A person as the platform writes one into what people type, with the named groups `id` and, where it is told, `name`. */
  readonly person?: { readonly pattern: RegExp };
  /** The same for a channel. */
  readonly channel?: { readonly pattern: RegExp };
  /** Whether each person has a page of Askwatch's own there. */
  readonly hasHomes?: boolean;
}
