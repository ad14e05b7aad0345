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
import type { Webhooks } from '../channels/webhooks.ts';
import type { Incidents } from '../incidents/incident-service.ts';
import type { CommandResult, Invocation } from '../shared/invocation.ts';
import type { Person, Place } from '../shared/place.ts';
import type { PlatformTraits } from '../shared/platform-traits.ts';
import type { Right } from '../shared/rights.ts';
import type { StoredHandling } from '../shared/seen-invocations.ts';
import type { BotSettings } from '../shared/settings.ts';
import { SharedFile } from '../shared/shared-file.ts';
import type { Proposals } from '../tools/proposals.ts';
import type { UsageLog } from '../usage/usage-log.ts';
import type { OpenFeatures } from './open-features.ts';

type InputName<Input extends z.ZodObject> = Extract<keyof z.output<Input>, string>;

/** Groups of commands, in the order of help. */
export const GROUPS = ['ask', 'watch', 'alert', 'set up'] as const;
export type CommandGroup = (typeof GROUPS)[number];

/**
 * A command, declared once. Platforms, help, manifests and docs/commands.md derive from it. `input` is flat: texts, durations,
 * whole numbers, booleans, choices and files, each with `.describe()`.
 */
export interface Command<Input extends z.ZodObject = z.ZodObject> {
  /** `monitor add`, typed after the slash. */
  name: string;
  /** At most 100 characters. Source: Discord docs, "Application Commands", `description`. */
  summary: string;
  /** Group in help; absent if nobody can type the command. */
  group?: CommandGroup;
  /** The right is checked before it runs, and before its form opens. With `when`, only these inputs need it, and the form. */
  right: 'anyone' | (Right & { when?(input: z.output<Input>): boolean });
  input: Input;
  /** True if an input holds a secret. Only its person sees the reply then, because Discord shows everyone the inputs next to a public one. */
  hasSecret?(values: Record<string, unknown>): boolean;
  /** Whole lines that work; errors show the first one. Absent if nobody can type the command. */
  examples?: readonly string[];
  /**
   * The required text, or else the first text, takes the whole line after any leading `key=value` words. Otherwise words fill the
   * required inputs in order, and the rest becomes the first optional text.
   */
  wholeLine?: boolean;
  /** Words of a typed line without a key are together the first required text. */
  joinsWords?: boolean;
  /** Sentences for keys of inputs that people expect, but that it doesn't have. */
  refuses?: ReadonlyMap<string, string>;
  /** Words of a typed line that are choices of optional inputs fill these first. */
  wordsChoose?: boolean;
  /** Platforms with forms show it if the command is typed without inputs. */
  form?: {
    /** At most 24 characters. Source: Slack docs, "Views", `title`. */
    title: string;
    /** Label of the button. */
    send: string;
    /** The inputs to show, given the choice so far. */
    inputs(chosen: Record<string, unknown>): ReadonlyArray<InputName<Input>>;
    /** The choice that decides which other inputs are shown, and its first value. */
    chooses?: { input: InputName<Input>; first: string };
    /** Optional inputs that the form requires. */
    required?: ReadonlyArray<InputName<Input>>;
    /** Texts with several lines. */
    long?: ReadonlyArray<InputName<Input>>;
    /** Inputs from the button or the line that opens the form; nobody fills them in. */
    carried?: ReadonlyArray<InputName<Input>>;
    /** First values, or a `CommandError` for people who get no form. */
    begin?(call: FormCall): Promise<FormBegin>;
    /** Throws a `CommandError` for inputs that don't go together. */
    check?(input: z.output<Input>): void;
  };
  /** Presses with an equal key act once. Without it, only a person's double click counts as one press. */
  once?(input: z.output<Input>, invocation: Invocation): Once;
  /** The form that a press opens before the command runs. */
  opens?(
    input: z.output<Input>,
    call: Omit<FormCall, 'carried'>,
  ): Promise<{ form: string; carried: Record<string, string> } | undefined>;
  run(input: z.output<Input>, call: Call): Promise<CommandResult>;
}

export interface Once {
  key: string;
  /** Time after the first press ended in which further ones are refused. */
  keepMs: number;
  /** Tells the second person where the result is, as a sentence. */
  shown: string;
}

export interface FormCall extends Omit<Call, 'invocation' | 'handling'> {
  /** The thread of the button that opens it. */
  thread?: string;
  carried: Record<string, string>;
}

/** First state of a form, by names of inputs. */
export interface FormBegin {
  values?: Record<string, string>;
  /** Choices that the schema doesn't have. */
  choices?: Record<string, string[]>;
  /** Shown instead of descriptions. */
  hints?: Record<string, string>;
  /** Shown instead of all inputs. */
  inputs?: readonly string[];
  /** Values that nobody fills in, instead of those from the button or the line that opens it. */
  carried?: Record<string, string>;
}

/** Declares a command, so that `run` sees the type of its own input. */
export function command<Input extends z.ZodObject>(declaration: Command<Input>): Command {
  return declaration as unknown as Command;
}

export const requiredText = (max: number, description: string) =>
  z.string().max(max).describe(description);

export const optionalText = (max: number, description: string) =>
  requiredText(max, description).optional();

/** A duration such as `5m`. Its value is in milliseconds. */
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

/** An optional input that an empty text resets to its default: its value is then `null`. */
export function resettable<T extends z.ZodType>(input: z.ZodOptional<T>) {
  const { description } = input;
  const optional = input.unwrap().nullable().optional();
  return description === undefined ? optional : optional.describe(description);
}

/** A file, on platforms whose commands take one. Nobody can type it. */
export const attachedFile = (description: string) => SharedFile.describe(description);

/** One input of a command, for platforms. */
export interface Field {
  name: string;
  description: string;
  kind: 'text' | 'integer' | 'boolean' | 'choice' | 'file';
  required: boolean;
  choices: string[];
  /** With several lines. */
  long?: boolean;
  /** An empty text resets it: the command gets `null`. */
  resets?: boolean;
  min?: number;
  max?: number;
}

interface FieldJsonSchema {
  type?: string;
  enum?: string[];
  description?: string;
  minimum?: number;
  maximum?: number;
  /** The schema and null. */
  anyOf?: FieldJsonSchema[];
}

/** Reading a schema takes longer than anything else that a command does without a service. */
const fieldsByCommand = new WeakMap<Command, readonly Field[]>();

/** The inputs in declared order. */
export function fieldsOf(declared: Command): readonly Field[] {
  const fields = fieldsByCommand.get(declared) ?? readFields(declared);
  fieldsByCommand.set(declared, fields);
  return fields;
}

/** The inputs that people can type. */
export const typedFieldsOf = (declared: Command): readonly Field[] =>
  fieldsOf(declared).filter(({ kind }) => kind !== 'file');

function readFields(declared: Command): Field[] {
  const schema = z.toJSONSchema(declared.input, { io: 'input' }) as {
    properties?: Record<string, FieldJsonSchema>;
    required?: string[];
  };
  return Object.entries(schema.properties ?? {}).map(([name, whole]) => {
    const property = whole.anyOf?.[0] ?? whole;
    return {
      name,
      description: whole.description ?? property.description ?? '',
      kind: kindOf(property),
      required: schema.required?.includes(name) ?? false,
      choices: property.enum ?? [],
      min: property.minimum,
      max: property.maximum,
      ...(whole.anyOf && { resets: true }),
    };
  });
}

function kindOf(property: FieldJsonSchema): Field['kind'] {
  if (property.enum) return 'choice';
  if (property.type === 'integer') return 'integer';
  if (property.type === 'boolean') return 'boolean';
  if (property.type === 'object') return 'file';
  return 'text';
}

/** `/monitor add <target> [name] [type]`. */
export function usageOf(declared: Command): string {
  const inputs = typedFieldsOf(declared).map(({ name, required, kind, choices }) => {
    if (!required) return `[${name}]`;
    return kind === 'choice' ? `<${choices.join('|')}>` : `<${name}>`;
  });
  return [`/${declared.name}`, ...inputs].join(' ');
}

/** `/monitor add <target> …`, without the names of optional inputs. */
export function briefUsageOf(declared: Command): string {
  const [name = '', ...inputs] = usageOf(declared).split(/ (?=[<[])/);
  const required = inputs.filter((input) => input.startsWith('<'));
  return [name, ...required, ...(required.length < inputs.length ? ['…'] : [])].join(' ');
}

/** Services and facts for `run`. */
export interface Call {
  invocation: Invocation;
  handling: StoredHandling;
  place: Place;
  person: Person;
  commands: readonly Command[];
  /** Commands of buttons only. */
  actions: readonly Command[];
  incidents: Incidents;
  settings: BotSettings;
  monitoring: MonitoringClient;
  ask: Ask;
  catalog: ModelCatalog;
  channels: Channels;
  webhooks: Webhooks;
  channelDefaults: ChannelDefaults;
  usageLog: UsageLog;
  conversations: Conversations;
  proposals: Proposals;
  budgets: Budgets;
  features: OpenFeatures;
  traitsOf(platform: string): PlatformTraits;
  log: Logger;
}

/** First words of the commands: Slack's slash commands. */
export function topLevelNames(commands: readonly Command[]): string[] {
  return [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? name))];
}
