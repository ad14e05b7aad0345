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

/** What tools work with, for whoever asks. */
export interface ToolContext {
  monitoring: MonitoringClient;
  channels: Pick<Channels, 'describe'>;
  usageLog: Pick<UsageLog, 'since'>;
  /** Channels that hear every alert, as the operator set it. */
  alertPlaces: readonly Place[];
  /** Where it is asked; absent where there is no channel. */
  place?: Place;
  /** What other systems report to that channel; nobody is told of it elsewhere. */
  reported?: () => ChannelReports;
  nowMs: number;
  signal: AbortSignal;
}

/** What was looked at, for people. All of it is plain text, and may hold names from outside. */
export interface Account {
  /** As it follows “Looked up”; what was said before the call when left out. */
  what?: string;
  /** What was found and of when it is. */
  found: string;
  /** The page of the console that shows it, such as `/status`. */
  page?: string;
}

/** What a change works with besides. */
export interface WriteContext extends ToolContext {
  channels: Pick<Channels, 'describe' | 'add'>;
  incidents: Pick<Incidents, 'openOf' | 'mark' | 'note'>;
  /** Tools of other people's servers, where there are any. */
  others?: { carryOut(draft: Record<string, unknown>, context: WriteContext): Promise<Card> };
  /** Who wants it. */
  person: { name: string };
  /** The thread it is asked in; absent where there is none. */
  thread?: string | undefined;
  /** The same for every try of one change. */
  idempotencyKey: string;
  /**
   * To be asked right before what must not be done twice, and cannot be told from a repeat: durable when it resolves. Throws a
   * `CommandError` where an earlier try had come so far.
   */
  begin?(): Promise<void>;
  log: Logger;
}

/**
 * What a model, or another assistant, can look up or propose: declared once, and read by every surface that offers it.
 * `input` is flat, each field with `.describe()`. `description` says what it does and gives, and nothing of how to behave.
 */
interface Declared<Input extends z.ZodObject> {
  /** By which a model calls it: a verb and a noun, `list_monitors`. */
  name: string;
  /** For people, such as `List monitors`. */
  title: string;
  description: string;
  /** Whether it is about the channel it is asked in, and so offered only where there is one. */
  ofPlace?: boolean;
  input: Input;
  /** The server of somebody else that it is a tool of. */
  server?: string;
  /** The schema of its input, where that server says it: what fits is the server's to say, too. */
  schema?: Record<string, unknown>;
}

/** A tool that only looks: nothing that people set is another one afterwards. */
export interface ReadingTool<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodObject = z.ZodObject,
> extends Declared<Input> {
  access: 'reads';
  output: Output;
  /** What is about to be looked at, as it follows “Looking up”. */
  what(input: z.output<Input>): string;
  account(output: z.output<Output>, input: z.output<Input>): Account;
  /** Throws a `CommandError` that says what is wrong with the input, and what a client throws. */
  run(input: z.output<Input>, context: ToolContext): Promise<z.output<Output>>;
}

/** What a person reads before it is done: all that will be stored, in plain text. */
export interface Summary {
  /** As a question: `Pause Shop?` */
  title: string;
  facts: Fact[];
  /** What is sent as it is. */
  code?: string;
  /** What stands on the button. */
  confirm: string;
  /** Further buttons. */
  actions?: CardAction[];
}

/** A tool that changes something. In a chat it is only proposed: a person who may do it has to confirm what a card shows. */
export interface WritingTool<
  Input extends z.ZodObject = z.ZodObject,
  Draft extends z.ZodObject = z.ZodObject,
> extends Declared<Input> {
  access: 'writes';
  right: 'anyone' | Right;
  /** Whether what it changes cannot be had back. */
  isDestructive?: boolean;
  /** What is stored until somebody confirms it. */
  draft: Draft;
  /** Completes what is asked for, so that its summary says all that will be done. Throws a `CommandError`. */
  prepare(input: z.output<Input>, context: WriteContext): Promise<z.output<Draft>>;
  summary(draft: z.output<Draft>): Summary;
  /** Does it, and tells what was done. Throws a `CommandError` where what it is about is no more as it was. */
  carryOut(draft: z.output<Draft>, context: WriteContext): Promise<Card>;
}

export type Tool = ReadingTool | WritingTool;

/** Declares a tool that reads, so that `run` and `account` see the types of its own input and output. */
export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(
  declaration: Omit<ReadingTool<Input, Output>, 'access'>,
): ReadingTool {
  return { ...declaration, access: 'reads' } as unknown as ReadingTool;
}

/** The same for one that writes. */
export function writingTool<Input extends z.ZodObject, Draft extends z.ZodObject>(
  declaration: Omit<WritingTool<Input, Draft>, 'access'>,
): WritingTool {
  return { ...declaration, access: 'writes' } as unknown as WritingTool;
}

/** The input of whatever is about one monitor. */
export const monitorField = z
  .string()
  .min(1)
  .max(2048)
  .describe('Id, name, or a unique part of the name or target.');

/** How many rows are wanted, of at most `max`. */
export const limitField = (max: number, standard: number) =>
  z.int().min(1).max(max).optional().describe(`At most ${max}; default ${standard}.`);

/** `as of 14:05 UTC`. */
export const asOf = (nowMs: number) => `as of ${new Date(nowMs).toISOString().slice(11, 16)} UTC`;

/** A moment as results have it. */
export const isoTime = (ms: number) => new Date(ms).toISOString();
