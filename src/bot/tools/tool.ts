import type { Logger } from 'pino';
import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Channels } from '../channels/channels.ts';
import type { Incidents } from '../incidents/incident-service.ts';
import type { Card, CardAction, Fact } from '../shared/card.ts';
import type { Place } from '../shared/place.ts';
import type { Right } from '../shared/rights.ts';
import type { UsageLog } from '../usage/usage-log.ts';
import type { ChannelReports } from './reported-alerts.ts';

/** Services and facts for a reading tool. */
export interface ToolContext {
  monitoring: MonitoringClient;
  channels: Pick<Channels, 'describe'>;
  usageLog: Pick<UsageLog, 'since'>;
  /** Channels that receive every alert, as the operator set it. */
  alertPlaces: readonly Place[];
  /** The channel of the question; absent where there is none. */
  place?: Place;
  /** Alerts from other systems in that channel; no other channel may see them. */
  reported?: () => ChannelReports;
  nowMs: number;
  signal: AbortSignal;
}

/** A look-up in words for people. Plain text that may contain names from outside. */
export interface ToolAccount {
  /** Follows “Looked up”; if absent, the words before the call. */
  what?: string;
  /** The result in short, and of when it is. */
  found: string;
  /** The page of the console that shows it, such as `/status`. */
  page?: string;
}

/** Services and facts for a tool that changes something. */
export interface WriteContext extends ToolContext {
  channels: Pick<Channels, 'describe' | 'add'>;
  incidents: Pick<Incidents, 'openOf' | 'mark' | 'note'>;
  person: { name: string };
  /** The thread of the question; absent where there is none. */
  thread?: string;
  /** Equal for all tries of one change. */
  idempotencyKey: string;
  /**
   * To be called right before a step that must not happen twice and that its service can't tell from a repeat: durable when
   * it resolves. Throws a `CommandError` if an earlier try had come so far.
   */
  begin?(): Promise<void>;
  log: Logger;
}

/**
 * A look-up or a change that a model or another assistant can request: declared once, and offered by every surface.
 * `input` is flat, each field with `.describe()`. `description` says what it does and returns, not how to behave.
 */
interface ToolBase<Input extends z.ZodObject> {
  /** A verb and a noun, for models: `list_monitors`. */
  name: string;
  /** For people: `List monitors`. */
  title: string;
  description: string;
  /** True if it is about the channel of the question, and offered only where there is one. */
  ofPlace?: boolean;
  input: Input;
  /** JSON schema of `input`. */
  inputSchema: Record<string, unknown>;
  /** The server of other people that it belongs to. */
  server?: string;
}

export interface ReadingTool<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
> extends ToolBase<Input> {
  access: 'reads';
  output: Output;
  /** Follows “Looking up”. */
  what(input: z.output<Input>): string;
  account(output: z.output<Output>, input: z.output<Input>): ToolAccount;
  /** Throws a `CommandError` for wrong input, and errors of the client. */
  run(input: z.output<Input>, context: ToolContext): Promise<z.output<Output>>;
}

/** Text of a confirmation card: everything that will be stored, in plain text. */
export interface ChangeSummary {
  /** A question: `Pause Shop?` */
  title: string;
  facts: Fact[];
  /** Shown as it will be sent. */
  code?: string;
  /** Label of the confirming button. */
  confirm: string;
  /** Further buttons. */
  actions?: CardAction[];
}

/** A tool that changes something. In a chat it only proposes: a person with the right confirms what the card shows. */
export interface WritingTool<
  Input extends z.ZodObject = z.ZodObject,
  Draft extends z.ZodObject = z.ZodObject,
> extends ToolBase<Input> {
  access: 'writes';
  right: 'anyone' | Right;
  /** True if the change can't be undone. */
  isDestructive?: boolean;
  /** Schema of the stored proposal. */
  draft: Draft;
  /** Completes the input, so that the summary shows the whole change. Throws a `CommandError`. */
  prepare(input: z.output<Input>, context: WriteContext): Promise<z.output<Draft>>;
  summary(draft: z.output<Draft>): ChangeSummary;
  /** Throws a `CommandError` if its subject has changed since the proposal. */
  carryOut(draft: z.output<Draft>, context: WriteContext): Promise<Card>;
}

export type Tool = ReadingTool | WritingTool;

/** `missing` names tools that are unavailable, in parts of a sentence. */
export interface ToolOffer {
  tools: Tool[];
  missing: string[];
}

/** Declares a tool that reads, so that `run` and `account` see the types of its own input and output. */
export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(
  declaration: Omit<ReadingTool<Input, Output>, 'access' | 'inputSchema'>,
): ReadingTool {
  const { input } = declaration;
  return { ...declaration, ...strictInput(input), access: 'reads' } as unknown as ReadingTool;
}

/** Declares a tool that writes. */
export function writingTool<Input extends z.ZodObject, Draft extends z.ZodObject>(
  declaration: Omit<WritingTool<Input, Draft>, 'access' | 'inputSchema'>,
): WritingTool {
  const { input } = declaration;
  return { ...declaration, ...strictInput(input), access: 'writes' } as unknown as WritingTool;
}

function strictInput(input: z.ZodObject) {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(input, { io: 'input' });
  // An object that is declared as loose stays loose.
  return { input: input.def.catchall ? input : input.strict(), inputSchema };
}

export const monitorField = z
  .string()
  .min(1)
  .max(2048)
  .describe('Id, name, or a unique part of the name or target.');

export const subjectField = monitorField.describe(
  'Id, name, or a unique part of the name or target of the monitor or alert.',
);

export const limitField = (max: number, standard: number) =>
  z.int().min(1).max(max).optional().describe(`At most ${max}; default ${standard}.`);

/** `as of 14:05 UTC`. */
export const asOf = (nowMs: number) => `as of ${new Date(nowMs).toISOString().slice(11, 16)} UTC`;

export const isoTime = (ms: number) => new Date(ms).toISOString();
