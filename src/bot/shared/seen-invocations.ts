import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Claims } from '../../store/claims.ts';
import type { Store } from '../../store/store.ts';
import type { Invocation } from './invocation.ts';

/** Handled invocations, so that repeated deliveries have no effect. */
export type SeenInvocations = ReturnType<typeof openSeenInvocations>;

const KEPT_MS = 86_400_000;

/**
 * An invocation without the question's text. States of its claim:
 *
 * - stored, before anything is done. Repeats are refused.
 * - finished, when its card is sent or its answer has ended. Repeats are refused for a day.
 * - put off, when the platform couldn't show its answer. A repeat is handled.
 * - left: stored before a restart and not finished. Its person gets a note.
 */
const StoredInvocation = z.object({
  id: z.string(),
  atMs: z.number(),
  /** Id of the answer to it. */
  answer: z.string(),
  isQuestion: z.boolean(),
  private: z.boolean(),
  platform: z.string(),
  channel: z.string(),
  thread: z.string().optional(),
  person: z.string(),
  origin: z.record(z.string(), z.string()).optional(),
});
export type StoredInvocation = z.infer<typeof StoredInvocation>;

/** An invocation under way. */
export interface StoredHandling {
  /** Id of the answer to it. */
  answer: string;
  /** Releases the claim, so that a repeat is handled. */
  putOff(): Promise<void>;
}

/** Short enough for a button. */
const newAnswerId = () => randomBytes(9).toString('base64url');

export function openSeenInvocations(store: Pick<Store, 'claims'>) {
  const claims: Claims<StoredInvocation> = store.claims({
    name: 'seen',
    schema: StoredInvocation,
    keptMs: KEPT_MS,
  });
  return {
    /** Resolves to `undefined` for a repeat. Durable before it resolves. */
    async once(
      { id, place, thread, person, origin }: Invocation,
      kind: Pick<StoredInvocation, 'isQuestion' | 'private'>,
    ): Promise<StoredHandling | undefined> {
      const answer = newAnswerId();
      const atMs = Date.now();
      const kept = { id, atMs, answer, ...kind, ...place, thread, person: person.id, origin };
      if (!(await claims.claim(id, kept))) return undefined;
      return { answer, putOff: () => claims.release(id) };
    },
    finish: (id: string) => claims.finish(id),
    /** Erases the facts of finished invocations from every stored version; hashes of their ids stay. */
    eraseFinished: () => claims.eraseFinished(),
    /** Resolves to invocations that were stored and not finished before a restart, oldest first. Call it once. */
    left: () => claims.unfinished(),
  };
}

/** Claims for `PressClaims`. */
export const openPressed = (store: Pick<Store, 'claims'>): Claims<never> =>
  store.claims({ name: 'pressed', schema: z.never(), keptMs: KEPT_MS });
