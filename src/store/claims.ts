import { createHash } from 'node:crypto';
import type { z } from 'zod';

export interface ClaimsDeclaration<T> {
  /** Lower-case words with hyphens. */
  name: string;
  /** Request of a thing, kept until it is done. JSON. */
  schema: z.ZodType<T>;
  /** How long a thing that is done is refused, unless `finish` is given another time. */
  keptMs: number;
}

/** Things to be done once, however often they are asked for. One process at a time uses those of a name. */
export interface Claims<T> {
  /**
   * Whether it is to be done now: it is neither done nor being done. Durable before it resolves. If `request` is given, it
   * is kept until the thing is done, and also refused after a restart, until `left` has told of it; without one it may be
   * done again after a restart.
   */
  once(id: string, request?: T): Promise<boolean>;
  /** It is done, and refused from now on for `keptMs`; its request is gone. */
  finish(id: string, keptMs?: number): Promise<void>;
  /** It came to nothing, also when it counted as done: whoever asks next may do it. */
  giveBack(id: string): Promise<void>;
  /** The requests of what was begun and not finished before a restart, oldest first. To be asked once, at the start. */
  left(): Promise<T[]>;
  /** Nothing that is kept, such as versions before, holds a request of what is finished by then. It rewrites all claims. */
  eraseFinished(): Promise<void>;
}

/** Ids come from outside, and may be personal: hashed, they are short and mean nothing. */
export const keyOf = (id: string): string =>
  createHash('sha256').update(id).digest('hex').slice(0, 32);
