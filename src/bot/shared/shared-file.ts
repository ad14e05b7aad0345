import { z } from 'zod';
import { oneLine } from '../../contracts/one-line.ts';
import { shortened } from './text-format.ts';

const MAX_NAME = 120;

/** Discord's addresses have about 300 characters. */
const MAX_REF = 2_000;

/** A file of a message, without its content. `mediaType` and `bytes` are unverified. */
export const SharedFile = z.object({
  /** One line, hostile until rendered. */
  name: z.string().max(MAX_NAME),
  mediaType: z.string().max(100).optional(),
  bytes: z.number().nonnegative().optional(),
  /** The platform finds it by these ids, or by an address without a token. */
  ref: z.record(z.string().max(20), z.string().max(MAX_REF)),
});
export type SharedFile = z.infer<typeof SharedFile>;

/** A platform's file within the limits of the schema. Pure. */
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

/** A file can't be read. The message follows its name and a colon: `it is no longer there. Send it again.` */
export class FileError extends Error {
  override name = 'FileError' as const;
  /** It was deleted. */
  readonly isGone: boolean;

  constructor(message: string, options: { isGone?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.isGone = options.isGone ?? false;
  }
}

export const GONE = 'it is no longer there. Send it again.';

/** The question if a person sends files without text. */
export const WITHOUT_WORDS = 'What is in this?';
