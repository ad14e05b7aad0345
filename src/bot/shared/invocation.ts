import type { Card, CardAction } from './card.ts';
import type { Around, QuotedMessage } from './people-messages.ts';
import type { Person, Place } from './place.ts';
import type { SharedFile } from './shared-file.ts';

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
  /** What stands beside the message; read only when it is needed, from the platform of the place. */
  files?: readonly SharedFile[];
  /** The message whose button was pressed, by the platform's own id; absent for whatever is no press. */
  pressed?: string;
  /** Where what people wrote around it stands; absent where all is said to the bot. */
  around?: Around;
  /** The message that it is about, where somebody chose one. */
  about?: QuotedMessage;
  /**
   * Further facts that the platform needs to post a note after a restart. Stored until the invocation is done, so secrets in it
   * are encrypted.
   */
  origin?: Record<string, string>;
}

/** What a platform shows for an invocation. */
export type Reply =
  /** This invocation was handled before: show nothing. */
  | { kind: 'nothing' }
  /**
   * `private`: only the person who asked sees it, where the platform can. `inPlace`: it takes the place of the message whose
   * button was pressed, where that can be changed; elsewhere it is shown as any other.
   */
  | { kind: 'card'; card: Card; private: boolean; inPlace?: true }
  | Answer;

/** A card that only the person who asked sees. */
export const toAsker = (card: Card) => ({ kind: 'card', card, private: true }) as const;

/** A card in place of the one whose button was pressed; a message of its own, private or not, where that cannot be changed. */
export const inPlace = (card: Card, isPrivate: boolean) =>
  ({ kind: 'card', card, private: isPrivate, inPlace: true }) as const;

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
  /** What came with the question. */
  files?: SharedFile[];
  /** The model that was asked for by name. */
  model?: string;
  /** The messages that the question is about, and the one that asks, as they are kept with it. */
  about?: readonly QuotedMessage[];
  message?: string;
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
   * Told by a platform before any of it is shown, and when more is known of where: durable when it resolves, so that
   * after a restart what is left of it can be ended. `thread` is the key under which it is remembered, `shown` what the platform
   * finds its messages by. Never throws.
   */
  begin(where: { thread?: string; shown?: Record<string, string> }): Promise<void>;
  /** Platforms call it once the end is shown, or never can be. Never throws. */
  ended(): Promise<void>;
  /** Platforms call it if they could not show the answer, so that it can be kept for later. */
  notShown?(): void;
  /**
   * Platforms call it if they cannot show the answer now and have said so to nobody: a repeat of its invocation is then
   * answered. Never throws.
   */
  putOff(): Promise<void>;
}

/** An answer as a command gives it; noting it is added at the one door. */
export type CommandAnswer = Omit<Answer, 'begin' | 'ended' | 'putOff'>;

/** What comes of a command. */
export type CommandResult = Exclude<Reply, Answer> | CommandAnswer;

/** Something that is looked at for an answer. All text in it is plain text, and hostile until rendered. */
export interface AnswerStep {
  /** The same for every part about one step of an answer. */
  id: string;
  /** What is looked at, as it follows “Looking up” or “Looked up”: `incidents of the last 7 days`. */
  what: string;
  state: 'running' | 'done' | 'failed';
  /** What was found and of when it is, or why it could not be looked at; once it runs no more. */
  found?: string;
  /** The page that shows it, `http:` or `https:` only. */
  url?: string;
}

export type AnswerPart =
  /** The next piece of text, Markdown as models write it: hostile until rendered. */
  | { kind: 'text'; text: string }
  /** A step that begins, or what became of one that has begun. */
  | { kind: 'step'; step: AnswerStep }
  /**
   * The end. `note`, when there is one, says why the answer stopped short and what to do; `footer` is model and time;
   * `actions` are the buttons under it from then on. `cards` are shown below it, each as a message of its own, to those who
   * see the answer; above those `document`, as a file.
   */
  | {
      kind: 'end';
      note?: string;
      footer: string;
      actions?: CardAction[];
      cards?: Card[];
      document?: AnswerDocument;
    };

/**
 * An answer as a file, to be kept elsewhere. Nobody outside has a say in its name; its text is made inert: no HTML, no links, no
 * pictures.
 */
export interface AnswerDocument {
  /** ASCII letters, digits, `-` and one `.`. */
  name: string;
  mediaType: 'text/markdown';
  text: string;
}

/** A document that a question asks for. */
export interface WantedDocument {
  /** Puts it together by rules, from what is known now. Throws only when the signal aborts. */
  draft(signal: AbortSignal): Promise<DocumentDraft>;
  /** The document, of what an answer says. */
  documentOf(text: string): AnswerDocument;
}

/** A document as rules put it together, in Markdown. */
export interface DocumentDraft {
  text: string;
  /** What a model is told that is to write it. */
  prompt: string;
  /** The parts that what a model wrote leaves out, to be added to it. */
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

/** The steps of an answer with one that begins or has changed. Pure. */
export function withStep(steps: readonly AnswerStep[], step: AnswerStep): AnswerStep[] {
  const at = steps.findIndex(({ id }) => id === step.id);
  return at === -1 ? [...steps, step] : steps.with(at, step);
}

/** What was looked at, with what was found: `Shop (UP, checked 14:05 UTC)`. Pure. */
export const stepInWords = ({ what, found }: AnswerStep) =>
  found === undefined ? what : `${what} (${found})`;
