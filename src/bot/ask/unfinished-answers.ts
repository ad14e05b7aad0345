import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Held } from '../../store/claims.ts';
import type { Store } from '../../store/store.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { DeliveryError } from '../shared/errors.ts';
import type {
  Answer,
  AnswerEnder,
  CommandAnswer,
  Invocation,
  ShownAnswer,
  UnfinishedAnswer,
} from '../shared/invocation.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';
import type { Handling, LeftInvocation, SeenInvocations } from '../shared/seen-invocations.ts';
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
  /** Why it is to end where it is: somebody has stopped it. */
  cut: z.string().optional(),
  /** Absent in private: what was asked in private is written nowhere. */
  asked: KeptQuestion.extend({
    /** The answer that this one takes the place of. */
    instead: z.string().optional(),
  }).optional(),
});
type Entry = z.infer<typeof Entry>;

/** An answer without an end, and why. */
interface Left {
  id: string;
  entry: Entry;
  why: string;
}

/** Answers under way, of this process, of others that share the store, and of those that could not end them. */
export type UnfinishedAnswers = Awaited<ReturnType<typeof openUnfinishedAnswers>>;

/** Nobody waits for the end of an older one, such as of a platform that is no longer set up. */
const KEEP_MS = 7 * 86_400_000;

/** How long `stop` waits for calls under way. */
const STOP_MS = 1_000;

/** No answer is given for so long: what is older was left by a process of long ago. */
const LONG_MS = 15 * 60_000;

const RESTARTED = 'Interrupted: Askwatch was restarted before this answer was complete.';
const TAKEN_OVER_TWICE =
  'Interrupted: two Askwatch processes ended before this answer was complete.';
const RECONNECTED = 'Interrupted: Askwatch had to reconnect before this answer was complete.';

/**
 * Reads what an earlier process left; where several share the store, only what is so old that none of them can be giving
 * that answer. From here on, a repeat of an invocation that was being answered is refused, since its
 * answer gets an end of its own, and the button under it can ask again what was asked.
 */
export async function openUnfinishedAnswers(
  store: Pick<Store, 'collection' | 'isShared'>,
  options: {
    conversations: Conversations;
    seenInvocations: Pick<SeenInvocations, 'finish'>;
    /** Ends an answer of this process with a note. */
    cut(id: string, note: string): void;
    clock: Clock;
    random: () => number;
    log: Logger;
  },
) {
  const { conversations, seenInvocations, cut, clock, random, log } = options;
  const collection = store.collection<Entry>({
    name: 'unfinished-answers',
    schema: Entry,
    version: 1,
    whenCorrupt: 'forget',
  });
  const stopping = new AbortController();
  let ending: Promise<unknown> = Promise.resolve();
  let started: readonly AnswerEnder[] = [];
  /** Those of an earlier process, until platforms are started. */
  let left: Left[] = [];
  /** Those of this process. */
  const underWay = new Map<string, Entry>();

  async function forget(id: string) {
    underWay.delete(id);
    await collection.update(id, () => undefined);
  }

  async function forgetAll(isGone: (entry: Entry) => boolean) {
    left = left.filter(({ entry }) => !isGone(entry));
    for (const [id, entry] of underWay) {
      if (isGone(entry)) underWay.delete(id);
    }
    const invocations = new Set<string>();
    await collection.eraseAll((_id, entry) => {
      if (isGone(entry)) invocations.add(entry.invocation);
      return isGone(entry);
    });
    // What was asked stands beside them, for whoever would go on with it.
    for (const invocation of invocations) await seenInvocations.finish(invocation);
  }

  /** The question stands in its thread as one without an answer, unless the answer is remembered there. */
  async function keepAsked(id: string, { platform, channel, asked }: Entry, thread: string) {
    if (!asked) return;
    const key = conversationKey({ platform, channel }, thread);
    const turns = await conversations.turns(key);
    if (turns.some((turn) => turn.id === id)) return;
    await conversations.addUnanswered(key, { id, ...asked });
  }

  const noted = await collection.list();
  // Of several questions of a thread, the one that was asked last is its last.
  noted.sort((a, b) => a.document.beganAtMs - b.document.beganAtMs);
  for (const { id, document: entry } of noted) {
    if (entry.beganAtMs < clock.nowMs() - KEEP_MS) {
      await forget(id);
      continue;
    }
    if (store.isShared && entry.beganAtMs > clock.nowMs() - LONG_MS) continue;
    await seenInvocations.finish(entry.invocation);
    if (entry.thread !== undefined) await keepAsked(id, entry, entry.thread);
    left.push({ id, entry, why: RESTARTED });
  }

  function unfinished({ id, entry, why }: Left): UnfinishedAnswer {
    const { asked, ...answer } = entry;
    return {
      ...answer,
      id,
      note: entry.cut ?? `${why} ${asked ? 'Try again.' : 'Ask again.'}`,
      async actionsIn(found) {
        if (!asked) return [];
        // What is said in a thread that is known may have gone on since.
        if (entry.thread === undefined) await keepAsked(id, entry, found);
        return underBroken(id);
      },
    };
  }

  if (store.isShared) {
    await collection.follow((changed) => {
      for (const { id, document } of changed) {
        if (document?.cut !== undefined && underWay.has(id)) cut(id, document.cut);
      }
    });
  }

  /** Until the platform has done it, or says that it never can. */
  async function end(platform: AnswerEnder, left: Left, held?: Held) {
    const { id, entry } = left;
    for (let failures = 1; !stopping.signal.aborted && held?.isHeld() !== false; failures += 1) {
      try {
        await platform.endAnswer?.(unfinished(left));
        await forget(id);
        return;
      } catch (error) {
        const about = { err: error, place: placeKey(entry) };
        if (error instanceof DeliveryError && error.permanent) {
          log.info(about, 'could not mark an interrupted answer in its channel; giving up');
          await forget(id);
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
     * finished then. `before` is what another process has shown of it.
     */
    noted(
      answer: CommandAnswer,
      { id: invocation, place, person }: Invocation,
      { held, putOff }: Pick<Handling, 'held' | 'putOff'>,
      before?: ShownAnswer,
    ): Answer {
      const { id, instead } = answer;
      let beganAtMs = before?.beganAtMs;
      let isPutOff = false;

      async function finish() {
        try {
          // First: of one that is noted and done nothing more is shown, while one that is open and not noted would be shown anew.
          await seenInvocations.finish(invocation);
          if (beganAtMs !== undefined) await forget(id);
        } catch (error) {
          log.error({ err: error }, 'could not store that an answer ended');
        }
      }

      return {
        ...answer,
        ...(before && { shownBefore: before }),
        isOurs: () => held.isHeld(),
        async begin({ thread, shown = {} }) {
          if (!held.isHeld()) return;
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
            await collection.update(id, (old) =>
              old?.cut === undefined ? entry : { ...entry, cut: old.cut },
            );
          } catch (error) {
            log.error(
              { err: error },
              'could not store that an answer began; a crash would leave it unfinished',
            );
          }
        },
        async ended() {
          if (!held.isHeld()) {
            underWay.delete(id);
            return;
          }
          await finish();
        },
        async putOff() {
          isPutOff = true;
          underWay.delete(id);
          try {
            if (held.isHeld()) await putOff();
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
    /** Has an answer of another process end with a note, whichever gives it; false when none does. */
    async cut(id: string, note: string) {
      const entry = await collection.update(id, (current) => current && { ...current, cut: note });
      return entry !== undefined;
    },
    /** What another process has shown of an answer; `undefined` when it has not begun. */
    async shownOf(id: string): Promise<ShownAnswer | undefined> {
      const entry = await collection.get(id);
      if (!entry) return undefined;
      const { beganAtMs, thread, shown } = entry;
      return { beganAtMs, thread, shown };
    },
    /**
     * Ends the answer to what another process left, where nobody goes on with it: what was asked long ago or for the second
     * time, in private, or was stopped. False when there is none, or it is to be gone on with.
     */
    async endLeft(platform: AnswerEnder, { answer, invocation, takeovers, held }: LeftInvocation) {
      const all = await collection.list();
      const found = all.find(({ document }) => document.invocation === invocation.id);
      if (!found) return false;
      const { id, document: entry } = found;
      const isOld = entry.beganAtMs < clock.nowMs() - LONG_MS;
      // What was answered in private and is shared was known to that process alone.
      const isElsewhere = id !== answer || entry.private;
      if (takeovers === 1 && !isOld && !isElsewhere && entry.cut === undefined) return false;
      if (entry.thread !== undefined) await keepAsked(id, entry, entry.thread);
      const why = entry.cut ?? (takeovers > 1 ? TAKEN_OVER_TWICE : RESTARTED);
      await end(platform, { id, entry, why }, held);
      return true;
    },
    /** The answers under way in a thread, by their ids. */
    async idsIn({ platform, channel }: Place, thread: string) {
      const all = await collection.list();
      return all.flatMap(({ id, document: entry }) =>
        entry.platform === platform && entry.channel === channel && entry.thread === thread
          ? [id]
          : [],
      );
    },
    /** Ends what an earlier process left, through the platforms, in the background. */
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
          return entry ? [{ id, entry, why: RECONNECTED }] : [];
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
