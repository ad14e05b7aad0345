import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { NumberedEvent, Store } from '../../store/store.ts';
import type { Invocation } from '../shared/invocation.ts';

/** What processes tell each other of what only one of them can do. */
const Forwarded = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('asked'),
    key: z.string(),
    invocation: z.custom<Invocation>((value) => typeof value === 'object' && value !== null),
  }),
  z.object({ kind: z.literal('taken'), key: z.string() }),
]);
type Forwarded = z.infer<typeof Forwarded>;

/** Whoever can do it says so within this time. */
const WAIT_MS = 3_000;

/**
 * Hands what was asked here to the process that can do it, such as to share a private answer, which only the process that gave
 * it has. Nothing of such an answer is handed over.
 */
export async function openForwarding(
  store: Pick<Store, 'events' | 'isShared'>,
  options: {
    canDo(invocation: Invocation): boolean;
    take(invocation: Invocation): void;
    waitMs?: number;
    log: Logger;
  },
) {
  const { canDo, take, waitMs = WAIT_MS, log } = options;
  const waiting = new Map<string, (isTaken: boolean) => void>();
  if (!store.isShared) return { forward: async () => false, close() {} };
  const events = store.events<Forwarded>({ name: 'forwarded-invocations', schema: Forwarded });
  let isLive = false;

  function told(all: ReadonlyArray<NumberedEvent<Forwarded>>) {
    // What is kept from before was waited for by those who are gone.
    if (!isLive) return;
    for (const { event, isOwn } of all) {
      if (event.kind === 'taken') waiting.get(event.key)?.(true);
      else if (!isOwn && canDo(event.invocation)) {
        void events.append({ kind: 'taken', key: event.key });
        take(event.invocation);
      }
    }
  }

  const following = await events.follow({
    told,
    missed: () => log.warn('may have missed what other processes were asked'),
  });
  isLive = true;

  return {
    /** Whether another process does it. */
    async forward({ person, ...invocation }: Invocation): Promise<boolean> {
      const key = randomUUID();
      const { id, name } = person;
      const taken = new Promise<boolean>((resolve) => waiting.set(key, resolve));
      const timer = setTimeout(() => waiting.get(key)?.(false), waitMs);
      void events.append({
        kind: 'asked',
        key,
        invocation: { ...invocation, person: { id, name } },
      });
      try {
        return await taken;
      } finally {
        clearTimeout(timer);
        waiting.delete(key);
      }
    },
    close: () => following.stop(),
  };
}
