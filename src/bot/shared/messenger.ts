import type { Card } from './card.ts';

/** Identifies a message of ours and its thread on a platform. */
export interface PostedMessage {
  message: string;
  thread: string;
}

/** Posts and changes messages in the channels of a platform. */
export interface Messenger {
  readonly name: string;
  /**
   * Posts a card as a new message, once per `id` if the platform lets us check. `attempted`: an earlier try may have succeeded;
   * then the message shows that try's card, and `goesOn` is of that one. An earlier process' try may still arrive within
   * `landsInMs`: a platform that accepts an id twice searches again before it posts. Throws `DeliveryError`.
   * With `under` it is a reply in that message's thread, as quietly as the platform can and without the card's mention. Its
   * `thread` is the one of `under`. A platform without threads posts nothing.
   */
  post(post: {
    channel: string;
    under?: PostedMessage;
    card: Card;
    id: string;
    attempted: boolean;
    landsInMs?: number;
  }): Promise<PostedMessage & Pick<Card, 'goesOn'>>;
  /** Address of a posted message. May throw anything. */
  linkTo?(channel: string, posted: PostedMessage): Promise<string | undefined>;
  /** Throws `DeliveryError`. */
  update(channel: string, posted: PostedMessage, card: Card): Promise<void>;
  /**
   * Adds the card's tone and title as a line under a posted message, as quietly as the platform can while people of the channel
   * notice it. Once per `id` if the platform lets us check. Throws `DeliveryError`.
   */
  announce(line: {
    channel: string;
    posted: PostedMessage;
    card: Card;
    /** Like `Card.mention`. */
    mention?: string;
    id: string;
    attempted: boolean;
  }): Promise<void>;
}
