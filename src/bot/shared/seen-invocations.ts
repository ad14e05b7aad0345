import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Claims } from '../../store/claims.ts';
import type { Store } from '../../store/store.ts';
import type { Invocation } from './invocation.ts';

/** Which invocations were handled, so that a platform's repeats of one have no effect. */
export type SeenInvocations = ReturnType<typeof openSeenInvocations>;

/** Claims of the store. */
export const SEEN = 'seen';

/** Claims of presses that mean one and the same. */
export const PRESSED = 'pressed';

const KEPT_MS = 86_400_000;

/** An invocation until it is done, for its person to be told after a restart. What was asked is not in it. */
const StoredInvocation = z.object({
  id: z.string(),
  /** When it came, Unix time. */
  atMs: z.number(),
  /** What an answer to it is known by. */
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
export interface Handling {
  /** What an answer to it is known by. */
  answer: string;
  /** It could not be done now: whoever repeats it may have it done. */
  putOff(): Promise<void>;
}

/** Unguessable, and short enough for a button. */
const newAnswerId = () => randomBytes(9).toString('base64url');

/** Remembers invocations for a day. */
export function openSeenInvocations(store: Pick<Store, 'claims'>) {
  const claims: Claims<StoredInvocation> = store.claims({
    name: SEEN,
    schema: StoredInvocation,
    keptMs: KEPT_MS,
  });
  return {
    /** `undefined` for a repeat. Durable before it resolves. */
    async once(
      { id, place, thread, person, origin }: Invocation,
      kind: Pick<StoredInvocation, 'isQuestion' | 'private'>,
    ): Promise<Handling | undefined> {
      const answer = newAnswerId();
      const atMs = Date.now();
      const kept = { id, atMs, answer, ...kind, ...place, thread, person: person.id, origin };
      if (!(await claims.once(id, kept))) return undefined;
      return { answer, putOff: () => claims.giveBack(id) };
    },
    finish: (id: string) => claims.finish(id),
    /** Nothing of what is finished stands anywhere any more but that it was handled. */
    eraseFinished: () => claims.eraseFinished(),
    /** What was stored and not finished before a restart, oldest first; to be asked once. */
    left: () => claims.left(),
  };
}

/** Remembers presses of which only the first counts. */
export const openPressed = (store: Pick<Store, 'claims'>): Claims<never> =>
  store.claims({ name: PRESSED, schema: z.never(), keptMs: KEPT_MS });
