import { z } from 'zod';
import type { Field } from '../../bot/commands/command.ts';
import { type Card, type CardAction, hostLink, linkOf } from '../../bot/shared/card.ts';
import type { AnswerStep } from '../../bot/shared/invocation.ts';
import { MAX_FILE_BYTES, MAX_FILES } from './file-limits.ts';

export type { Field } from '../../bot/commands/command.ts';
export type {
  Card,
  CardAction,
  CardPart,
  Chart,
  Fact,
  FindingItem,
} from '../../bot/shared/card.ts';
export type { AnswerStep } from '../../bot/shared/invocation.ts';

const MessageId = z.string().min(1).max(100);

const interaction = {
  /** The page creates one id for each interaction, so that a repeated request does nothing twice. */
  id: z.uuid(),
  channel: z.string().min(1).max(50),
  thread: MessageId.optional(),
};

/** A line typed in a channel or a thread. A line with files may be empty. */
export const TypedLine = z
  .strictObject({
    ...interaction,
    text: z.string().trim().max(16_000),
    files: z.array(z.uuid()).max(MAX_FILES).optional(),
  })
  .refine(({ text, files = [] }) => text !== '' || files.length > 0, {
    path: ['text'],
    error: 'write something, or attach a file',
  });
export type TypedLine = z.infer<typeof TypedLine>;

export const GivenFile = z.strictObject({
  channel: z.string().min(1).max(50),
  name: z.string().max(1_000),
  data: z.string().max(Math.ceil(MAX_FILE_BYTES / 3) * 4, {
    error: `a file has at most ${MAX_FILE_BYTES / 1_000_000} MB`,
  }),
});

export const ButtonPress = z.strictObject({
  ...interaction,
  /** The message with the button. It is in `thread`, or at the top of the channel. */
  message: MessageId,
  /** Only this person has the message. */
  private: z.literal(true).optional(),
  /** From `encodeAction`. */
  action: z.string().min(1).max(200),
});
export type ButtonPress = z.infer<typeof ButtonPress>;

export const FormSubmission = z.strictObject({
  ...interaction,
  command: z.string().min(1).max(100),
  values: z.record(z.string().max(100), z.string().max(16_000)),
});
export type FormSubmission = z.infer<typeof FormSubmission>;

export type ConsoleInteraction = TypedLine | ButtonPress | FormSubmission;

export interface ShownForm {
  command: string;
  title: string;
  send: string;
  decides?: string;
  /** The inputs for each choice, or under the empty string if nothing decides. */
  fields: Record<string, Field[]>;
  values: Record<string, string>;
  /** Values that are sent with it and nobody fills in. */
  carried: Record<string, string>;
}

/** Result of an interaction: the place that shows it. */
export type InteractionOutcome =
  /** The interaction was a repeat, or it changed a message in place. */
  | { shown: 'nothing' }
  | { shown: 'form'; form: ShownForm }
  /** Mistakes in the form: sentences by input name. */
  | { shown: 'problems'; problems: Record<string, string> }
  /** The form is right, but the command failed. It can be sent again. */
  | { shown: 'refused'; card: Card }
  | { shown: 'channel'; message: string; reply?: ShownReply }
  | { shown: 'thread'; message: string; reply?: ShownReply };

/** The card of a reply, for pages that don't show the message. */
export interface ShownReply {
  card: Card;
  /** Only this person sees the message. */
  private: boolean;
}

export const ConsolePerson = z.object({ id: z.string(), name: z.string() });
export type ConsolePerson = z.infer<typeof ConsolePerson>;

/** A message's author; a person has the name they had then. */
export const Author = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('askwatch') }),
  z.object({ kind: z.literal('person'), ...ConsolePerson.shape }),
]);
export type Author = z.infer<typeof Author>;

export const MAX_ANSWER_CHARACTERS = 60_000;

const MAX_TEXT = 16_000;
const MAX_CELL = 1_000;
const MAX_UNIT = 20;
const MAX_ROWS = 100;
const MAX_COLUMNS = 10;
const MAX_PARTS = 20;
const MAX_POINTS = 200;

const MAX_STEPS = 20;
const MAX_ACTIONS = 5;
const MAX_ACTION_LABEL = 80;

/** Cuts a text to a size that can be stored and sent to each browser. */
const textOf = (most: number) =>
  z.string().transform((text) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`));

const listOf = <T extends z.ZodType>(item: T, most: number) =>
  z.array(item).transform((all) => all.slice(0, most));

/** Keeps the newest items of a list in the order of time. */
const newestOf = <T extends z.ZodType>(item: T) =>
  z.array(item).transform((all) => all.slice(-MAX_POINTS));

/** A button's values aren't cut, because the button would then do something else. */
const Action: z.ZodType<CardAction> = z.object({
  label: textOf(MAX_ACTION_LABEL),
  style: z.enum(['primary', 'danger']).optional(),
  command: z.string(),
  values: z.record(z.string(), z.string()),
});

/** An address is dropped unless it leads to a web page. */
const WebAddress = z.string().transform((url) => hostLink(url)?.url);

const FactLink = z
  .object({ text: textOf(MAX_CELL), url: WebAddress })
  .transform(({ text, url }) => (url === undefined ? text : { text, url }));

/** A card without its mention: the console notifies nobody. */
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
              value: z.union([textOf(MAX_CELL), z.object({ atMs: z.number() }), FactLink]),
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
          kind: z.literal('findings'),
          heading: textOf(MAX_CELL).optional(),
          items: listOf(
            z.object({
              atMs: z.number().optional(),
              text: textOf(MAX_CELL),
              url: WebAddress.optional(),
            }),
            MAX_ROWS,
          ),
        }),
        z.object({
          kind: z.literal('chart'),
          title: textOf(MAX_CELL),
          unit: textOf(MAX_UNIT),
          points: newestOf(z.object({ atMs: z.number(), value: z.number().nullable() })),
          stepMs: z.number().positive(),
          outages: newestOf(z.object({ fromMs: z.number(), toMs: z.number() })),
          zone: textOf(MAX_CELL).optional(),
          text: textOf(MAX_CELL),
        }),
      ]),
      MAX_PARTS,
    ),
    footer: textOf(MAX_CELL).optional(),
    actions: listOf(Action, MAX_ACTIONS).optional(),
    link: z.object({ label: textOf(MAX_ACTION_LABEL), url: z.string() }).optional(),
    goesOn: z.boolean().optional(),
  })
  .transform((card) => ({ ...card, link: card.link && linkOf(card) }));

const Step: z.ZodType<AnswerStep> = z.object({
  id: textOf(MAX_CELL),
  what: textOf(MAX_CELL),
  state: z.enum(['running', 'done', 'failed']),
  found: textOf(MAX_CELL).optional(),
  url: WebAddress.optional(),
});

export const ShownSteps = listOf(Step, MAX_STEPS);

export const ShownFile = z.object({
  id: z.string(),
  name: textOf(MAX_CELL),
  picture: z.boolean(),
});
export type ShownFile = z.infer<typeof ShownFile>;

/** A typed text, a card, or an answer in Markdown that may still be growing. */
export const MessageBody = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('text'),
    text: textOf(MAX_TEXT),
    files: listOf(ShownFile, MAX_FILES).optional(),
  }),
  z.object({ kind: z.literal('card'), card: ShownCard }),
  z.object({
    kind: z.literal('answer'),
    text: textOf(MAX_ANSWER_CHARACTERS),
    growing: z.boolean(),
    steps: ShownSteps.optional(),
    note: z.string().optional(),
    footer: z.string().optional(),
    actions: listOf(Action, MAX_ACTIONS).optional(),
    /** The answer as a Markdown file, which may say more than `text`. */
    document: z
      .object({ name: z.string().regex(/^[\w-]{1,80}\.md$/), text: textOf(MAX_ANSWER_CHARACTERS) })
      .optional(),
  }),
]);
export type MessageBody = z.infer<typeof MessageBody>;
export type AnswerBody = MessageBody & { kind: 'answer' };

/** A message at the top of a channel or in a thread. `parse` cuts it to a size that can be stored and sent. */
export const Message = z.object({
  id: z.string(),
  author: Author,
  atMs: z.number(),
  /** The last change by Askwatch, such as the end of an alert. */
  changedAtMs: z.number().optional(),
  /** The command line or button label it replies to. */
  command: textOf(MAX_TEXT).optional(),
  by: ConsolePerson.optional(),
  /** Only the person who asked sees it. It is never stored. */
  private: z.literal(true).optional(),
  body: MessageBody,
});
export type Message = z.infer<typeof Message>;

/** A channel message with its thread, as it is stored. */
export const RootMessage = z.object({
  channel: z.string(),
  message: Message,
  replies: z.array(Message),
});
export type RootMessage = z.infer<typeof RootMessage>;

/** A channel message in a list. The page fetches its replies when it opens the thread. */
export interface ListedMessage {
  channel: string;
  message: Message;
  thread: { replies: number; lastAtMs?: number; growing: boolean };
}

export interface ListedCommand {
  name: string;
  summary: string;
  usage: string;
  examples: readonly string[];
  /** The rest of the line is one text. */
  wholeLine: boolean;
  fields: readonly ListedField[];
}

/** An input. `suggested`: the server offers values for it. */
export type ListedField = Field & { suggested: boolean };

/** Older messages of a channel, oldest first. */
export interface OlderMessages {
  messages: ListedMessage[];
  more: boolean;
}

export const Named = z.strictObject({ name: z.string().max(200) });

export const Dismissal = z.strictObject({ message: MessageId });

/** Response of `/console/session`: no password is set, this browser is logged in, or it has to log in. */
export interface SessionState {
  state: 'open' | 'in' | 'out';
}

export interface ConsoleSnapshot {
  kind: 'snapshot';
  person: ConsolePerson;
  /** Everyone who was here, with their current names. */
  people: ConsolePerson[];
  channels: string[];
  commands: ListedCommand[];
  messages: ListedMessage[];
  older: string[];
}

/** Events for the page. Each can be applied twice without harm. */
export type ConsoleEvent =
  | ConsoleSnapshot
  | { kind: 'person'; person: ConsolePerson }
  | { kind: 'channel'; channel: string }
  | { kind: 'message'; listed: ListedMessage }
  /** A deleted channel message, or a dismissed private one. */
  | { kind: 'removed'; message: string }
  | { kind: 'reply'; root: string; reply: Message }
  /** New text of an answer, at character `offset`. `reply` is absent for an answer in the channel. */
  | { kind: 'text'; root: string; reply?: string; offset: number; text: string };
