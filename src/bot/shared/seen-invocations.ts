import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Claims, Held } from '../../store/claims.ts';
import { createEncryption } from '../../store/encryption.ts';
import type { Store } from '../../store/store.ts';
import type { Invocation } from './invocation.ts';
import { Around, QuotedMessage } from './people-messages.ts';
import { SharedFile } from './shared-file.ts';

/** Which invocations were handled, so that a platform's repeats of one have no effect. */
export type SeenInvocations = Awaited<ReturnType<typeof openSeenInvocations>>;

/** Claims of the store. */
export const SEEN = 'seen';

/** Claims of presses that mean one and the same. */
export const PRESSED = 'pressed';

const KEPT_MS = 86_400_000;

const Request = z.union([
  z.object({ line: z.string() }),
  z.object({ command: z.string(), values: z.record(z.string(), z.unknown()) }),
]);

/** An invocation as it is stored until it is done, for the process that goes on with it when the one that does it dies. */
const StoredInvocation = z.object({
  id: z.string(),
  /** When it came, Unix time. */
  atMs: z.number(),
  /** What an answer to it is known by. */
  answer: z.string(),
  /** What was asked, JSON, encrypted: an address may hold a password. Absent in private, which is written nowhere. */
  request: z.string().optional(),
  /** The message that it is about, in the same way. */
  about: z.string().optional(),
  around: Around.optional(),
  /** What came with it, likewise: its address may let anybody have it. */
  files: z.string().optional(),
  place: z.object({ platform: z.string(), channel: z.string() }),
  thread: z.string().optional(),
  person: z.object({ id: z.string(), name: z.string() }),
  pressed: z.string().optional(),
  origin: z.record(z.string(), z.string()).optional(),
});
type StoredInvocation = z.infer<typeof StoredInvocation>;

/** An invocation that this process does. */
export interface Handling {
  /** What an answer to it is known by. */
  answer: string;
  held: Held;
  /** How often it was taken over from a process that died; absent for none. */
  takeovers?: number;
  /** Leaves it to another process, which goes on with it once this one has ended. */
  letGo(): void;
  /** It could not be done now: it is gone on with soon, here or by another process, or by whoever repeats it. */
  putOff(): Promise<void>;
}

function handlingOf(
  answer: string,
  { signal, isHeld }: Held,
  putOff: Handling['putOff'] = async () => {},
): Handling {
  let isLeft = false;
  return {
    answer,
    held: { signal, isHeld: () => !isLeft && isHeld() },
    letGo() {
      isLeft = true;
    },
    putOff,
  };
}

/** What this process does for another one that has the invocation. */
export const unclaimed = (): Handling =>
  handlingOf(newAnswerId(), { signal: new AbortController().signal, isHeld: () => true });

/** An invocation that another process did when it died, and which this one does now. */
export interface LeftInvocation extends Handling {
  /** Of the person only who it is; with an empty line where it is not known what was asked. */
  invocation: Invocation;
  /** Whether it is known what was asked: in private it is written nowhere. */
  isKnown: boolean;
  atMs: number;
  /** How often it was taken over, this time included. */
  takeovers: number;
  finish(): Promise<unknown>;
}

/** Unguessable, and short enough for a button. */
const newAnswerId = () => randomBytes(9).toString('base64url');

/**
 * Remembers invocations for a day. One that was begun and not finished, by a process that died, is gone on with by another one
 * where several share the store; elsewhere whoever repeats it may.
 */
export async function openSeenInvocations(store: Pick<Store, 'claims' | 'isShared' | 'key'>) {
  const claims: Claims<StoredInvocation> = store.claims({
    name: SEEN,
    schema: StoredInvocation,
    keptMs: KEPT_MS,
  });
  const encryption = store.isShared
    ? createEncryption(await store.key.make(), 'askwatch invocations')
    : undefined;

  function stored(invocation: Invocation, answer: string, isPrivate: boolean) {
    const { id, request, place, thread, person, pressed, about, around, origin } = invocation;
    const { files = [] } = invocation;
    const encrypted = (value: unknown) => encryption?.encrypt(JSON.stringify(value), id);
    return {
      ...{ id, atMs: Date.now(), answer, place, thread, pressed, around, origin },
      person: { id: person.id, name: person.name },
      ...(!isPrivate && { request: encrypted(request) }),
      ...(!isPrivate && about && { about: encrypted(about) }),
      ...(!isPrivate && files.length > 0 && { files: encrypted(files) }),
    };
  }

  function decrypted<T>(id: string, kept: string | undefined, schema: z.ZodType<T>) {
    const text = kept === undefined ? undefined : encryption?.decrypt(kept, id);
    return text === undefined ? undefined : schema.parse(JSON.parse(text));
  }

  return {
    /** `undefined` for a repeat. Durable before it resolves. */
    async once(invocation: Invocation, isPrivate: boolean): Promise<Handling | undefined> {
      const answer = newAnswerId();
      const kept = encryption && stored(invocation, answer, isPrivate);
      const { id } = invocation;
      const held = await claims.once(id, kept);
      const putOff = async () => (encryption ? claims.leave(id) : await claims.giveBack(id));
      return held && handlingOf(answer, held, putOff);
    },
    /** It is done. Nothing where another process does it. */
    finish: async (id: string) => await claims.finish(id),
    /** Takes over some of what other processes left. */
    async left(): Promise<LeftInvocation[]> {
      if (!encryption) return [];
      return (await claims.abandoned()).map(({ request: kept, held, takeovers, finish }) => {
        const { id, atMs, answer, place, thread, person, pressed, around, origin } = kept;
        const request = decrypted(id, kept.request, Request);
        const about = decrypted(id, kept.about, QuotedMessage);
        const files = decrypted(id, kept.files, z.array(SharedFile));
        const invocation: Invocation = {
          ...{ id, place, person, request: request ?? { line: '' } },
          ...(thread !== undefined && { thread }),
          ...(pressed !== undefined && { pressed }),
          ...(around && { around }),
          ...(about && { about }),
          ...(origin && { origin }),
          ...(files && { files }),
        };
        const isKnown = request !== undefined;
        return {
          // Who goes on with it tries again by itself.
          ...handlingOf(answer, held),
          ...{ invocation, isKnown, atMs, takeovers, finish: () => finish() },
        };
      });
    },
  };
}

/** Remembers presses of which only the first counts. */
export const openPressed = (store: Pick<Store, 'claims'>): Claims<never> =>
  store.claims({ name: PRESSED, schema: z.never(), keptMs: KEPT_MS });
