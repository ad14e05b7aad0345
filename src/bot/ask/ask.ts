import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { CardAction } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { explainError } from '../shared/explain-error.ts';
import type {
  AnswerPart,
  CommandAnswer,
  DocumentDraft,
  WantedDocument,
} from '../shared/invocation.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { counted } from '../shared/text-format.ts';
import type { Proposals, Proposed } from '../tools/proposals.ts';
import type { UsageLog } from '../usage/usage-log.ts';
import { underBroken, underPrivate, underWhole, whileGenerated } from './answer-buttons.ts';
import { AnswerRun } from './answer-run.ts';
import {
  type Conversations,
  conversationKey,
  keptQuestion,
  type Question,
} from './conversations.ts';
import type { PeopleMessages, PeopleReader } from './people-messages.ts';
import {
  type AnswerCall,
  type AnswerOrigin,
  type PrivateAnswer,
  PrivateAnswers,
} from './private-answers.ts';
import type { ToolCalls } from './tool-calls.ts';
import { createTurnTaking } from './turn-taking.ts';
import { isWantedEnd, type WriteAnswerOptions, writeAnswer } from './write-answer.ts';

/** Questions that may wait in one thread. */
const MAX_WAITING = 5;

/** Time for answers to end by themselves after `stop`. */
const GRACE_MS = 2_000;

/** Time for platforms to read the last parts after that. */
const NOTES_MS = 2_000;

const CUT_OFF = "The answer reached this model's maximum length. Ask it to continue.";
const RESTARTING = 'Askwatch is restarting. Ask again in a moment.';
const WITHOUT_MODEL = 'The file was created without a model.';
const NOT_REMEMBERED =
  'It was shared while Askwatch was stopping, so this thread does not remember it.';
const RECONNECTING = 'Askwatch has to reconnect, so this answer ends here. Ask again in a moment.';

/** A question came between the press of a button and its turn. */
class NoLongerLastError extends CommandError {}

/** An answer from its question to its end. `AnswerRun` describes its states; the rest is filled in on the way. */
interface AnswerInProgress {
  id: string;
  question: Question;
  run: AnswerRun;
  /** Absent for a private answer, as is `key`, the key of the conversation. */
  thread?: string;
  key?: string;
  people?: PeopleMessages;
  document?: WantedDocument;
  draft?: DocumentDraft;
}

type AnswerEndPart = Extract<AnswerPart, { kind: 'end' }>;

interface AskOptions extends WriteAnswerOptions {
  conversations: Conversations;
  usageLog: UsageLog;
  people: Pick<PeopleReader, 'around' | 'isOfPeople'>;
  /** Stores the tool calls of a whole answer, before the answer. */
  keepCalls(
    at: { place: string; thread: string },
    answer: string,
    calls: readonly AnswerCall[],
  ): Promise<void>;
  /** Further buttons under a whole answer. */
  buttonsUnder(answer: string, shown: { isPrivate: boolean }): CardAction[];
  /** Facts for a thread's system prompt, such as its incident. */
  contextOf(place: Place, thread: string, signal: AbortSignal): Promise<string | undefined>;
  /** The tools that a model may call for a question. */
  toolsFor(question: Question, thread: string | undefined): Promise<ToolCalls>;
  proposals: Pick<Proposals, 'keep'>;
  /** The document that a question asks for; `undefined` for most. */
  documentFor(question: Question, thread: string): WantedDocument | undefined;
  log: Logger;
}

/** Answers questions, one at a time per thread, and remembers whole answers. */
export class Ask {
  private readonly options: AskOptions;
  private readonly turnTaking = createTurnTaking({ maxWaiting: MAX_WAITING });
  private readonly running = new Map<string, AnswerInProgress>();
  private readonly privateAnswers = new PrivateAnswers();
  private readonly pendingUsage = new Set<Promise<void>>();
  private isStopped = false;

  constructor(options: AskOptions) {
    this.options = options;
  }

  /** Creates an answer. Nothing happens until its stream is read. */
  answer(question: Question): CommandAnswer {
    const { answer: id } = question.handling;
    return {
      ...keptQuestion(question),
      kind: 'answer',
      id,
      private: question.private ?? false,
      instead: question.instead,
      earlier: question.earlier,
      actions: whileGenerated(id),
      stream: (thread, signal) => this.generate(question, thread, signal),
    };
  }

  /** True while an answer is under way in a thread. */
  isAnswering(place: Place, thread: string): boolean {
    return this.turnTaking.isTaken(conversationKey(place, thread));
  }

  /** Ends an answer under way with a note; false if there is none with this id. */
  cut(id: string, note: string): boolean {
    this.running.get(id)?.run.cut(note);
    return this.running.has(id);
  }

  /** Ends all answers on a platform that is about to reconnect. */
  cutAll(platform: string): void {
    for (const { run, question } of this.running.values()) {
      if (question.place.platform === platform) run.cut(RECONNECTING);
    }
  }

  /** A private answer, for its reader. */
  privateAnswer(id: string, person: string): PrivateAnswer | undefined {
    return this.privateAnswers.get(id, person);
  }

  /** A private answer for everyone; `undefined` if it isn't this person's or no longer kept. */
  share(
    id: string,
    by: Pick<Question, 'place' | 'person' | 'handling' | 'around'>,
  ): CommandAnswer | undefined {
    const shared = this.privateAnswers.get(id, by.person.id);
    if (!shared) return undefined;
    // An answer that is shared again, because it could not be shown, replaces itself.
    const question = { ...by, ...shared.asked, instead: id };
    return {
      kind: 'answer',
      id,
      ...shared.asked,
      private: false,
      stream: (thread, signal = new AbortController().signal) =>
        this.replay(shared, { id, question, thread, signal }),
      notShown: () => this.privateAnswers.keep(id, shared),
    };
  }

  /** Lets answers end for a moment, cuts the others with a note, and waits until platforms have read the notes. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.waitUntilIdle(GRACE_MS);
    for (const { run } of this.running.values()) run.cut(RESTARTING);
    await this.waitUntilIdle(NOTES_MS);
    await Promise.all(this.pendingUsage);
  }

  private async waitUntilIdle(maxMs: number): Promise<void> {
    const deadlineMs = performance.now() + maxMs;
    while (this.running.size > 0 && performance.now() < deadlineMs) await pause(20);
  }

  private async *generate(
    question: Question,
    thread: string | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AnswerPart> {
    const answer = this.begin(question, thread, signal);
    try {
      yield* this.complete(answer);
    } catch (error) {
      yield await this.endBroken(answer, error);
    } finally {
      answer.run.end();
    }
  }

  private begin(question: Question, thread: string | undefined, signal: AbortSignal | undefined) {
    const { answer: id } = question.handling;
    const run = new AnswerRun(signal, this.options.settings.askStallMs);
    const key = thread === undefined ? undefined : conversationKey(question.place, thread);
    const answer: AnswerInProgress = { id, question, run, thread, key };
    this.running.set(id, answer);
    run.onEnd(() => {
      this.running.delete(id);
      const stored = this.logUsage(answer).finally(() => this.pendingUsage.delete(stored));
      this.pendingUsage.add(stored);
    });
    if (this.isStopped) run.cut(RESTARTING);
    return answer;
  }

  /** Generates a whole answer and stores it before its end is shown. */
  private async *complete(answer: AnswerInProgress): AsyncGenerator<AnswerPart> {
    const { id, question, thread, key, run } = answer;
    const { options } = this;
    if (thread !== undefined && key !== undefined) {
      await this.takeTurn(key, thread, answer);
      // Only now, because the facts of the document may change while other questions have their turns.
      answer.document = options.documentFor(question, thread);
    }
    answer.draft = await answer.document?.draft(run.signal);
    const context = await this.contextOf(answer);
    const tools = await options.toolsFor(question, thread);
    const turns = key === undefined ? [] : await options.conversations.turns(key);
    answer.people = await options.people.around(question, thread, { turns, signal: run.signal });
    const { people, draft } = answer;
    const replacedAt = turns.findIndex(
      (turn) => turn.id !== undefined && turn.id === question.instead,
    );
    const basis = {
      question,
      thread,
      turns: replacedAt === -1 ? turns : turns.slice(0, replacedAt),
      context,
      people,
      draft,
      tools,
      run,
    };
    const written = yield* writeAnswer(basis, options);
    // Stored before the answer, so that a stored answer always has its cards.
    const cards = await this.keepProposals(tools.proposals, question);
    const origin = { generated: { model: run.model, times: run.times() }, calls: tools.calls };
    if (thread !== undefined) await this.keep(thread, answer, written.text, origin);
    run.end();
    if (key === undefined) this.keepPrivate(answer, written.text, origin);
    const notes = [written.isCutOff ? CUT_OFF : written.doubt, written.unread, people?.note()];
    yield endPart(run, {
      note: joinNotes(notes),
      actions: this.actionsUnder(id, { isPrivate: key === undefined, ...written }),
      cards: cards.length > 0 ? cards : undefined,
      document: answer.document?.documentOf(written.text),
    });
  }

  private actionsUnder(
    id: string,
    { isPrivate, isCutOff = false }: { isPrivate: boolean; isCutOff?: boolean },
  ): CardAction[] {
    const own = isPrivate ? underPrivate(id) : underWhole(id, { isCutOff });
    return [...own, ...this.options.buttonsUnder(id, { isPrivate })];
  }

  private async endBroken(answer: AnswerInProgress, error: unknown): Promise<AnswerEndPart> {
    const { id, run, document, draft, people } = answer;
    const isKept = await this.keepUnanswered(answer, error);
    // The next question in the thread starts only now, so that the thread's last question is stored in order.
    run.end();
    const isDrafted = draft !== undefined && !isWantedEnd(run);
    const why = run.cutNote ?? this.explain(error);
    return endPart(run, {
      note: joinNotes([why, isDrafted ? WITHOUT_MODEL : undefined, people?.note()]),
      actions: isKept ? underBroken(id) : [],
      document: isDrafted ? document?.documentOf(draft.text) : undefined,
    });
  }

  /** Waits until no other question is answered in the thread. */
  private async takeTurn(key: string, thread: string, { question, run }: AnswerInProgress) {
    const { conversations, people } = this.options;
    // The place in the queue is taken before the first await, so that questions keep their order.
    run.onEnd(await this.waitForTurn(key, run.signal));
    await conversations.open(key, { ofPeople: people.isOfPeople(question, thread) });
    const { last } = question;
    if (last !== undefined && (await conversations.lastAsked(key))?.id !== last) {
      throw new NoLongerLastError('Another question in this thread came first. Ask yours again.');
    }
  }

  /** Resolves to the function that ends the turn. */
  private async waitForTurn(key: string, signal: AbortSignal): Promise<() => void> {
    const endTurn = await this.turnTaking.take(key, signal);
    if (endTurn) return endTurn;
    throw new CommandError(
      `${counted(MAX_WAITING, 'question')} are already waiting in this thread. Ask again when one is answered.`,
    );
  }

  private async contextOf({ question, thread, draft, run }: AnswerInProgress) {
    if (draft) return draft.prompt;
    if (thread === undefined) return undefined;
    return await this.options.contextOf(question.place, thread, run.signal);
  }

  /** Resolves to the cards that ask for confirmation. */
  private async keepProposals(proposed: readonly Proposed[], question: Question) {
    if (proposed.length === 0) return [];
    const { place, person, handling, private: isPrivate = false } = question;
    const origin = { answer: handling.answer, place, person: person.id, private: isPrivate };
    return await this.options.proposals.keep(proposed, origin);
  }

  /** Stores a whole answer. Throws a `CommandError` if that fails. */
  private async keep(
    thread: string,
    { id, question, people }: Pick<AnswerInProgress, 'id' | 'question' | 'people'>,
    answer: string,
    { generated, calls }: AnswerOrigin,
  ): Promise<void> {
    const { keepCalls, conversations, log } = this.options;
    const { place, instead } = question;
    const kept = keptQuestion(question, people?.about);
    const turn = { id, ...kept, answer, atMs: Date.now(), generated };
    try {
      // First, because a stored answer can be rated.
      await keepCalls({ place: placeKey(place), thread }, id, calls);
      await conversations.add(conversationKey(place, thread), turn, instead);
    } catch (error) {
      log.error({ err: error }, 'could not store an answer');
      throw new CommandError(
        'This answer could not be saved, so this thread will not remember it. Ask your Askwatch admin to check the log and the disk.',
      );
    }
  }

  private keepPrivate(
    { id, question, people, run }: AnswerInProgress,
    text: string,
    origin: AnswerOrigin,
  ) {
    const asked = keptQuestion(question, people?.about);
    const footer = run.footer();
    this.privateAnswers.keep(id, { person: question.person.id, asked, text, footer, ...origin });
  }

  /** Stores a question whose answer broke off; true if a button can ask it again. */
  private async keepUnanswered(answer: AnswerInProgress, error: unknown): Promise<boolean> {
    const { id, question, key, people } = answer;
    // A button that came too late has no question of its own.
    if (key === undefined || error instanceof NoLongerLastError) return false;
    const kept = keptQuestion(question, people?.about);
    try {
      const { instead } = question;
      await this.options.conversations.addUnanswered(key, { id, ...kept, instead });
      return true;
    } catch (failure) {
      this.options.log.error({ err: failure }, 'could not store a question');
      return false;
    }
  }

  /** Adds an answer, whole or not, to the usage log. Never throws. */
  private async logUsage({ question: { place, person }, run }: AnswerInProgress): Promise<void> {
    const { model, tokens, lookups, lookupTokens } = run;
    if (model === undefined) return;
    const used = { model, tokens, lookupTokens, lookups: lookups > 0 ? lookups : undefined };
    const who = { person: person.id, name: person.name };
    try {
      await this.options.usageLog.add({ atMs: Date.now(), place, ...who, ...used });
    } catch (error) {
      this.options.log.error({ err: error }, 'could not store who asked how much');
    }
  }

  /** Shows a private answer as if it were generated now. */
  private async *replay(
    shared: PrivateAnswer,
    {
      id,
      question,
      thread,
      signal,
    }: { id: string; question: Question; thread: string | undefined; signal: AbortSignal },
  ): AsyncGenerator<AnswerPart> {
    const { text, footer } = shared;
    if (!this.privateAnswers.take(id)) {
      yield { kind: 'end', footer, note: 'This answer is already shared.' };
      return;
    }
    yield { kind: 'text', text };
    try {
      if (thread !== undefined) await this.keepShared(thread, shared, { id, question, signal });
      yield { kind: 'end', footer, actions: this.actionsUnder(id, { isPrivate: false }) };
    } catch (error) {
      const note = signal.aborted ? NOT_REMEMBERED : this.explain(error);
      yield { kind: 'end', footer, note };
    }
  }

  private async keepShared(
    thread: string,
    shared: PrivateAnswer,
    { id, question, signal }: { id: string; question: Question; signal: AbortSignal },
  ): Promise<void> {
    const { conversations, people } = this.options;
    const key = conversationKey(question.place, thread);
    const endTurn = await this.waitForTurn(key, signal);
    try {
      await conversations.open(key, { ofPeople: people.isOfPeople(question, thread) });
      await this.keep(thread, { id, question }, shared.text, shared);
    } finally {
      endTurn();
    }
  }

  private explain(error: unknown): string {
    const { log } = this.options;
    if (error instanceof CommandError) return error.message;
    const explained = explainError(error, 'model gateway');
    if (explained) {
      log.warn({ err: error }, 'an answer could not be finished');
      return explained;
    }
    const logId = randomUUID().slice(0, 8);
    log.error({ err: error, logId }, 'an answer failed');
    return `Something went wrong (log id ${logId}). Ask again.`;
  }
}

const endPart = (run: AnswerRun, end: Omit<AnswerEndPart, 'kind' | 'footer'>): AnswerEndPart => ({
  kind: 'end',
  footer: run.footer(),
  ...end,
});

const joinNotes = (notes: ReadonlyArray<string | undefined>) =>
  notes.filter((note) => note !== undefined).join(' ') || undefined;
