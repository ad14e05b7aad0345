import type { Card } from './card.ts';

/** A message of ours on a platform: what is needed to change it later, and the thread under it. */
export interface PostedMessage {
  message: string;
  thread: string;
}

/** What posts and changes messages in the channels of a platform. */
export interface Messenger {
  readonly name: string;
  /**
   * Posts a card as a new message of a channel. The same `id` is posted once where the platform lets us check:
   * `attempted` says that an earlier try may have gone through; what the message then shows is what that try did, and
   * `goesOn` is of the card that it shows. An attempt of an earlier process may still arrive within `landsInMs`: a platform that
   * does not find it by then, and takes the same id twice, looks again before it posts. Throws `DeliveryError`.
   */
  post(post: {
    channel: string;
    card: Card;
    id: string;
    attempted: boolean;
    landsInMs?: number;
  }): Promise<PostedMessage & Pick<Card, 'goesOn'>>;
  /** The address of a message posted earlier, where the platform has such; it may throw anything. */
  linkTo?(channel: string, posted: PostedMessage): Promise<string | undefined>;
  /** Changes a message posted earlier. Throws `DeliveryError`. */
  update(channel: string, posted: PostedMessage, card: Card): Promise<void>;
  /**
   * Adds one line that people of the channel notice under a message posted earlier, as quietly as the platform can: the
   * card's tone and title. The same `id` is said once where the platform lets us check. Throws `DeliveryError`.
   */
  announce(line: {
    channel: string;
    posted: PostedMessage;
    card: Card;
    /** Whom it calls, as in `Card.mention`; nobody when left out. */
    mention?: string;
    id: string;
    attempted: boolean;
  }): Promise<void>;
}
