import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Claims, EventLog, NumberedEvent } from '../../bot/platform.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import { HttpError } from '../../http/errors.ts';
import {
  ButtonPress,
  type Interaction,
  type Outcome,
  Someone,
  SubmittedForm,
  TypedLine,
} from '../shared/api-types.ts';

/** What processes tell each other of what people do at one that has no bot. */
const HandedOver = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('asked'),
    key: z.string(),
    interaction: z.union([TypedLine, ButtonPress, SubmittedForm]),
    by: Someone,
  }),
  z.object({
    kind: z.literal('outcome'),
    key: z.string(),
    outcome: z.custom<Outcome>((value) => typeof value === 'object' && value !== null),
  }),
  z.object({
    kind: z.literal('refused'),
    key: z.string(),
    status: z.int(),
    code: z.string(),
    message: z.string(),
  }),
]);
type HandedOver = z.infer<typeof HandedOver>;

export const handedOverEvents = { name: 'console-interactions', schema: HandedOver };

/** How long somebody waits for a bot: longer than it takes to find out that the process that had taken it died. */
const WAIT_MS = 15_000;

/** By which process of those that have a bot each is done. */
export const handedOverClaims = { name: 'console-handed-over', schema: z.never(), keptMs: WAIT_MS };

/** How often one that another process has taken is asked for again, while there is no outcome. */
const AGAIN_MS = 1_000;

/** Interactions that wait at once, at this process; and those known to be unanswered, of all. */
const MAX_WAITING = 32;
const MAX_UNANSWERED = 200;

/** The bot of whichever process has one. */
export type BotElsewhere = Awaited<ReturnType<typeof openBotElsewhere>>;

interface Waiting {
  /** What waits, and for whom. */
  of: string;
  outcome: Promise<Outcome>;
  settle(event: Exclude<HandedOver, { kind: 'asked' }>): void;
}

/**
 * Hands what people do at this process to the bot of another one, and what they do at others without a bot to the bot of this
 * one: `accept` is `undefined` while it has none. Of those with a bot one does it. Should it die in the middle, another one does
 * it: interactions that are handed over twice have the same ids, so that they do nothing twice.
 */
export async function openBotElsewhere(
  events: EventLog<HandedOver>,
  options: {
    claims: Claims<never>;
    accept(): ((interaction: Interaction, by: Someone) => Promise<Outcome>) | undefined;
    waitMs?: number | undefined;
    log: Logger;
  },
) {
  const { claims, accept, waitMs = WAIT_MS, log } = options;
  /** By the keys of what was handed over: each time it is, it has another one, and is answered. */
  const waiting = new Map<string, Waiting>();
  const unanswered = new Map<string, { untilMs: number; asked: Asked }>();
  let isLive = false;

  function told(all: ReadonlyArray<NumberedEvent<HandedOver>>) {
    // What is kept from before was waited for by those who are gone.
    if (!isLive) return;
    for (const { event } of all) {
      if (event.kind === 'asked') {
        unanswered.set(event.key, { untilMs: performance.now() + waitMs, asked: event });
        forgetOldest(unanswered, MAX_UNANSWERED);
      } else {
        unanswered.delete(event.key);
        waiting.get(event.key)?.settle(event);
      }
    }
    takeUnanswered();
  }

  /** Gives the bot of this process, if it has one, what nobody has answered yet. */
  function takeUnanswered() {
    const take = accept();
    for (const [key, { untilMs, asked }] of [...unanswered]) {
      if (performance.now() >= untilMs) unanswered.delete(key);
      else if (take) void answerIfFirst(asked, take);
    }
  }

  async function answerIfFirst(asked: Asked, take: Take) {
    const { key } = asked;
    try {
      if (!(await claims.once(key))) return;
      // The outcome may have been heard meanwhile.
      if (unanswered.delete(key)) await answer(asked, take);
      await claims.finish(key);
    } catch (error) {
      log.warn({ err: error }, 'could not run an interaction from another process yet');
    }
  }

  async function answer({ key, interaction, by }: Asked, take: Take) {
    try {
      await events.append({ kind: 'outcome', key, outcome: await take(interaction, by) });
    } catch (error) {
      if (!(error instanceof HttpError)) {
        log.error({ err: error }, 'an interaction from another process failed');
        return;
      }
      const { status, code, message } = error;
      await events.append({ kind: 'refused', key, status, code, message });
    }
  }

  function wait(key: string, of: string): Waiting {
    let settle: Waiting['settle'] = () => {};
    const outcome = new Promise<Outcome>((resolve, reject) => {
      const timer = setTimeout(() => reject(nobodyAnswers(waitMs)), waitMs);
      settle = (event) => {
        clearTimeout(timer);
        if (event.kind === 'outcome') resolve(event.outcome);
        else reject(new HttpError(event.status, event.code, event.message));
      };
    }).finally(() => waiting.delete(key));
    return { of, outcome, settle: (event) => settle(event) };
  }

  const following = await events.follow({ told, missed() {} });
  isLive = true;
  const again = setInterval(takeUnanswered, AGAIN_MS).unref();

  return {
    /** Hands it over, and resolves to where its outcome is shown. Throws `HttpError`. */
    async accept(interaction: Interaction, by: Someone): Promise<Outcome> {
      const of = `${by.id} ${interaction.id}`;
      const known = [...waiting.values()].find((one) => one.of === of);
      if (known) return await known.outcome;
      if (waiting.size >= MAX_WAITING) {
        throw new HttpError(
          429,
          'too_many_requests',
          'Too many requests at once. Wait a moment and try again.',
          {
            headers: { 'retry-after': '1' },
          },
        );
      }
      const key = randomUUID();
      const own = wait(key, of);
      waiting.set(key, own);
      void events.append({ kind: 'asked', key, interaction, by });
      return await own.outcome;
    },
    /** To be called when this process has the bot from now on. */
    takeUnanswered,
    close() {
      clearInterval(again);
      following.stop();
    },
  };
}

type Asked = Extract<HandedOver, { kind: 'asked' }>;
type Take = (interaction: Interaction, by: Someone) => Promise<Outcome>;

/** It says nothing of trying again at once: it has waited for long, and may be done yet. */
const nobodyAnswers = (waitMs: number) =>
  new HttpError(
    503,
    'bot_elsewhere',
    `The bot runs in another Askwatch process, which hasn't answered for ${Math.round(waitMs / 1000)} seconds. If the answer still comes, it appears here. Otherwise try again.`,
  );
