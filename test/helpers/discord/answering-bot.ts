import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Bot, Platform } from '../../../src/bot/platform.ts';
import { textCard } from '../../../src/bot/shared/card.ts';
import type { Answer, AnswerPart, Invocation, Reply } from '../../../src/bot/shared/invocation.ts';
import type { Store } from '../../../src/store/store.ts';

/** An invocation as it is stored until it is done: of its person only who it is. */
const Stored = z.object({
  id: z.string(),
  request: z.union([
    z.object({ line: z.string() }),
    z.object({ command: z.string(), values: z.record(z.string(), z.unknown()) }),
  ]),
  place: z.object({ platform: z.string(), channel: z.string() }),
  thread: z.string().optional(),
  person: z.object({ id: z.string(), name: z.string() }),
  pressed: z.string().optional(),
  origin: z.record(z.string(), z.string()).optional(),
});

const Begun = z.object({
  beganAtMs: z.number(),
  thread: z.string().optional(),
  shown: z.record(z.string(), z.string()),
});

/** How a bot of a test says something: the pieces of its answer, or another reply. */
export type Say = (
  invocation: Invocation,
  killed: AbortSignal,
) => AsyncIterable<string> | Extract<Reply, { kind: 'card' }>;

type Wait = (killed: AbortSignal) => Promise<void>;

/** Until a process is killed. */
export const untilKilled: Wait = (killed) =>
  new Promise((resolve) => killed.addEventListener('abort', () => resolve(), { once: true }));

/** What a process that died has left. */
interface Left {
  request: Invocation;
  finish(): Promise<boolean>;
}

/**
 * A bot of one process as the program's own is to its platform, and no more: what is said is stored and done once, and it goes on with
 * what others have left.
 */
export function answeringBot(
  real: Bot,
  store: Store,
  options: {
    say: Say;
    /** Aborts when the process is killed. */
    killed: AbortSignal;
    /** Awaited before anything is stored. */
    before?: Wait;
    /** Awaited once it is stored. */
    stored?: Wait;
  },
) {
  const { say, killed, before, stored } = options;
  const claims = store.claims({ name: 'seen', schema: Stored, keptMs: 60_000 });
  const begun = store.collection({
    ...{ name: 'begun', schema: Begun, version: 1, whenCorrupt: 'forget' },
  });
  const taken: Invocation[] = [];

  async function replyTo(
    invocation: Invocation,
    finish: () => Promise<unknown>,
    shownBefore?: Answer['shownBefore'],
  ): Promise<Reply> {
    if (killed.aborted) return { kind: 'nothing' };
    const lease = await store.lease(`answer-${invocation.id}`);
    // Another process has it, which may count as dead soon: then this one is asked again.
    if (!lease) throw new Error('somebody else has it');
    const said = say(invocation, killed);
    const isOurs = () => !lease.signal.aborted && !killed.aborted;
    if ('kind' in said) {
      await finish();
      return said;
    }
    const { id, request } = invocation;
    const values = 'values' in request ? request.values : {};
    const beganAtMs = Date.now();
    async function* stream(): AsyncGenerator<AnswerPart> {
      for await (const text of said as AsyncIterable<string>) {
        if (!isOurs()) break;
        yield { kind: 'text', text };
      }
      if (isOurs()) yield { kind: 'end', footer: 'the end' };
      else yield { kind: 'lost' };
    }
    return {
      kind: 'answer',
      id,
      question: String(values.question),
      private: values.private === true,
      shownBefore,
      actions: [{ label: 'Stop', command: 'answer stop', values: { answer: id } }],
      stream,
      async begin({ thread, shown = {} }) {
        if (!isOurs()) return;
        await begun.update(id, () => ({ beganAtMs, ...(thread && { thread }), shown }));
      },
      async ended() {
        await finish();
        await begun.update(id, () => undefined);
        await lease.release();
      },
      isOurs,
      async putOff() {},
    };
  }

  /** Until the platform has shown it. */
  async function takeOver(platform: Platform, { request: invocation, finish }: Left) {
    taken.push(invocation);
    while (!killed.aborted) {
      try {
        await platform.takeOver?.({
          invocation,
          async dispatch(given) {
            const shownBefore = await begun.get(invocation.id);
            return await replyTo(given, finish, shownBefore);
          },
        });
        return;
      } catch {
        await pause(100);
      }
    }
  }

  const bot: Bot = {
    ...real,
    async dispatch(invocation, onStored) {
      await before?.(killed);
      if (killed.aborted) return { kind: 'nothing' };
      const { mayManage, isIn, community, ...person } = invocation.person;
      const isFirst = await claims
        .once(invocation.id, { ...invocation, person })
        .catch(() => 'unknown' as const);
      if (isFirst === 'unknown') {
        const card = textCard('warning', 'Not done', 'It could not be stored.');
        return { kind: 'card', card, private: true };
      }
      onStored?.();
      if (!isFirst) return { kind: 'nothing' };
      await stored?.(killed);
      return await replyTo(invocation, () => claims.finish(invocation.id)).catch(() => ({
        kind: 'nothing' as const,
      }));
    },
  };
  return {
    bot,
    taken,
    /** Goes on with what others leave from now on. */
    watch(platform: Platform) {
      const looking = setInterval(() => {
        if (killed.aborted) return clearInterval(looking);
        claims.abandoned().then(
          (left) => Promise.all(left.map((one) => takeOver(platform, one as Left))),
          () => {},
        );
      }, 100);
      onTestFinished(() => clearInterval(looking));
    },
  };
}
