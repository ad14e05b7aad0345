import type { Logger } from 'pino';
import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { type DurationRange, durationProblem, readDuration } from '../../contracts/duration.ts';
import type { Ask } from '../ask/ask.ts';
import type { Budgets } from '../ask/budgets.ts';
import type { ModelCatalog } from '../ask/catalog.ts';
import type { ChannelDefaults } from '../ask/channel-defaults.ts';
import type { Conversations } from '../ask/conversations.ts';
import type { Channels } from '../channels/channels.ts';
import type { Feedback } from '../feedback/feedback.ts';
import type { Incidents } from '../incidents/incident-service.ts';
import type { AlertIntake } from '../intake/intake.ts';
import type { Intakes } from '../intake/intakes.ts';
import type { Reports } from '../reports/reports.ts';
import type { CommandResult, Invocation } from '../shared/invocation.ts';
import type { Person, Place } from '../shared/place.ts';
import type { PlatformTraits } from '../shared/platform-traits.ts';
import type { Right } from '../shared/rights.ts';
import type { StoredHandling } from '../shared/seen-invocations.ts';
import type { BotSettings } from '../shared/settings.ts';
import { SharedFile } from '../shared/shared-file.ts';
import type { OtherTools } from '../tools/others/other-tools.ts';
import type { Proposals } from '../tools/proposals.ts';
import type { UsageLog } from '../usage/usage-log.ts';

/**
 * A command, declared once; platforms, help, manifests and docs/commands.md are made from it.
 * `input` is flat: texts (`requiredText`, `optionalText`), durations (`optionalDuration`), whole numbers, booleans, choices and
 * files (`attachedFile`), each with `.describe()`.
 */
export interface Command<Input extends z.ZodObject = z.ZodObject> {
  /** What is typed after the slash: `ask`, `monitor add`. */
  name: string;
  /** One line for help texts, at most 100 characters (Discord's limit for descriptions). */
  summary: string;
  /**
   * Who may: anyone who sees where it is said, or those with a right, which is asked for before it runs and before its form
   * opens. With `when`, only these inputs ask for it; a form always does.
   */
  right: 'anyone' | (Right & { when?(input: z.output<Input>): boolean });
  input: Input;
  /** Whole lines that work as they are; the first stands beside every complaint about an input. None for what nobody types. */
  examples?: readonly string[];
  /**
   * The one required text, or the first of all, takes the rest of a typed line as it is, after any leading `key=value` words. Without it, words
   * fill the required inputs in order and those left over join into the first optional text.
   */
  wholeLine?: boolean;
  /** In a typed line, words that are choices of inputs that may be left out fill these first, in their order. */
  wordsChoose?: boolean;
  /** Platforms that have forms show one when the command is typed with nothing after it. */
  form?: {
    /** What stands over it, at most 24 characters (Slack's limit for titles of views). */
    title: string;
    /** What stands on the button that sends it. */
    send: string;
    /** The inputs that go with what was chosen so far, in their order. */
    inputs(chosen: Record<string, unknown>): ReadonlyArray<Extract<keyof z.output<Input>, string>>;
    /** The choice that decides about the others, and what it is at first. */
    chooses?: { input: Extract<keyof z.output<Input>, string>; first: string };
    /** Inputs that have to be filled in where they are shown. */
    required?: ReadonlyArray<Extract<keyof z.output<Input>, string>>;
    /** Texts that may have several lines. */
    long?: ReadonlyArray<Extract<keyof z.output<Input>, string>>;
    /** What the button that opens it says, and nobody fills in. */
    carried?: ReadonlyArray<Extract<keyof z.output<Input>, string>>;
    /** What stands in it at first; empty without this. Throws a `CommandError` for those who are to get no form. */
    begin?(call: FormCall): Promise<FormBegin>;
    /** Throws a `CommandError` for inputs that are right one by one but do not go together. */
    check?(input: z.output<Input>): void;
  };
  /**
   * What a press of its button is one and the same with, whoever presses. Without it only the same person's press of the
   * same button is, as of a double click.
   */
  once?(input: z.output<Input>, invocation: Invocation): Once;
  /** The form that a press of its button opens besides, where it does before it is done, and what that carries. */
  opens?(
    input: z.output<Input>,
    call: Omit<FormCall, 'carried'>,
  ): Promise<{ form: string; carried: Record<string, string> } | undefined>;
  run(input: z.output<Input>, call: Call): Promise<CommandResult>;
}

/** What is done once, however many press a button for it. */
export interface Once {
  /** The same for all presses that are one, and for no others. */
  key: string;
  /** How long after its end a further press is still the same; for good where the command itself then refuses it. */
  keepMs: number;
  /** Where who comes second finds what comes of it, as a sentence. */
  shown: string;
}

/** What a form is opened with. */
export interface FormCall extends Omit<Call, 'invocation' | 'handling'> {
  /** The thread of the button that opens it. */
  thread?: string;
  carried: Record<string, string>;
}

/** How a form begins, each by the name of its input. */
export interface FormBegin {
  /** What stands in it. */
  values?: Record<string, string>;
  /** What can be chosen, where the schema does not say it. */
  choices?: Record<string, string[]>;
  /** What is said under an input in place of its description. */
  hints?: Record<string, string>;
}

/** Declares a command, so that `run` sees the type of its own input. */
export function command<Input extends z.ZodObject>(declaration: Command<Input>): Command {
  return declaration as unknown as Command;
}

/** An input that is a text of at most `max` characters. */
export const requiredText = (max: number, description: string) =>
  z.string().max(max).describe(description);

/** The same for an input that may be left out. */
export const optionalText = (max: number, description: string) =>
  requiredText(max, description).optional();

/** The same for a duration such as `5m`; its value is in milliseconds. */
export const optionalDuration = (range: DurationRange, description: string) =>
  z
    .string()
    .max(60)
    .transform((text, context) => {
      const problem = durationProblem(text, range);
      if (problem !== undefined) context.addIssue(problem);
      return readDuration(text) ?? z.NEVER;
    })
    .optional()
    .describe(description);

/** An input that is a file, on platforms where one can be given beside the others; nobody types it. */
export const attachedFile = (description: string) => SharedFile.describe(description);

/** One input of a command, in words every platform can use. */
export interface Field {
  name: string;
  description: string;
  kind: 'text' | 'integer' | 'boolean' | 'choice' | 'file';
  required: boolean;
  choices: string[];
  /** A text that may have several lines. */
  long?: boolean;
  min?: number;
  max?: number;
}

interface FieldJsonSchema {
  type?: string;
  enum?: string[];
  description?: string;
  minimum?: number;
  maximum?: number;
}

/** To read a schema takes longer than all else that a command does without a service. */
const known = new WeakMap<Command, readonly Field[]>();

/** The inputs of a command in declared order, read from its schema once. */
export function fieldsOf(declared: Command): readonly Field[] {
  const fields = known.get(declared) ?? readFields(declared);
  known.set(declared, fields);
  return fields;
}

/** Those that can be typed, or filled into a form. */
export const typedFieldsOf = (declared: Command): readonly Field[] =>
  fieldsOf(declared).filter(({ kind }) => kind !== 'file');

function readFields(declared: Command): Field[] {
  const schema = z.toJSONSchema(declared.input, { io: 'input' }) as {
    properties?: Record<string, FieldJsonSchema>;
    required?: string[];
  };
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    description: property.description ?? '',
    kind: kindOf(property),
    required: schema.required?.includes(name) ?? false,
    choices: property.enum ?? [],
    min: property.minimum,
    max: property.maximum,
  }));
}

function kindOf(property: FieldJsonSchema): Field['kind'] {
  if (property.enum) return 'choice';
  if (property.type === 'integer') return 'integer';
  if (property.type === 'boolean') return 'boolean';
  if (property.type === 'object') return 'file';
  return 'text';
}

/** How a command is typed: `/monitor add <target> [name] [type]`. */
export function usageOf(declared: Command): string {
  const inputs = typedFieldsOf(declared).map(({ name, required, kind, choices }) => {
    if (!required) return `[${name}]`;
    return kind === 'choice' ? `<${choices.join('|')}>` : `<${name}>`;
  });
  return [`/${declared.name}`, ...inputs].join(' ');
}

/** What a command's `run` is given besides its input. */
export interface Call {
  invocation: Invocation;
  handling: StoredHandling;
  place: Place;
  person: Person;
  commands: readonly Command[];
  /** What buttons can do besides. */
  actions: readonly Command[];
  incidents: Incidents;
  settings: BotSettings;
  monitoring: MonitoringClient;
  ask: Ask;
  catalog: ModelCatalog;
  channels: Channels;
  channelDefaults: ChannelDefaults;
  usageLog: UsageLog;
  conversations: Conversations;
  proposals: Proposals;
  otherTools: OtherTools;
  budgets: Budgets;
  reports: Reports;
  feedback: Feedback;
  intake: AlertIntake;
  intakes: Intakes;
  /** What is known of a platform. */
  traitsOf(platform: string): PlatformTraits;
  log: Logger;
}

/** The first words of the commands, in their order: Slack's slash commands. */
export function topLevelNames(commands: readonly Command[]): string[] {
  return [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? name))];
}
