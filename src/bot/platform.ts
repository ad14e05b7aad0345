import type { Bot } from './bot.ts';
import type { Card, CardAction } from './shared/card.ts';

export const PLATFORM_NAMES = ['slack', 'discord', 'console'] as const;
export type PlatformName = (typeof PLATFORM_NAMES)[number];

/** A channel (or direct conversation) of a platform, by the platform's own id. */
export interface Place {
  platform: PlatformName;
  channel: string;
}

/** The one-word form of a place, as in `ALERT_CHANNELS`: `slack:C0123`. */
export const placeKey = (place: Place) => `${place.platform}:${place.channel}`;

/** A place from its one-word form; `undefined` when it is none. */
export function parsePlace(text: string): Place | undefined {
  const [name = '', ...rest] = text.split(':');
  const platform = PLATFORM_NAMES.find((known) => known === name);
  const channel = rest.join(':');
  return platform && channel !== '' ? { platform, channel } : undefined;
}

/**
 * What a right is over: the place where it is asked for, such as how it is alerted and answered, or what all places share,
 * such as the monitors.
 */
export type RightOver = 'place' | 'shared';

/** Who said it. `name` is for showing only; it can hold anything. */
export interface Person {
  id: string;
  name: string;
  /**
   * Whether the platform lets them manage the place they speak in, or what all places share. A direct conversation is
   * everybody's who is in it; what is shared is for those who manage the workspace or server, wherever they say so. Absent
   * where that is not known: then they may not.
   */
  mayManage?: (over: RightOver) => Promise<boolean>;
  /** What those manage who may manage what all places share, such as `this workspace`, and what else may help. */
  community?: { name: string; hint?: string };
  /** Whether they are in a user group or have a role, by the platform's own id. Absent where that is not known. */
  isIn?: (group: string) => Promise<boolean>;
}

/** Something a person said to Askwatch, from a slash command, a mention, a message in a thread or a button. */
export interface Invocation {
  /** The same for every delivery of one gesture, however often the platform repeats it; unique across platforms. */
  id: string;
  /** A typed line such as `/monitor add https://example.com name="Shop"`, or a command with values already apart. */
  request: { line: string } | { command: string; values: Record<string, unknown> };
  place: Place;
  /** The thread it was said in; absent at the top level of a channel. */
  thread?: string;
  person: Person;
  /** The message whose button was pressed, by the platform's own id; absent for whatever is no press. */
  pressed?: string;
}

/** What a platform shows for an invocation. */
export type Reply =
  /** This gesture was handled before: show nothing. */
  | { kind: 'nothing' }
  /** `private`: only the person who asked sees it, where the platform can. */
  | { kind: 'card'; card: Card; private: boolean }
  | Answer;

/**
 * An answer that is yet to be generated. Nothing has happened when this is returned: the platform first opens the thread
 * in which to show it, then reads `stream` once.
 */
export interface Answer {
  kind: 'answer';
  /** Its buttons know it by this. */
  id: string;
  question: string;
  /** The model that was asked for by name. */
  model?: string | undefined;
  private: boolean;
  /** The answer that this one takes the place of, by its id. */
  instead?: string;
  /** What is to stand under the answer whose button was pressed, in place of its buttons, once this one is shown. */
  earlier?: { note: string; actions: CardAction[] };
  /** Buttons under it while it is generated. */
  actions?: CardAction[];
  /**
   * The answer as it comes. Never throws; the last part is always `end`. `thread` is the key under which it is
   * remembered; without one (a private answer) it is not. Aborting `signal` ends it early with a note.
   */
  stream(thread: string | undefined, signal?: AbortSignal): AsyncIterable<AnswerPart>;
  /**
   * Told by a platform before any of it is shown, and when more is known of where: durable when it resolves, so that the
   * next process can end what this one leaves. `thread` is the key under which it is remembered, `shown` what the platform
   * finds its messages by. Never throws.
   */
  begin(where: { thread?: string; shown?: Record<string, string> }): Promise<void>;
  /** Told by a platform once the end is shown, or never can be. Never throws. */
  ended(): Promise<void>;
  /** Told by a platform that could not show it: what can be shown another time is kept for that. */
  notShown?(): void;
}

/** An answer as a command gives it; noting it is added at the one door. */
export type AnswerToNote = Omit<Answer, 'begin' | 'ended'>;

/** What comes of a command. */
export type Outcome = Exclude<Reply, Answer> | AnswerToNote;

export type AnswerPart =
  /** The next piece of text, Markdown as models write it: hostile until rendered. */
  | { kind: 'text'; text: string }
  /**
   * The end. `note`, when there is one, says why the answer stopped short and what to do; `footer` is model and time;
   * `actions` are the buttons under it from then on.
   */
  | { kind: 'end'; note?: string; footer: string; actions?: CardAction[] };

/** An answer that an earlier process began to show and did not end. */
export interface UnfinishedAnswer {
  id: string;
  /** The gesture that it answers. */
  invocation: string;
  channel: string;
  person: string;
  private: boolean;
  beganAtMs: number;
  /** As the platform told `Answer.begin` last. */
  thread?: string;
  shown: Record<string, string>;
  /** Why it ends here and what to do. */
  note: string;
  /** The buttons under its end, in the thread that remembers it. */
  actionsIn(thread: string): Promise<CardAction[]>;
}

/** A message of ours on a platform: what is needed to change it later, and the thread under it. */
export interface PostedMessage {
  message: string;
  thread: string;
}

/** A chat platform, as the bot sees it. */
export interface Platform {
  readonly name: PlatformName;
  /**
   * Connects and hands everything people say to `bot.handle`. Resolves once it can receive and post.
   * Throws `PlatformStartError` when the platform refuses for good.
   */
  start(bot: Bot): Promise<void>;
  /** Takes nothing new, waits for answers under way to be shown, and disconnects. */
  stop(): Promise<void>;
  /** After the start: how it stands there, when somebody has to do something before it can be of use. */
  hint?(): string | undefined;
  /** What people there call a channel, without asking anybody; absent or `undefined` where that is not known. */
  channelName?(channel: string): string | undefined;
  /**
   * Posts a card as a new message of a channel. The same `id` is posted once where the platform lets us check:
   * `attempted` says that an earlier try may have gone through; what the message then shows is what that try did, and
   * `goesOn` is of the card that it shows. Throws `DeliveryError`.
   */
  post(post: {
    channel: string;
    card: Card;
    id: string;
    attempted: boolean;
  }): Promise<PostedMessage & Pick<Card, 'goesOn'>>;
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
    id: string;
    attempted: boolean;
  }): Promise<void>;
  /**
   * Ends an answer that an earlier process left growing: what is shown stays, with a note and buttons under it. Does nothing
   * to one whose end is shown. Throws `DeliveryError`.
   */
  endAnswer?(unfinished: UnfinishedAnswer): Promise<void>;
}

/** State a platform keeps for itself, handed to it by the composition root. */
export { createSeal } from '../store/encryption.ts';
export type { Collection } from '../store/store.ts';
