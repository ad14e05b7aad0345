import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { LeaseLostError } from '../../store/errors.ts';
import type { Collection, Store } from '../../store/store.ts';
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
import type { SeenInvocations, StoredHandling } from '../shared/seen-invocations.ts';
import { underBroken } from './answer-buttons.ts';
import { type Conversations, conversationKey, KeptQuestion } from './conversations.ts';

/**
 * An answer whose end is not shown yet. Its states, with the stored records in brackets:
 *
 * - asked [invocation]: `dispatch` has stored the invocation. Nothing is shown.
 * - shown [invocation, this record]: the platform called `begin`, again whenever it knows more of where. The answer grows.
 * - ended [neither]: the platform called `ended` after it showed the end, or `notShown` before it showed anything.
 * - put off [neither]: the platform called `putOff`. A repeat of the invocation asks again.
 * - interrupted [as before]: a restart found it asked or shown, or a platform reconnected without its end (`snapshot`). The
 *   platform posts a note under it, retried until it is posted or refused for good: then it has ended.
 * - forgotten [neither]: its place or thread is gone, or it is older than `KEEP_MS`.
 */
const ShownAnswer = z.object({
  invocation: z.string(),
  platform: z.string(),
  channel: z.string(),
  person: z.string(),
  beganAtMs: z.number(),
  private: z.boolean(),
  /** The thread that remembers it, once that is known. */
  thread: z.string().optional(),
  /** The platform finds its messages by these facts. */
  shown: z.record(z.string(), z.string()),
  /** Absent in private: private questions are never stored. */
  question: KeptQuestion.extend({
    /** The answer that this one replaces. */
    instead: z.string().optional(),
  }).optional(),
});
type ShownAnswer = z.infer<typeof ShownAnswer>;

/** `shown` is absent if the platform has shown nothing yet. */
type EndlessAnswer = Omit<ShownAnswer, 'shown'> & Pick<Interrupted, 'shown' | 'origin'>;

/** An answer whose note is still to be posted. */
interface InterruptedAnswer {
  id: string;
  answer: EndlessAnswer;
  note: string;
}

/** Older answers are dropped, for example of a platform that is no longer set up. */
const KEEP_MS = 7 * 86_400_000;

/** Time limit for calls under way when `stop` is called. */
const STOP_MS = 1_000;

const RESTARTED = 'Interrupted: Askwatch was restarted before this answer was complete.';
const RECONNECTED = 'Interrupted: Askwatch had to reconnect before this answer was complete.';
const NOT_ANSWERED = 'Interrupted: Askwatch was restarted before it could answer. Ask again.';
const NOT_DONE =
  'Interrupted: Askwatch was restarted while doing this. Check whether it was done before you try again.';

interface UnfinishedOptions {
  conversations: Conversations;
  seenInvocations: Pick<SeenInvocations, 'finish' | 'left' | 'eraseFinished'>;
  clock: Clock;
  random: () => number;
  log: Logger;
}

/** Reads the answers that a restart interrupted. Each gets a note, therefore a repeat of its invocation is refused. */
export async function openUnfinishedAnswers(
  store: Pick<Store, 'collection'>,
  options: UnfinishedOptions,
): Promise<UnfinishedAnswers> {
  const collection = store.collection<ShownAnswer>({
    name: 'unfinished-answers',
    schema: ShownAnswer,
    version: 1,
    whenCorrupt: 'forget',
  });
  const unfinished = new UnfinishedAnswers(collection, options);
  await unfinished.load();
  return unfinished;
}

/** Answers without a shown end: growing ones, and ones that a restart or a reconnect interrupted. */
export class UnfinishedAnswers {
  private readonly collection: Collection<ShownAnswer>;
  private readonly options: UnfinishedOptions;
  private readonly stopping = new AbortController();
  private readonly shown = new Map<string, ShownAnswer>();
  /** From before a restart, until platforms are started. */
  private interrupted: InterruptedAnswer[] = [];
  private platforms: readonly AnswerEnder[] = [];
  private ending: Promise<unknown> = Promise.resolve();

  constructor(collection: Collection<ShownAnswer>, options: UnfinishedOptions) {
    this.collection = collection;
    this.options = options;
  }

  /** Reads what a restart interrupted. Called once, before anything else. */
  async load(): Promise<void> {
    const { seenInvocations, clock } = this.options;
    const invocations = await seenInvocations.left();
    const answers = await this.collection.list();
    // The last question of a thread must be stored last.
    answers.sort((a, b) => a.document.beganAtMs - b.document.beganAtMs);
    const origins = new Map(invocations.map(({ id, origin }) => [id, origin]));
    for (const { id, document } of answers) {
      const answer = { ...document, origin: origins.get(document.invocation) };
      const interrupted = { id, answer, note: noteFor(answer, RESTARTED) };
      if (answer.beganAtMs < clock.nowMs() - KEEP_MS) {
        await this.settle(interrupted);
        continue;
      }
      if (answer.thread !== undefined) await this.keepQuestion(id, answer, answer.thread);
      this.interrupted.push(interrupted);
    }
    const shownInvocations = new Set(answers.map(({ document }) => document.invocation));
    for (const { id: invocation, atMs, answer: id, isQuestion, ...where } of invocations) {
      if (shownInvocations.has(invocation)) continue;
      const answer = { ...where, invocation, beganAtMs: atMs };
      this.interrupted.push({ id, answer, note: isQuestion ? NOT_ANSWERED : NOT_DONE });
    }
  }

  /** Adds the calls with which the platform reports the answer's states. */
  track(
    answer: CommandAnswer,
    invocation: Pick<Invocation, 'id' | 'place' | 'person'>,
    { putOff }: Pick<StoredHandling, 'putOff'>,
  ): Answer {
    const { log } = this.options;
    let beganAtMs: number | undefined;
    let isPutOff = false;
    const end = () => this.end(answer.id, invocation.id, { isShown: beganAtMs !== undefined });
    return {
      ...answer,
      begin: async (where) => {
        beganAtMs ??= this.options.clock.nowMs();
        await this.storeShown(answer, invocation, { ...where, beganAtMs });
      },
      ended: end,
      putOff: async () => {
        isPutOff = true;
        this.shown.delete(answer.id);
        await putOff().catch((error: unknown) => {
          log.error({ err: error }, 'forgot an answer that could not be shown');
        });
      },
      notShown: () => {
        answer.notShown?.();
        if (beganAtMs === undefined && !isPutOff) void end();
      },
    };
  }

  /** Ids of the answers being shown in a thread. */
  idsIn({ platform, channel }: Place, thread: string): string[] {
    return [...this.shown].flatMap(([id, one]) =>
      one.platform === platform && one.channel === channel && one.thread === thread ? [id] : [],
    );
  }

  /** Starts posting notes under interrupted answers, in the background. */
  start(platforms: readonly AnswerEnder[]): void {
    this.platforms = platforms;
    this.endInBackground(this.interrupted);
    this.interrupted = [];
  }

  /**
   * Remembers the answers that a platform is showing. The returned function posts notes under the ones without an end by
   * then, through the platform's successor, in the background.
   */
  snapshot(platform: string): () => void {
    const ids = [...this.shown].flatMap(([id, one]) => (one.platform === platform ? [id] : []));
    return () => {
      const endless = ids.flatMap((id): InterruptedAnswer[] => {
        const answer = this.shown.get(id);
        return answer ? [{ id, answer, note: noteFor(answer, RECONNECTED) }] : [];
      });
      this.endInBackground(endless);
    };
  }

  forgetPlaces(gone: GonePlaces): Promise<void> {
    return this.forgetWhere((answer) => gone.has(placeKey(answer)));
  }

  forgetThread(place: Place, thread: string): Promise<void> {
    const key = placeKey(place);
    return this.forgetWhere((answer) => placeKey(answer) === key && answer.thread === thread);
  }

  /** Stops retrying; the next start continues. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.race([this.ending, pause(STOP_MS, undefined, { ref: false })]);
  }

  private async storeShown(
    answer: CommandAnswer,
    { id: invocation, place, person }: Pick<Invocation, 'id' | 'place' | 'person'>,
    where: Pick<ShownAnswer, 'thread' | 'beganAtMs'> & Partial<Pick<ShownAnswer, 'shown'>>,
  ): Promise<void> {
    const { id, instead } = answer;
    const shownAnswer: ShownAnswer = {
      invocation,
      platform: place.platform,
      channel: place.channel,
      person: person.id,
      private: answer.private,
      beganAtMs: where.beganAtMs,
      thread: where.thread,
      shown: where.shown ?? {},
      question: answer.private ? undefined : { ...KeptQuestion.parse(answer), instead },
    };
    this.shown.set(id, shownAnswer);
    try {
      await this.collection.update(id, () => shownAnswer);
    } catch (error) {
      this.options.log.error(
        { err: error },
        'could not store that an answer began; a crash would leave it unfinished',
      );
    }
  }

  private async end(id: string, invocation: string, { isShown }: { isShown: boolean }) {
    try {
      // The order matters: an open invocation without a shown answer gets a note at the next start.
      await this.options.seenInvocations.finish(invocation);
      if (isShown) await this.forget(id);
    } catch (error) {
      // The next holder ends it with a note.
      const level = error instanceof LeaseLostError ? 'debug' : 'error';
      this.options.log[level]({ err: error }, 'could not store that an answer ended');
    }
  }

  private async forget(id: string): Promise<void> {
    this.shown.delete(id);
    await this.collection.update(id, () => undefined);
  }

  private async settle({ id, answer: { invocation } }: InterruptedAnswer): Promise<void> {
    this.shown.delete(id);
    await this.options.seenInvocations.finish(invocation);
    await this.forget(id);
  }

  private async forgetWhere(isGone: (answer: EndlessAnswer) => boolean): Promise<void> {
    const { seenInvocations } = this.options;
    const goneInterrupted = this.interrupted.filter(({ answer }) => isGone(answer));
    const invocations = new Set(goneInterrupted.map(({ answer }) => answer.invocation));
    this.interrupted = this.interrupted.filter(({ answer }) => !isGone(answer));
    for (const [id, answer] of this.shown) {
      if (isGone(answer)) this.shown.delete(id);
    }
    await this.collection.eraseAll((_id, answer) => {
      if (isGone(answer)) invocations.add(answer.invocation);
      return isGone(answer);
    });
    for (const invocation of invocations) await seenInvocations.finish(invocation);
    await seenInvocations.eraseFinished();
  }

  /** Stores the question in its thread as unanswered, unless the thread remembers the answer. */
  private async keepQuestion(
    id: string,
    { platform, channel, question }: EndlessAnswer,
    thread: string,
  ): Promise<void> {
    if (!question) return;
    const { conversations } = this.options;
    const key = conversationKey({ platform, channel }, thread);
    const turns = await conversations.turns(key);
    if (turns.some((turn) => turn.id === id)) return;
    await conversations.addUnanswered(key, { id, ...question });
  }

  private endInBackground(interrupted: readonly InterruptedAnswer[]): void {
    const ended = this.endAll(interrupted).catch((error: unknown) => {
      this.options.log.error(
        { err: error },
        'could not mark interrupted answers in their channels',
      );
    });
    this.ending = Promise.all([this.ending, ended]);
  }

  /** One after another within a channel; channels don't wait for each other. */
  private async endAll(all: readonly InterruptedAnswer[]): Promise<void> {
    const queues = new Map<string, Promise<void>>();
    for (const one of all) {
      const platform = this.platforms.find(({ name }) => name === one.answer.platform);
      if (!platform) continue;
      const key = placeKey(one.answer);
      const previous = queues.get(key) ?? Promise.resolve();
      queues.set(
        key,
        previous.then(() => this.postNote(platform, one)),
      );
    }
    await Promise.all(queues.values());
  }

  /** Retries until the platform has posted the note or refuses it for good. */
  private async postNote(platform: AnswerEnder, interrupted: InterruptedAnswer): Promise<void> {
    const { clock, random, log } = this.options;
    for (let failures = 1; !this.stopping.signal.aborted; failures += 1) {
      try {
        await platform.endAnswer?.(this.noteRequest(interrupted));
        await this.settle(interrupted);
        return;
      } catch (error) {
        const about = { err: error, place: placeKey(interrupted.answer) };
        if (error instanceof DeliveryError && error.permanent) {
          log.info(about, 'could not mark an interrupted answer in its channel; giving up');
          await this.settle(interrupted);
          return;
        }
        const waitMs = error instanceof DeliveryError ? (error.retryAfterMs ?? 0) : 0;
        log.warn(about, 'could not mark an interrupted answer in its channel; retrying');
        await clock.pause(Math.max(waitMs, backoffMs(failures, random)), this.stopping.signal);
      }
    }
  }

  private noteRequest({ id, answer, note }: InterruptedAnswer): Interrupted {
    const { question, platform: _, ...rest } = answer;
    return {
      ...rest,
      id,
      note,
      actionsIn: async (thread) => {
        if (!question) return [];
        // In a known thread the question was stored at the start, and the conversation may have continued since.
        if (answer.thread === undefined) await this.keepQuestion(id, answer, thread);
        return underBroken(id);
      },
    };
  }
}

const noteFor = ({ question }: EndlessAnswer, why: string) =>
  `${why} ${question ? 'Try again.' : 'Ask again.'}`;
