import { z } from 'zod';
import type { Field } from '../../bot/commands/command.ts';
import { type Card, type CardAction, linkOf } from '../../bot/shared/card.ts';
import type { AnswerStep } from '../../bot/shared/invocation.ts';
import { MAX_FILE_BYTES, MAX_FILES } from './file-limits.ts';

export type { Field } from '../../bot/commands/command.ts';
export type { Card, CardAction, CardPart, Chart, Fact } from '../../bot/shared/card.ts';
export type { AnswerStep } from '../../bot/shared/invocation.ts';

const MessageId = z.string().min(1).max(100);

/** What every interaction has. */
const interaction = {
  /** Made by the page once for each interaction, so that a repeated request does nothing twice. */
  id: z.uuid(),
  channel: z.string().min(1).max(50),
  thread: MessageId.optional(),
};

/** One line that a person typed, in a channel or in a thread of it; files alone need no words. */
export const TypedLine = z
  .strictObject({
    ...interaction,
    text: z.string().trim().max(16_000),
    /** Those that were kept before, by their ids. */
    files: z.array(z.uuid()).max(MAX_FILES).optional(),
  })
  .refine(({ text, files = [] }) => text !== '' || files.length > 0, {
    path: ['text'],
    error: 'write something, or attach a file',
  });
export type TypedLine = z.infer<typeof TypedLine>;

/** A file that somebody is about to send. */
export const GivenFile = z.strictObject({
  channel: z.string().min(1).max(50),
  name: z.string().max(1_000),
  /** What is in it, in base64. */
  data: z.string().max(Math.ceil(MAX_FILE_BYTES / 3) * 4, {
    error: `a file has at most ${MAX_FILE_BYTES / 1_000_000} MB`,
  }),
});

/** A press of a button under a card or an answer. */
export const ButtonPress = z.strictObject({
  ...interaction,
  /** The message with the button; `thread` is the one it stands in, none when it is at the top of the channel. */
  message: MessageId,
  /** Only its reader has this message. */
  private: z.literal(true).optional(),
  /** What the button carries, from `encodeAction`. */
  action: z.string().min(1).max(200),
});
export type ButtonPress = z.infer<typeof ButtonPress>;

/** The form of a command that somebody filled in and sent: its values by the names of the inputs. */
export const SubmittedForm = z.strictObject({
  ...interaction,
  command: z.string().min(1).max(100),
  values: z.record(z.string().max(100), z.string().max(16_000)),
});
export type SubmittedForm = z.infer<typeof SubmittedForm>;

/** Everything somebody does in the page. */
export type Interaction = TypedLine | ButtonPress | SubmittedForm;

/** The form of a command as the page shows it. */
export interface ShownForm {
  command: string;
  title: string;
  /** What stands on the button that sends it. */
  send: string;
  /** The input whose choice decides which others there are. */
  decides?: string;
  /** The inputs in their order: those for each choice, or under the empty text where nothing decides. */
  fields: Record<string, Field[]>;
  /** What stands in it at first. */
  values: Record<string, string>;
  /** What goes with it, and nobody fills in. */
  carried?: Record<string, string>;
}

/** The outcome of an interaction: where what came of it is to be seen. */
export type Outcome =
  /** This interaction was accepted before, or what it changed shows by itself. */
  | { shown: 'nothing' }
  /** The command has a form, which is to be filled in. */
  | { shown: 'form'; form: ShownForm }
  /** The form is not right yet: sentences by the names of its inputs. */
  | { shown: 'problems'; problems: Record<string, string> }
  /** The form is right, and what it asks for did not work; it can be sent again. */
  | { shown: 'refused'; card: Card }
  /** A message of this id has appeared in the channel. */
  | { shown: 'channel'; message: string }
  /** The thread under this message shows it. */
  | { shown: 'thread'; message: string };

/** Somebody who uses the console, as the others see them. */
export const Someone = z.object({ id: z.string(), name: z.string() });
export type Someone = z.infer<typeof Someone>;

/** Who wrote a message; a person's name is what it was then. */
export const Author = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('askwatch') }),
  z.object({ kind: z.literal('person'), ...Someone.shape }),
]);
export type Author = z.infer<typeof Author>;

/** Most characters of one answer that are kept; a longer one ends with a mark. */
export const MAX_ANSWER_CHARACTERS = 60_000;

const MAX_TEXT = 16_000;
const MAX_CELL = 1_000;
const MAX_UNIT = 20;
const MAX_ROWS = 100;
const MAX_COLUMNS = 10;
const MAX_PARTS = 20;
const MAX_POINTS = 200;

/** Steps of one answer. */
const MAX_STEPS = 20;

/** Buttons under one message, and the characters of what stands on one. */
const MAX_ACTIONS = 5;
const MAX_ACTION_LABEL = 80;

/** A text, cut to a size that can be stored and sent to each browser. */
const textOf = (most: number) =>
  z.string().transform((text) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`));

/** A list without what is beyond the first so many. */
const listOf = <T extends z.ZodType>(item: T, most: number) =>
  z.array(item).transform((all) => all.slice(0, most));

/** The newest of what is in the order of time. */
const newestOf = <T extends z.ZodType>(item: T) =>
  z.array(item).transform((all) => all.slice(-MAX_POINTS));

/** What a button carries stays whole: cut, it would ask for something else. */
const Action: z.ZodType<CardAction> = z.object({
  label: textOf(MAX_ACTION_LABEL),
  style: z.enum(['primary', 'danger']).exactOptional(),
  command: z.string(),
  values: z.record(z.string(), z.string()),
});

/** A card; whom it calls is left out, since here is nobody else to be called. */
export const ShownCard: z.ZodType<Card> = z
  .object({
    tone: z.enum(['good', 'bad', 'warning', 'info']),
    title: textOf(MAX_CELL),
    parts: listOf(
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('text'), text: textOf(MAX_TEXT) }),
        z.object({
          kind: z.literal('facts'),
          facts: listOf(
            z.object({
              label: textOf(MAX_CELL),
              value: z.union([textOf(MAX_CELL), z.object({ atMs: z.number() })]),
            }),
            MAX_ROWS,
          ),
        }),
        z.object({
          kind: z.literal('table'),
          columns: listOf(textOf(MAX_CELL), MAX_COLUMNS),
          rows: listOf(listOf(textOf(MAX_CELL), MAX_COLUMNS), MAX_ROWS),
        }),
        z.object({ kind: z.literal('code'), text: textOf(MAX_TEXT) }),
        z.object({
          kind: z.literal('chart'),
          title: textOf(MAX_CELL),
          unit: textOf(MAX_UNIT),
          points: newestOf(z.object({ atMs: z.number(), value: z.number().nullable() })),
          stepMs: z.number().positive(),
          outages: newestOf(z.object({ fromMs: z.number(), toMs: z.number() })),
          zone: textOf(MAX_CELL).exactOptional(),
          text: textOf(MAX_CELL),
        }),
      ]),
      MAX_PARTS,
    ),
    footer: textOf(MAX_CELL).exactOptional(),
    actions: listOf(Action, MAX_ACTIONS).exactOptional(),
    link: z.object({ label: textOf(MAX_ACTION_LABEL), url: z.string() }).exactOptional(),
    goesOn: z.boolean().exactOptional(),
  })
  .transform(({ link: given, ...card }) => {
    const link = given && linkOf({ link: given, ...card });
    return { ...card, ...(link && { link }) };
  });

/** Something that is looked at for an answer; an address that is no page of the web is left out. */
const Step: z.ZodType<AnswerStep> = z
  .object({
    id: textOf(MAX_CELL),
    what: textOf(MAX_CELL),
    state: z.enum(['running', 'done', 'failed']),
    found: textOf(MAX_CELL).exactOptional(),
    url: z.string().exactOptional(),
  })
  .transform(({ url: given = '', ...step }) => {
    const url = linkOf({ link: { label: step.what, url: given } })?.url;
    return { ...step, ...(url !== undefined && { url }) };
  });

/** What is looked at for an answer, as it is stored and sent. */
export const ShownSteps = listOf(Step, MAX_STEPS);

/** A file as a message shows it. */
export const ShownFile = z.object({
  id: z.string(),
  name: textOf(MAX_CELL),
  /** Whether it can be shown as one. */
  picture: z.boolean(),
});
export type ShownFile = z.infer<typeof ShownFile>;

/** What a message shows: words as typed, a card, or an answer in Markdown that may still be growing. */
export const Body = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('text'),
    text: textOf(MAX_TEXT),
    files: listOf(ShownFile, MAX_FILES).exactOptional(),
  }),
  z.object({ kind: z.literal('card'), card: ShownCard }),
  z.object({
    kind: z.literal('answer'),
    text: textOf(MAX_ANSWER_CHARACTERS),
    growing: z.boolean(),
    steps: ShownSteps.exactOptional(),
    /** Why it stopped short. */
    note: z.string().exactOptional(),
    footer: z.string().exactOptional(),
    actions: listOf(Action, MAX_ACTIONS).exactOptional(),
    /** What it is as a file, Markdown: not made of `text` alone, as where a model broke off. */
    document: z
      .object({ name: z.string().regex(/^[\w-]{1,80}\.md$/), text: textOf(MAX_ANSWER_CHARACTERS) })
      .exactOptional(),
  }),
]);
export type Body = z.infer<typeof Body>;

/** A message, at the top of a channel or in a thread; `parse` cuts what is too long to be stored and sent. */
export const Message = z.object({
  id: z.string(),
  author: Author,
  atMs: z.number(),
  /** When it was last changed by Askwatch, such as an alert that is over. */
  changedAtMs: z.number().exactOptional(),
  /** The command line, or the button, it came from. */
  command: textOf(MAX_TEXT).exactOptional(),
  /** The person who gave that command, or for whom it was given. */
  by: Someone.exactOptional(),
  /** Only the reader who asked sees it; it is never stored. */
  private: z.literal(true).exactOptional(),
  body: Body,
});
export type Message = z.infer<typeof Message>;

/** A message of a channel with its thread, as it is stored. */
export const RootMessage = z.object({
  channel: z.string(),
  message: Message,
  replies: z.array(Message),
});
export type RootMessage = z.infer<typeof RootMessage>;

/** A message of a channel as the page lists it; its replies are fetched when the thread is opened. */
export interface ListedMessage {
  channel: string;
  message: Message;
  thread: { replies: number; lastAtMs?: number; growing: boolean };
}

/** A command as the page completes and explains it. */
export interface ListedCommand {
  name: string;
  summary: string;
  usage: string;
  /** Whole lines that work as they are. */
  examples: readonly string[];
  /** What follows the command is taken as it is, as one text. */
  wholeLine: boolean;
  fields: readonly ListedField[];
}

/** An input; `suggested`: the server can be asked what goes with what is typed into it. */
export type ListedField = Field & { suggested?: true };

/** Older messages of a channel, oldest first. */
export interface OlderMessages {
  messages: ListedMessage[];
  /** Whether there are still older ones. */
  more: boolean;
}

/** A name that somebody chose for themselves, or for a channel. */
export const Named = z.strictObject({ name: z.string().max(200) });

/** A private message that its reader wants to see no longer. */
export const Dismissal = z.strictObject({ message: MessageId });

/** What `/console/session` tells a page: no password is set, this browser is logged in, or it has to log in. */
export interface SessionState {
  state: 'open' | 'in' | 'out';
}

/** Everything a page needs to begin, or to begin anew. */
export interface Snapshot {
  kind: 'snapshot';
  /** Whoever reads this. */
  person: Someone;
  /** Everyone who was here, by the names they have now. */
  people: Someone[];
  channels: string[];
  commands: ListedCommand[];
  /** The newest of each channel. */
  messages: ListedMessage[];
  /** The channels that have older ones. */
  older: string[];
}

/** What the page receives. Each can be applied twice without harm. */
export type ConsoleEvent =
  | Snapshot
  /** Somebody is new or has another name. */
  | { kind: 'person'; person: Someone }
  /** There is a new channel. */
  | { kind: 'channel'; channel: string }
  /** A message of a channel is new or has changed. */
  | { kind: 'message'; listed: ListedMessage }
  /** A message of a channel made room for newer ones, or a private one for what everybody sees. */
  | { kind: 'removed'; message: string }
  /** A message of a thread is new or has changed. */
  | { kind: 'reply'; root: string; reply: Message }
  /** An answer has grown: `text` stands at character `offset` of it. `reply` is absent for an answer in the channel. */
  | { kind: 'text'; root: string; reply?: string; offset: number; text: string };
