import type { Card, CardAction } from './card.ts';
import type { Person, Place } from './place.ts';

/** Something a person said to Askwatch, from a slash command, a mention, a message in a thread or a button. */
export interface Invocation {
  /** The same for every delivery of one invocation, however often the platform repeats it; unique across platforms. */
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
  /** This invocation was handled before: show nothing. */
  | { kind: 'nothing' }
  /** `private`: only the person who asked sees it, where the platform can. */
  | { kind: 'card'; card: Card; private: boolean }
  | Answer;

/** A card that only the person who asked sees. */
export const toAsker = (card: Card) => ({ kind: 'card', card, private: true }) as const;

/** A card for everyone in the place. */
export const toEveryone = (card: Card) => ({ kind: 'card', card, private: false }) as const;

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
  instead?: string | undefined;
  /** What is to stand under the answer whose button was pressed, in place of its buttons, once this one is shown. */
  earlier?: { note: string; actions: CardAction[] } | undefined;
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
export type CommandAnswer = Omit<Answer, 'begin' | 'ended'>;

/** What comes of a command. */
export type CommandResult = Exclude<Reply, Answer> | CommandAnswer;

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
  /** The invocation that it answers. */
  invocation: string;
  channel: string;
  person: string;
  private: boolean;
  beganAtMs: number;
  /** As the platform told `Answer.begin` last. */
  thread?: string | undefined;
  shown: Record<string, string>;
  /** Why it ends here and what to do. */
  note: string;
  /** The buttons under its end, in the thread that remembers it. */
  actionsIn(thread: string): Promise<CardAction[]>;
}

/** What ends the answers that an earlier process began to show on a platform. */
export interface AnswerEnder {
  readonly name: string;
  /**
   * Ends an answer that an earlier process left growing: what is shown stays, with a note and buttons under it. Does nothing
   * to one whose end is shown. Throws `DeliveryError`.
   */
  endAnswer?(unfinished: UnfinishedAnswer): Promise<void>;
}
