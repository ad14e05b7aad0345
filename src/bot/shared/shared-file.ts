import { z } from 'zod';
import { oneLine } from '../../contracts/one-line.ts';
import { shortened } from './text-format.ts';

/** Longest name that is kept of a file. */
const MAX_NAME = 120;

/** What a platform finds a file by again: ids, or an address. Discord's addresses are some 300 characters. */
const MAX_REF = 2_000;

/**
 * A file beside a message: what it is called and where its platform finds it, and nothing of what is in it. `mediaType` and
 * `bytes` are what somebody said of it, and nothing is to be believed of that.
 */
export const SharedFile = z.object({
  /** One line; what people read of it is hostile until rendered. */
  name: z.string().max(MAX_NAME),
  mediaType: z.string().max(100).optional(),
  bytes: z.number().nonnegative().optional(),
  /** Its platform's own: ids, or an address that no token is part of. */
  ref: z.record(z.string().max(20), z.string().max(MAX_REF)),
});
export type SharedFile = z.infer<typeof SharedFile>;

/** A file as a platform tells of it, within what is kept; nobody's name for it makes two lines. Pure. */
export function sharedFile(told: {
  name?: unknown;
  mediaType?: unknown;
  bytes?: unknown;
  ref: Record<string, string | undefined>;
}): SharedFile {
  const { name, mediaType, bytes } = told;
  const line = typeof name === 'string' ? oneLine(name.slice(0, 1_000)) : '';
  const ref = Object.entries(told.ref).filter(
    (one): one is [string, string] => one[1] !== undefined && one[1].length <= MAX_REF,
  );
  return {
    name: line === '' ? 'file' : shortened(line, MAX_NAME),
    ...(typeof mediaType === 'string' && {
      mediaType: oneLine(mediaType.slice(0, 100)).toLowerCase(),
    }),
    ...(typeof bytes === 'number' && bytes >= 0 && { bytes }),
    ref: Object.fromEntries(ref),
  };
}

/**
 * A file cannot be read. The message goes on after the name of the file and a colon: why, and what to do, as in
 * `it is no longer there. Send it again.`
 */
export class FileError extends Error {
  override name = 'FileError' as const;
  /** It was there, and is no more. */
  readonly isGone: boolean;

  constructor(message: string, options: { isGone?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.isGone = options.isGone ?? false;
  }
}

export const GONE = 'it is no longer there. Send it again.';

/** What is asked where somebody sends files without a word. */
export const WITHOUT_WORDS = 'What is in this?';
