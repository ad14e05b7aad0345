import { z } from 'zod';
import { SharedFile } from './shared-file.ts';
import { counted, shortened } from './text-format.ts';

/** A message that a question is about, as it was when that was asked; it is kept with the question. Hostile until rendered. */
export const QuotedMessage = z.object({
  /** The platform's own id. */
  id: z.string().optional(),
  author: z.string(),
  text: z.string(),
  /** When it was written, Unix time. */
  atMs: z.number().optional(),
  /** Its files. The text names them, since they may not be readable. */
  files: z.array(SharedFile).optional(),
});
export type QuotedMessage = z.infer<typeof QuotedMessage>;

/** Where what people wrote around a question stands, by the platform's own ids. */
export const Around = z.object({
  /** The thread it was asked in, which was there before; absent in the middle of a channel. */
  thread: z.string().optional(),
  /** The message that asks: what was written after it does not count. */
  question: z.string().optional(),
  /** The message that this one replies to, where that is how people go on there. */
  repliesTo: z.string().optional(),
});
export type Around = z.infer<typeof Around>;

/** A message as a platform reads it. All text in it is plain text, and hostile until rendered. */
export interface WrittenMessage extends QuotedMessage {
  id: string;
  atMs: number;
  /** It is Askwatch's own. */
  isOwn?: boolean;
}

/** What a platform could read. */
export interface ReadMessages {
  /** Newest first. */
  messages: WrittenMessage[];
  /** How many older ones there are besides. */
  older: number;
  /** What people call the one who asks, where it is known there. */
  asker?: string;
  /** Why there are not more, or why what some say is not known, and what to do about it, in sentences. */
  problem?: string;
}

/** How much is read: at most so many messages, and what came when the signal aborts. */
export interface ReadLimits {
  limit: number;
  /** Who asks, by the platform's own id. */
  asker: string;
  signal: AbortSignal;
}

/** What is asked about a message by whoever says no more. */
export const QUESTION_ABOUT = 'What is this about? Explain it, or sum it up.';

/** The most of one message that a model is told. */
export const MAX_MESSAGE = 4_000;

/** A message's text as far as a model is told it; a cut says so, `whole` being the length of all of it. Pure. */
export function boundedText(text: string, whole = text.length): string {
  if (text.length <= MAX_MESSAGE && whole <= text.length) return text;
  const cut = ` … [cut here: the message has ${counted(whole, 'character')}]`;
  return text.slice(0, MAX_MESSAGE - cut.length).trimEnd() + cut;
}

/** The text of a message, made readable no further than it is told: people may write very much. Pure. */
export function readableText(text: string, read: (part: string) => string): string {
  const most = 2 * MAX_MESSAGE;
  if (text.length <= most) return boundedText(read(text));
  return boundedText(read(text.slice(0, most)), text.length);
}

/** How a file of a message is told. */
export const fileLine = (name: string) => `[file: ${shortened(name, 200)}]`;
