import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Claims } from '../../store/claims.ts';
import type { Store } from '../../store/store.ts';
import type { Invocation } from './invocation.ts';

/** Which invocations were handled, so that a platform's repeats of one have no effect. */
export type SeenInvocations = ReturnType<typeof openSeenInvocations>;

/** Claims of the store. */
export const SEEN_CLAIMS = 'seen';

/** Claims of presses that mean one and the same. */
export const PRESSED_CLAIMS = 'pressed';

const KEPT_MS = 86_400_000;

/** An invocation until it is done, kept for the note after a restart. The question's text is not in it. */
const StoredInvocation = z.object({
  id: z.string(),
  /** When it came, Unix time. */
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
  /** Gives the claim back, so that a repeat of the invocation is done. */
  putOff(): Promise<void>;
}

/** Unguessable, and short enough for a button. */
const newAnswerId = () => randomBytes(9).toString('base64url');

/** Remembers invocations for a day. */
export function openSeenInvocations(store: Pick<Store, 'claims'>) {
  const claims: Claims<StoredInvocation> = store.claims({
    name: SEEN_CLAIMS,
    schema: StoredInvocation,
    keptMs: KEPT_MS,
  });
  return {
    /** `undefined` for a repeat. Durable before it resolves. */
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

/** Opens claims of presses. Only the first press counts. */
export const openPressed = (store: Pick<Store, 'claims'>): Claims<never> =>
  store.claims({ name: PRESSED_CLAIMS, schema: z.never(), keptMs: KEPT_MS });
