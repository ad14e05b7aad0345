import type { Card, CardAction } from './card.ts';
import type { Around, QuotedMessage } from './people-messages.ts';
import type { Person, Place } from './place.ts';
import type { SharedFile } from './shared-file.ts';
import { shortened } from './text-format.ts';

/** A slash command, a mention, a message in a thread or a pressed button. */
export interface Invocation {
  /** Equal for repeated deliveries of one invocation; unique across platforms. */
  id: string;
  /** A typed line such as `/monitor add https://example.com name="Shop"`, or a command with its values. */
  request: { line: string } | { command: string; values: Record<string, unknown> };
  place: Place;
  /** Absent at the top level of a channel. */
  thread?: string;
  person: Person;
  /** Files of the message, read from the platform when they are needed. */
  files?: readonly SharedFile[];
  /** The platform's id of the message whose button was pressed. */
  pressed?: string;
  /** Absent where all messages are for the bot. */
  around?: Around;
  /** The message that its person chose. */
  about?: QuotedMessage;
  /** The platform's facts for a note after a restart. Stored until the invocation is done, so secrets in it are encrypted. */
  origin?: Record<string, string>;
}

export type Reply =
  /** Also for a repeat of an invocation. */
  | { kind: 'nothing' }
  /**
   * `private`: only the person who asked sees it, if the platform can. `inPlace`: it replaces the message whose button was
   * pressed, if that can be changed.
   */
  | { kind: 'card'; card: Card; private: boolean; inPlace?: true }
  | Answer;

export const toAsker = (card: Card) => ({ kind: 'card', card, private: true }) as const;

export const inPlace = (card: Card, isPrivate: boolean) =>
  ({ kind: 'card', card, private: isPrivate, inPlace: true }) as const;

export const toEveryone = (card: Card) => ({ kind: 'card', card, private: false }) as const;

/** A change, with the person who made it. */
export const toEveryoneBy = ({ name }: Person, card: Card) =>
  toEveryone({ ...card, footer: `By ${shortened(name, 80)}` });

/** An answer that will be generated: the platform opens the thread for it, then reads `stream` once. */
export interface Answer {
  kind: 'answer';
  /** In its buttons. */
  id: string;
  question: string;
  files?: SharedFile[];
  /** The model that the person named. */
  model?: string;
  /** The messages that the question is about, and the id of the one that asks. */
  about?: readonly QuotedMessage[];
  message?: string;
  private: boolean;
  /** Id of the answer that this one replaces. */
  instead?: string;
  /** Replaces the buttons under the pressed answer once this one is shown. */
  earlier?: { note: string; actions: CardAction[] };
  /** Buttons while it is generated. */
  actions?: CardAction[];
  /**
   * Never throws; the last part is always `end`. `thread` is the key of its memory; a private answer has none. Aborting
   * `signal` ends it early with a note.
   */
  stream(thread: string | undefined, signal?: AbortSignal): AsyncIterable<AnswerPart>;
  /**
   * Platforms call it before they show anything, and again when they know more of where. Durable when it resolves, so that a
   * restart can end the answer. `thread` is the key of its memory; by `shown` the platform finds its messages. Never throws.
   */
  begin(where: { thread?: string; shown?: Record<string, string> }): Promise<void>;
  /** Platforms call it once the end is shown, or can't be shown. Never throws. */
  ended(): Promise<void>;
  /** Platforms call it if they could not show the answer, so that it can be kept for later. */
  notShown?(): void;
  /**
   * Platforms call it if they cannot show the answer now and have said so to nobody: a repeat of its invocation is then
   * answered. Never throws.
   */
  putOff(): Promise<void>;
}

/** `UnfinishedAnswers.track` adds the rest. */
export type CommandAnswer = Omit<Answer, 'begin' | 'ended' | 'putOff'>;

export type CommandResult = Exclude<Reply, Answer> | CommandAnswer;

/** A look-up for an answer. Plain text, hostile until rendered. */
export interface AnswerStep {
  /** Equal in every part about one step. */
  id: string;
  /** Follows “Looking up” or “Looked up”: `incidents of the last 7 days`. */
  what: string;
  state: 'running' | 'done' | 'failed';
  /** The result and its time, or the reason for a failure. */
  found?: string;
  /** A page that shows it, `http:` or `https:` only. */
  url?: string;
}

export type AnswerPart =
  /** Markdown by a model, hostile until rendered. */
  | { kind: 'text'; text: string }
  /** A step that begins or has ended. */
  | { kind: 'step'; step: AnswerStep }
  /**
   * `note` says why the answer is incomplete and what to do, `footer` names model and time. `document`, as a file, and `cards`,
   * a message each, follow below, for everyone who sees the answer.
   */
  | {
      kind: 'end';
      note?: string;
      footer: string;
      actions?: CardAction[];
      cards?: Card[];
      document?: AnswerDocument;
    };

/** An answer as a file. Its name contains nothing from outside; its text is inert, without HTML, links or pictures. */
export interface AnswerDocument {
  /** ASCII letters, digits, `-` and one `.`. */
  name: string;
  mediaType: 'text/markdown';
  text: string;
}

export interface WantedDocument {
  /** Writes it by rules from the current data. Throws only if the signal aborts. */
  draft(signal: AbortSignal): Promise<DocumentDraft>;
  /** The document with the text of an answer. */
  documentOf(text: string): AnswerDocument;
}

/** A document written by rules, in Markdown. */
export interface DocumentDraft {
  text: string;
  /** Prompt for a model that writes it. */
  prompt: string;
  /** The parts that a model left out. */
  missingIn(written: string): string;
}

/** A stored invocation whose reply was not shown to its end before a restart. */
export interface Interrupted {
  /** Id of the answer to it. */
  id: string;
  invocation: string;
  channel: string;
  person: string;
  /** True if only its person may see the reply. */
  private: boolean;
  /** When it was stored, or its answer began to be shown, Unix time. */
  beganAtMs: number;
  /** The thread that remembers its answer, else the one it was said in. */
  thread?: string;
  /** The facts that the platform passed to `Answer.begin` last; absent if no message was shown. */
  shown?: Record<string, string>;
  /** `Invocation.origin`. */
  origin?: Record<string, string>;
  /** Why it ends here and what to do. */
  note: string;
  /** The buttons under its end, in the thread that remembers it. */
  actionsIn(thread: string): Promise<CardAction[]>;
}

/** A platform, as far as it posts notes under interrupted answers. */
export interface AnswerEnder {
  readonly name: string;
  /**
   * Posts the note under the messages that are shown, with buttons. If none is shown, the note is the reply, which only its
   * person sees if private. Does nothing if the answer's end is shown. Throws `DeliveryError`.
   */
  endAnswer?(interrupted: Interrupted): Promise<void>;
}

/** Adds a step, or replaces it. Pure. */
export function withStep(steps: readonly AnswerStep[], step: AnswerStep): AnswerStep[] {
  const at = steps.findIndex(({ id }) => id === step.id);
  return at === -1 ? [...steps, step] : steps.with(at, step);
}

/** `Shop (UP, checked 14:05 UTC)`. Pure. */
export const stepInWords = ({ what, found }: AnswerStep) =>
  found === undefined ? what : `${what} (${found})`;
