import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { LeaseLostError } from '../../store/errors.ts';
import type { Store } from '../../store/store.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { DeliveryError } from '../shared/errors.ts';
import type {
  Answer,
  AnswerEnder,
  CommandAnswer,
  Interrupted,
  Invocation,
} from '../shared/invocation.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';
import type { Handling, SeenInvocations } from '../shared/seen-invocations.ts';
import { underBroken } from './answer-buttons.ts';
import { type Conversations, conversationKey, KeptQuestion } from './conversations.ts';

/** An answer that is shown somewhere, or is about to be, and whose end is not shown yet. */
const Entry = z.object({
  invocation: z.string(),
  platform: z.string(),
  channel: z.string(),
  person: z.string(),
  beganAtMs: z.number(),
  private: z.boolean(),
  /** The thread that remembers it, where it is known. */
  thread: z.string().optional(),
  /** What the platform finds its messages by. */
  shown: z.record(z.string(), z.string()),
  /** Absent in private: what was asked in private is written nowhere. */
  asked: KeptQuestion.extend({
    /** The answer that this one takes the place of. */
    instead: z.string().optional(),
  }).optional(),
});
type Entry = z.infer<typeof Entry>;

/** `shown` is absent if the platform has shown nothing yet. */
type Unended = Omit<Entry, 'shown'> & Pick<Interrupted, 'shown' | 'origin'>;

/** An interrupted invocation whose note is still to be posted. */
interface Left {
  id: string;
  entry: Unended;
  note: string;
}

/** Answers under way, and what a restart left of them. */
export type UnfinishedAnswers = Awaited<ReturnType<typeof openUnfinishedAnswers>>;

/** Nobody waits for the end of an older one, such as of a platform that is no longer set up. */
const KEEP_MS = 7 * 86_400_000;

/** Time limit for calls under way when `stop` is called. */
const STOP_MS = 1_000;

const RESTARTED = 'Interrupted: Askwatch was restarted before this answer was complete.';
const RECONNECTED = 'Interrupted: Askwatch had to reconnect before this answer was complete.';
const NOT_ANSWERED = 'Interrupted: Askwatch was restarted before it could answer. Ask again.';
const NOT_DONE =
  'Interrupted: Askwatch was restarted while doing this. Check whether it was done before you try again.';

/**
 * Reads the answers that a restart interrupted: the ones whose messages were growing, and stored invocations without a message.
 * Each gets a note that says so, therefore a repeat of its invocation is refused.
 */
export async function openUnfinishedAnswers(
  store: Pick<Store, 'collection'>,
  options: {
    conversations: Conversations;
    seenInvocations: Pick<SeenInvocations, 'finish' | 'left' | 'eraseFinished'>;
    clock: Clock;
    random: () => number;
    log: Logger;
  },
) {
  const { conversations, seenInvocations, clock, random, log } = options;
  const collection = store.collection<Entry>({
    name: 'unfinished-answers',
    schema: Entry,
    version: 1,
    whenCorrupt: 'forget',
  });
  const stopping = new AbortController();
  let ending: Promise<unknown> = Promise.resolve();
  let started: readonly AnswerEnder[] = [];
  /** Interrupted answers from before a restart, until platforms are started. */
  let left: Left[] = [];
  /** Those of this process. */
  const underWay = new Map<string, Entry>();

  async function forget(id: string) {
    underWay.delete(id);
    await collection.update(id, () => undefined);
  }

  async function settle({ id, entry: { invocation } }: Left) {
    underWay.delete(id);
    await seenInvocations.finish(invocation);
    await forget(id);
  }

  async function forgetAll(isGone: (entry: Unended) => boolean) {
    const invocations = new Set<string>();
    for (const { entry } of left) if (isGone(entry)) invocations.add(entry.invocation);
    left = left.filter(({ entry }) => !isGone(entry));
    for (const [id, entry] of underWay) {
      if (isGone(entry)) underWay.delete(id);
    }
    await collection.eraseAll((_id, entry) => {
      if (isGone(entry)) invocations.add(entry.invocation);
      return isGone(entry);
    });
    for (const invocation of invocations) await seenInvocations.finish(invocation);
    await seenInvocations.eraseFinished();
  }

  /** The question stands in its thread as one without an answer, unless the answer is remembered there. */
  async function keepAsked(id: string, { platform, channel, asked }: Unended, thread: string) {
    if (!asked) return;
    const key = conversationKey({ platform, channel }, thread);
    const turns = await conversations.turns(key);
    if (turns.some((turn) => turn.id === id)) return;
    await conversations.addUnanswered(key, { id, ...asked });
  }

  const stored = await seenInvocations.left();
  const noted = await collection.list();
  // Of several questions of a thread, the one that was asked last is its last.
  noted.sort((a, b) => a.document.beganAtMs - b.document.beganAtMs);
  const origins = new Map(stored.map(({ id, origin }) => [id, origin]));
  const begun = new Set<string>();
  for (const { id, document: entry } of noted) {
    begun.add(entry.invocation);
    const note = `${RESTARTED} ${entry.asked ? 'Try again.' : 'Ask again.'}`;
    const one = { id, entry: { ...entry, origin: origins.get(entry.invocation) }, note };
    if (entry.beganAtMs < clock.nowMs() - KEEP_MS) {
      await settle(one);
      continue;
    }
    if (entry.thread !== undefined) await keepAsked(id, entry, entry.thread);
    left.push(one);
  }
  for (const { id: invocation, atMs, answer, isQuestion, ...where } of stored) {
    if (begun.has(invocation)) continue;
    const note = isQuestion ? NOT_ANSWERED : NOT_DONE;
    left.push({ id: answer, entry: { ...where, invocation, beganAtMs: atMs }, note });
  }

  function interrupted({ id, entry, note }: Left): Interrupted {
    const { asked, platform: _, ...answer } = entry;
    return {
      ...answer,
      ...{ id, note },
      async actionsIn(found) {
        if (!asked) return [];
        // What is said in a thread that is known may have gone on since.
        if (entry.thread === undefined) await keepAsked(id, entry, found);
        return underBroken(id);
      },
    };
  }

  /** Until the platform has done it, or says that it never can. */
  async function end(platform: AnswerEnder, left: Left) {
    const { entry } = left;
    for (let failures = 1; !stopping.signal.aborted; failures += 1) {
      try {
        await platform.endAnswer?.(interrupted(left));
        await settle(left);
        return;
      } catch (error) {
        const about = { err: error, place: placeKey(entry) };
        if (error instanceof DeliveryError && error.permanent) {
          log.info(about, 'could not mark an interrupted answer in its channel; giving up');
          await settle(left);
          return;
        }
        const waitMs = error instanceof DeliveryError ? error.retryAfterMs : undefined;
        log.warn(about, 'could not mark an interrupted answer in its channel; retrying');
        await clock.pause(Math.max(waitMs ?? 0, backoffMs(failures, random)), stopping.signal);
      }
    }
  }

  /** One after another in a channel; none waits for another channel. */
  async function endAll(all: readonly Left[]) {
    const lines = new Map<string, Promise<void>>();
    for (const one of all) {
      const platform = started.find(({ name }) => name === one.entry.platform);
      if (!platform) continue;
      const key = placeKey(one.entry);
      const before = lines.get(key) ?? Promise.resolve();
      const ended = before.then(() => end(platform, one));
      lines.set(key, ended);
    }
    await Promise.all(lines.values());
  }

  function endInBackground(all: readonly Left[]) {
    const these = endAll(all).catch((error: unknown) => {
      log.error({ err: error }, 'could not mark interrupted answers in their channels');
    });
    ending = Promise.all([ending, these]);
  }

  return {
    /**
     * The answer, noted from the moment that its platform begins to show it until its end is shown; its invocation is
     * finished then.
     */
    noted(
      answer: CommandAnswer,
      { id: invocation, place, person }: Invocation,
      { putOff }: Pick<Handling, 'putOff'>,
    ): Answer {
      const { id, instead } = answer;
      let beganAtMs: number | undefined;
      let isPutOff = false;

      async function finish() {
        try {
          // The order matters: an invocation that is stored as open, without a shown answer, gets a note at the next start.
          await seenInvocations.finish(invocation);
          if (beganAtMs !== undefined) await forget(id);
        } catch (error) {
          // The next holder ends it with a note.
          const level = error instanceof LeaseLostError ? 'debug' : 'error';
          log[level]({ err: error }, 'could not store that an answer ended');
        }
      }

      return {
        ...answer,
        async begin({ thread, shown = {} }) {
          beganAtMs ??= clock.nowMs();
          const entry: Entry = {
            invocation,
            platform: place.platform,
            channel: place.channel,
            person: person.id,
            beganAtMs,
            private: answer.private,
            shown,
            thread,
            asked: answer.private ? undefined : { ...KeptQuestion.parse(answer), instead },
          };
          underWay.set(id, entry);
          try {
            await collection.update(id, () => entry);
          } catch (error) {
            log.error(
              { err: error },
              'could not store that an answer began; a crash would leave it unfinished',
            );
          }
        },
        ended: finish,
        async putOff() {
          isPutOff = true;
          underWay.delete(id);
          try {
            await putOff();
          } catch (error) {
            log.error({ err: error }, 'forgot an answer that could not be shown');
          }
        },
        notShown() {
          answer.notShown?.();
          if (beganAtMs === undefined && !isPutOff) void finish();
        },
      };
    },
    /** The answers under way in a thread, by their ids. */
    idsIn: ({ platform, channel }: Place, thread: string) =>
      [...underWay].flatMap(([id, entry]) =>
        entry.platform === platform && entry.channel === channel && entry.thread === thread
          ? [id]
          : [],
      ),
    /** Ends what a restart left, through the platforms, in the background. */
    start(platforms: readonly AnswerEnder[]) {
      started = platforms;
      endInBackground(left);
      left = [];
    },
    /**
     * Takes note of the answers that a platform shows without an end. What it returns ends those that still have none by
     * then, through the platform that has taken its place, in the background.
     */
    snapshot(platform: string) {
      const shown = [...underWay].filter(([, entry]) => entry.platform === platform);
      return () => {
        const endless = shown.flatMap(([id]) => {
          const entry = underWay.get(id);
          const note = `${RECONNECTED} ${entry?.asked ? 'Try again.' : 'Ask again.'}`;
          return entry ? [{ id, entry, note }] : [];
        });
        endInBackground(endless);
      };
    },
    /** Forgets answers in places that are gone: nobody can end them any more. */
    forgetPlaces: (gone: GonePlaces) => forgetAll((entry) => gone.has(placeKey(entry))),
    /** The same for a thread that was deleted. */
    forgetThread: (place: Place, thread: string) =>
      forgetAll((entry) => placeKey(entry) === placeKey(place) && entry.thread === thread),
    /** Stops trying; what is not ended is left to the next start. */
    async stop() {
      stopping.abort();
      await Promise.race([ending, pause(STOP_MS, undefined, { ref: false })]);
    },
  };
}
