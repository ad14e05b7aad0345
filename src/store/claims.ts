import { createHash } from 'node:crypto';
import type { z } from 'zod';

export interface ClaimsDeclaration<T> {
  name: string;
  /** Schema of a thing's request, which is kept until the thing is done. JSON. */
  schema: z.ZodType<T>;
  /** Time for which a finished thing is refused; `finish` may set another one. */
  keptMs: number;
}

/** Things to be done once, however often they are requested. One process at a time uses the claims of a name. */
export interface Claims<T> {
  /**
   * False if it is done or under way. A `request` is kept until the thing is done; after a restart it is refused until `unfinished`
   * has returned it. Without one it may be done again then.
   */
  claim(id: string, request?: T): Promise<boolean>;
  /** Marks a thing as done: it is refused for `keptMs`, and its request is deleted. */
  finish(id: string, keptMs?: number): Promise<void>;
  /** Releases a claim, also a finished one, so that the next caller may do the thing. */
  release(id: string): Promise<void>;
  /** Resolves to the requests of claims that were not finished before a restart, oldest first. Call it once, at the start. */
  unfinished(): Promise<T[]>;
  /** Erases the requests of finished claims from every stored version, by rewriting all claims. */
  eraseFinished(): Promise<void>;
}

/** Ids come from outside, and may be personal: hashed, they are short and mean nothing. */
export const keyOf = (id: string): string =>
  createHash('sha256').update(id).digest('hex').slice(0, 32);
