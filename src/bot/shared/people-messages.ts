import { z } from 'zod';
import { SharedFile } from './shared-file.ts';
import { counted, shortened } from './text-format.ts';

/** A message that a question is about, as it was then; stored with the question. Hostile until rendered. */
export const QuotedMessage = z.object({
  /** The platform's id. */
  id: z.string().optional(),
  author: z.string(),
  text: z.string(),
  /** Unix time. */
  atMs: z.number().optional(),
  /** The text names them, too, because they may be unreadable. */
  files: z.array(SharedFile).optional(),
});
export type QuotedMessage = z.infer<typeof QuotedMessage>;

/** Location of a question among people's messages, by the platform's ids. */
export const Around = z.object({
  /** An existing thread; absent in the middle of a channel. */
  thread: z.string().optional(),
  /** The message that asks. Later ones are ignored. */
  question: z.string().optional(),
  /** The message that this one replies to. */
  repliesTo: z.string().optional(),
});
export type Around = z.infer<typeof Around>;

/** A message from a platform. Plain text, hostile until rendered. */
export interface WrittenMessage extends QuotedMessage {
  id: string;
  atMs: number;
  /** By Askwatch. */
  isOwn?: boolean;
}

export interface ReadMessages {
  /** Newest first. */
  messages: WrittenMessage[];
  /** Number of older messages. */
  older: number;
  /** Name of the person who asks. */
  asker?: string;
  /** Why messages or texts are missing, and what to do, in sentences. */
  problem?: string;
}

/** If the signal aborts, the messages so far are used. */
export interface ReadLimits {
  limit: number;
  /** The platform's id of the person who asks. */
  asker: string;
  signal: AbortSignal;
}

/** The question if a person writes none. */
export const QUESTION_ABOUT = 'What is this about? Explain it, or sum it up.';

/** Characters of one message for a model. */
export const MAX_MESSAGE = 4_000;

/** Cuts a message for a model, and says so. `whole` is the original length. Pure. */
export function boundedText(text: string, whole = text.length): string {
  if (text.length <= MAX_MESSAGE && whole <= text.length) return text;
  const cut = ` … [cut here: the message has ${counted(whole, 'character')}]`;
  return text.slice(0, MAX_MESSAGE - cut.length).trimEnd() + cut;
}

/** `boundedText` that makes only the needed part readable, because messages may be very long. Pure. */
export function readableText(text: string, read: (part: string) => string): string {
  const most = 2 * MAX_MESSAGE;
  if (text.length <= most) return boundedText(read(text));
  return boundedText(read(text.slice(0, most)), text.length);
}

export const fileLine = (name: string) => `[file: ${shortened(name, 200)}]`;
