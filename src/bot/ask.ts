import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { GatewayClient } from '../clients/gateway.ts';
import { type AnswerRun, createAnswerRun } from './answer-run.ts';
import type { AskedBook } from './asked.ts';
import type { BotSettings } from './bot.ts';
import type { Catalog } from './catalog.ts';
import type { ChannelsAsking } from './channel-asking.ts';
import { type Conversations, conversationKey } from './conversations.ts';
import { CommandError } from './errors.ts';
import { explainError } from './explain-error.ts';
import type { Answer, AnswerPart, Person, Place } from './platform.ts';
import { trim } from './trim.ts';
import { createTurnTaking } from './turn-taking.ts';
import { counted } from './words.ts';

/** A question, as `/ask` takes it. */
export interface Question {
  question: string;
  /** A model of the catalog; the operator's default when undefined. */
  model: string | undefined;
  private: boolean;
  place: Place;
  person: Person;
}

export interface Ask {
  /** The answer to come; nothing happens until it is read. */
  answer(question: Question): Answer;
  /** Forgets what was said in a thread; resolves to how many answers that were. */
  forget(place: Place, thread: string): Promise<number>;
  /** Gives answers under way a moment to end, cuts the others with a note, and waits until the notes have been read. */
  stop(): Promise<void>;
}

/** What the model is told where nobody chose another prompt. */
export const SYSTEM_PROMPT =
  'You are Askwatch, an assistant in a team chat. Answer in Markdown, directly and briefly; say so when you do not know.';

/** Questions that may wait for their turn in one thread. */
const MAX_WAITING = 5;

const MAX_ANSWER_CHARACTERS = 100_000;

/** How long answers under way may go on after `stop`; many are about to end anyway. */
const GRACE_MS = 2_000;

/** How long `stop` then waits for platforms to read the last parts. */
const NOTES_MS = 2_000;

const RESTARTING = 'Askwatch is restarting. Ask again in a moment.';

/** Asks the gateway, one question at a time per thread, and remembers whole answers. */
export function createAsk(options: {
  gateway: GatewayClient;
  catalog: Catalog;
  conversations: Conversations;
  asking: ChannelsAsking;
  /** Gets every answer, whole or not. */
  book: AskedBook;
  /** What is to be known in a thread besides what was said in it. */
  contextOf(place: Place, thread: string, signal: AbortSignal): Promise<string | undefined>;
  settings: BotSettings;
  log: Logger;
}): Ask {
  const { gateway, catalog, conversations, asking, book, contextOf, settings, log } = options;
  const turnTaking = createTurnTaking({ maxWaiting: MAX_WAITING });
  const running = new Set<AnswerRun>();
  const noting = new Set<Promise<void>>();
  let stopped = false;

  async function* answerIn(
    asked: Question,
    thread: string | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AnswerPart> {
    const run = createAnswerRun(signal, settings.askStallMs);
    running.add(run);
    run.whenEnded(() => {
      running.delete(run);
      const noted = noteAnswer(asked, run).finally(() => noting.delete(noted));
      noting.add(noted);
    });
    if (stopped) run.cut(RESTARTING);
    try {
      const key = thread === undefined ? undefined : conversationKey(asked.place, thread);
      if (key !== undefined) {
        await conversations.open(key);
        const endTurn = await turnTaking.take(key, run.signal);
        if (!endTurn) {
          throw new CommandError(
            `${counted(MAX_WAITING, 'question')} wait in this thread already. Ask again when one is answered.`,
          );
        }
        run.whenEnded(endTurn);
      }
      const context =
        thread === undefined ? undefined : await contextOf(asked.place, thread, run.signal);
      const note = yield* generate(asked, key, context, run);
      run.end();
      yield endOf(run, note);
    } catch (error) {
      run.end();
      yield endOf(run, run.cutNote ?? noteOf(error));
    } finally {
      run.end();
    }
  }

  async function noteAnswer(
    { place, person: { id, name } }: Question,
    { model, tokens }: AnswerRun,
  ) {
    if (model === undefined) return;
    const counted = tokens === undefined ? {} : { tokens };
    try {
      await book.note({ atMs: Date.now(), place, person: id, name, model, ...counted });
    } catch (error) {
      log.error({ err: error }, 'who asked could not be noted');
    }
  }

  /** Yields the text; returns the note of an answer that is whole but needs one. Throws when it is not whole. */
  async function* generate(
    asked: Question,
    key: string | undefined,
    context: string | undefined,
    run: AnswerRun,
  ): AsyncGenerator<AnswerPart, string | undefined> {
    const turns = key === undefined ? [] : await conversations.turns(key);
    const channel = await asking.of(asked.place);
    const name = asked.model ?? channel.model ?? settings.askModel;
    const model = await orAborted(catalog.chatModel(name), run.signal);
    run.began(model);
    const messages = trim({
      system: [
        channel.prompt ?? settings.askSystemPrompt ?? SYSTEM_PROMPT,
        ...(context ? [context] : []),
      ].join('\n\n'),
      turns,
      question: asked.question,
      contextTokens: model.context_length,
    });
    if (!messages) {
      throw new CommandError(
        `This question is too long for ${model.id}. Shorten it, or choose a model with a larger context: /askwatch models.`,
      );
    }
    const request = { model: model.id, messages, stream: true };
    let answer = '';
    let finish: string | undefined;
    run.waits();
    for await (const chunk of gateway.stream(
      { ...request, stream_options: { include_usage: true } },
      { signal: run.signal },
    )) {
      if (chunk.usage) run.used(chunk.usage);
      const choice = chunk.choices.find(({ index }) => index === 0);
      finish = choice?.finish_reason ?? finish;
      const text = choice?.delta.content ?? '';
      if (text === '') continue;
      const shown = text.slice(0, MAX_ANSWER_CHARACTERS - answer.length);
      answer += shown;
      run.shows();
      if (shown !== '') yield { kind: 'text', text: shown };
      if (shown.length < text.length) {
        run.cut(
          'The answer is longer than Askwatch shows, so it ends here. Ask for less at a time.',
        );
      }
      run.signal.throwIfAborted();
      run.waits();
    }
    run.shows();
    run.signal.throwIfAborted();
    if (answer.trim() === '') {
      throw new CommandError(`${model.id} sent an empty answer. Ask again in other words.`);
    }
    if (key !== undefined) await remember(key, asked.question, answer);
    return finish === 'length'
      ? 'The answer reached the longest this model gives. Ask it to go on.'
      : undefined;
  }

  async function remember(key: string, question: string, answer: string) {
    try {
      await conversations.add(key, { question, answer, atMs: Date.now() });
    } catch (error) {
      log.error({ err: error }, 'an answer could not be stored');
      throw new CommandError(
        'This answer could not be saved, so this thread will not remember it. Whoever runs Askwatch can look at the log and the disk.',
      );
    }
  }

  function noteOf(error: unknown): string {
    if (error instanceof CommandError) return error.message;
    const explained = explainError(error, 'model gateway');
    if (explained) {
      log.warn({ err: error }, 'an answer was not finished');
      return explained;
    }
    const logId = randomUUID().slice(0, 8);
    log.error({ err: error, logId }, 'an answer failed');
    return `Something went wrong (log id ${logId}). Ask again.`;
  }

  async function noneRunning(withinMs: number) {
    const deadlineMs = performance.now() + withinMs;
    while (running.size > 0 && performance.now() < deadlineMs) await pause(20);
  }

  return {
    answer: (asked) => ({
      kind: 'answer',
      question: asked.question,
      private: asked.private,
      stream: (thread, signal) => answerIn(asked, thread, signal),
    }),
    forget: (place, thread) => conversations.forget(conversationKey(place, thread)),
    async stop() {
      stopped = true;
      await noneRunning(GRACE_MS);
      for (const run of running) run.cut(RESTARTING);
      await noneRunning(NOTES_MS);
      await Promise.all(noting);
    },
  };
}

function endOf(run: AnswerRun, note: string | undefined): AnswerPart {
  return { kind: 'end', footer: run.footer(), ...(note === undefined ? {} : { note }) };
}

/** Waits for what cannot be aborted itself, no longer than until the signal aborts. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return await new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
