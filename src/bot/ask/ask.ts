import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { GatewayClient } from '../../clients/gateway.ts';
import type { Model } from '../../contracts/gateway.ts';
import { orAborted } from '../../contracts/or-aborted.ts';
import type { EvidenceCall } from '../feedback/answer-evidence.ts';
import type { Feedback, RatedAnswer } from '../feedback/feedback.ts';
import type { FileReader } from '../files/read-files.ts';
import { understand } from '../rules/rules.ts';
import { CommandError } from '../shared/errors.ts';
import { explainError } from '../shared/explain-error.ts';
import type {
  AnswerPart,
  CommandAnswer,
  DocumentDraft,
  WantedDocument,
} from '../shared/invocation.ts';
import type { Around, QuotedMessage } from '../shared/people-messages.ts';
import { type Person, type Place, placeKey } from '../shared/place.ts';
import type { Handling } from '../shared/seen-invocations.ts';
import type { BotSettings } from '../shared/settings.ts';
import { type SharedFile, WITHOUT_WORDS } from '../shared/shared-file.ts';
import { counted } from '../shared/text-format.ts';
import type { Proposals, Proposed } from '../tools/proposals.ts';
import type { UsageLog } from '../usage/usage-log.ts';
import { underBroken, underPrivate, underWhole, whileGenerated } from './answer-buttons.ts';
import { answerByRules, answerWith, factsByRules, hint } from './answer-by-rules.ts';
import { type AnswerRun, createAnswerRun } from './answer-run.ts';
import { filesOf, readAttachments } from './attachments.ts';
import type { Budgets } from './budgets.ts';
import { type Catalog, isOffline, nameOf, rolesOfOneModel } from './catalog.ts';
import type { ChannelDefaults } from './channel-defaults.ts';
import {
  type Conversations,
  conversationKey,
  type KeptQuestion,
  type Turn,
} from './conversations.ts';
import { doubtOf } from './doubt.ts';
import { type Generated, generate, leftBeside } from './generate.ts';
import { type createPeopleReader, type PeopleMessages, withQuoted } from './people-messages.ts';
import { PROMPT_WITHOUT_TOOLS, type ToolCalls } from './tool-calls.ts';
import { createTurnTaking } from './turn-taking.ts';
import { unfoundedFigures } from './unfounded-figures.ts';
import { mayConcernWatching } from './watching-words.ts';

/** A question, as `/ask` takes it. */
export interface Question {
  handling: Handling;
  question: string;
  /** What came with it. */
  files?: SharedFile[] | undefined;
  /** A model of the catalog; the operator's default when undefined. */
  model?: string | undefined;
  /** Whether only the person who asks sees the answer. */
  private?: boolean | undefined;
  place: Place;
  person: Person;
  /** The messages that it is about. */
  about?: readonly QuotedMessage[] | undefined;
  /** Where what people wrote around it stands. */
  around?: Around | undefined;
  /** The message that asks, by the platform's own id, where `around` does not name it. */
  message?: string | undefined;
  /** The answer that this one takes the place of, by its id. */
  instead?: string | undefined;
  /** The answer that has to be the last of the thread still when the turn of this one has come. */
  last?: string;
  /** What becomes of the answer whose button was pressed. */
  earlier?: CommandAnswer['earlier'];
}

export type Ask = ReturnType<typeof createAsk>;

/** What the model is told where nobody chose another prompt. */
export const SYSTEM_PROMPT =
  'You are Askwatch, an assistant in a team chat. Answer in Markdown, directly and briefly. Say so if you do not know.';

/** Questions that may wait for their turn in one thread. */
const MAX_WAITING = 5;

/** How long answers under way may go on after `stop`; many are about to end anyway. */
const GRACE_MS = 2_000;

/** How long `stop` then waits for platforms to read the last parts. */
const NOTES_MS = 2_000;

const CUT_OFF = "The answer reached this model's maximum length. Ask it to continue.";
const RESTARTING = 'Askwatch is restarting. Ask again in a moment.';
/** Of a document whose model failed. */
const WITHOUT_MODEL = 'The file was created without a model.';
const NOT_REMEMBERED =
  'It was shared while Askwatch was stopping, so this thread does not remember it.';
const RECONNECTING = 'Askwatch has to reconnect, so this answer ends here. Ask again in a moment.';

/** An answer, and what it answers. */
interface Answered {
  id: string;
  asked: Question;
  /** The messages that it is about, as they were found. */
  about?: readonly QuotedMessage[] | undefined;
}

/** A whole answer, and what is to be said of it. */
interface Whole extends Generated {
  /** What it says and nothing that was looked up does. */
  doubt?: string | undefined;
  /** What came with the question and was not read. */
  unread?: string | undefined;
}

/** How an answer came about. */
interface Made {
  generated: NonNullable<Turn['generated']>;
  calls: readonly EvidenceCall[];
}

/** What stands under an answer from its end on. */
type Ending = Pick<Extract<AnswerPart, { kind: 'end' }>, 'note' | 'actions' | 'cards' | 'document'>;

/** Something was asked between the press of a button and the turn of its answer. */
class NoLongerLastError extends CommandError {}

/** Asks the gateway, one question at a time per thread, and remembers whole answers. */
export function createAsk(options: {
  gateway: GatewayClient;
  catalog: Catalog;
  conversations: Conversations;
  channelDefaults: ChannelDefaults;
  /** Says no where a channel has used up what it may. */
  budgets: Pick<Budgets, 'require'>;
  /** Gets every answer, whole or not. */
  usageLog: UsageLog;
  /** What people wrote around a question. */
  people: ReturnType<typeof createPeopleReader>;
  /** Gets what was looked up for each whole answer. */
  evidence: Pick<Feedback['evidence'], 'keep'>;
  /** What is to be known in a thread besides what was said in it. */
  contextOf(place: Place, thread: string, signal: AbortSignal): Promise<string | undefined>;
  /** What a model may look up and propose for somebody's question in a thread. */
  toolsFor(asked: Question, thread: string | undefined): Promise<ToolCalls>;
  /** Where what an answer proposes waits for its person. */
  proposals: Pick<Proposals, 'keep'>;
  /** The document that is asked for in a thread; `undefined` for what is answered without one. */
  documentFor(asked: Question, thread: string): WantedDocument | undefined;
  /** Names of what is watched, as they were known a moment ago. */
  monitorNames(): Promise<readonly string[]>;
  /** Reads what people sent. */
  files: FileReader;
  /** What rules can answer in a thread where no model does; `undefined` when nothing. */
  withoutModel(asked: Question, thread: string): string | undefined;
  settings: BotSettings;
  log: Logger;
}) {
  const { conversations, settings, log } = options;
  const turnTaking = createTurnTaking({ maxWaiting: MAX_WAITING });
  const running = new Map<string, { run: AnswerRun; asked: Question }>();
  const privates = createPrivateAnswers();
  const noting = new Set<Promise<void>>();
  let stopped = false;

  async function* answerIn(
    asked: Question,
    thread: string | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AnswerPart> {
    const { answer: id } = asked.handling;
    const run = createAnswerRun(signal, settings.askStallMs);
    running.set(id, { run, asked });
    run.whenEnded(() => {
      running.delete(id);
      const noted = count(asked, run).finally(() => noting.delete(noted));
      noting.add(noted);
    });
    if (stopped) run.cut(RESTARTING);
    const key = thread === undefined ? undefined : conversationKey(asked.place, thread);
    let people: PeopleMessages | undefined;
    let wanted: WantedDocument | undefined;
    let draft: DocumentDraft | undefined;
    try {
      if (thread !== undefined && key !== undefined) {
        await takeTurn(key, asked, run, options.people.isOfPeople(asked, thread));
        // Only now: what it tells of may have changed while others had the turn.
        wanted = options.documentFor(asked, thread);
      }
      draft = await wanted?.draft(run.signal);
      const context =
        thread === undefined || draft
          ? draft?.prompt
          : await options.contextOf(asked.place, thread, run.signal);
      const tools = await options.toolsFor(asked, thread);
      const turns = key === undefined ? [] : await conversations.turns(key);
      people = await options.people.around(asked, thread, { turns, signal: run.signal });
      const whole = yield* textOf(asked, { thread, turns, context, tools, people, draft }, run);
      const { text } = whole;
      // Before the answer is kept: whoever finds that finds them, too.
      const cards = await propose(tools.proposed(), asked);
      const times = run.times();
      const made = { generated: { model: run.model, times }, calls: tools.made() };
      const about = people?.about;
      if (thread !== undefined) await keep(thread, { id, asked, answer: text, about, ...made });
      run.end();
      if (key === undefined) {
        const kept = { person: asked.person.id, asked: keptOf({ asked, about }), text };
        privates.keep(id, { ...kept, footer: run.footer(), ...made });
      }
      const actions = key === undefined ? underPrivate(id) : underWhole(id, whole);
      const doubt = whole.isCutOff ? CUT_OFF : whole.doubt;
      const note = noteAfter([doubt, whole.unread, people?.note()]);
      const end = { actions, cards, ...documentOf(wanted, text) };
      yield endOf(run, { ...end, ...(note !== undefined && { note }) });
    } catch (error) {
      const unanswered = { id, asked, about: people?.about };
      const isKept = key !== undefined && (await keepUnanswered(key, unanswered, error));
      // Only now somebody else may have the turn: what is asked next finds this question before its own.
      run.end();
      const actions = isKept ? underBroken(id) : [];
      const why = run.cutNote ?? noteOf(error);
      const isDrafted = draft !== undefined && !isWished(run);
      const note = noteAfter([why, isDrafted ? WITHOUT_MODEL : undefined, people?.note()]);
      const document = isDrafted ? documentOf(wanted, draft?.text ?? '') : undefined;
      yield endOf(run, { actions, ...document, ...(note !== undefined && { note }) });
    } finally {
      run.end();
    }
  }

  /** Keeps what an answer proposes; resolves to the cards that ask for it. */
  async function propose(proposed: readonly Proposed[], asked: Question) {
    const { place, person, handling, private: isPrivate = false } = asked;
    const of = { answer: handling.answer, place, person: person.id, private: isPrivate };
    return proposed.length === 0 ? [] : await options.proposals.keep(proposed, of);
  }

  /** Keeps a whole answer. Throws a `CommandError` that says what it means when it cannot be. */
  async function keep(
    thread: string,
    { answer, generated, calls, ...answered }: Answered & Made & { answer: string },
  ) {
    const { instead, place } = answered.asked;
    const turn = { id: answered.id, ...keptOf(answered), answer, atMs: Date.now(), generated };
    try {
      // First: whoever finds the answer may rate it.
      await options.evidence.keep({ place: placeKey(place), thread }, answered.id, calls);
      await conversations.add(conversationKey(place, thread), turn, instead);
    } catch (error) {
      log.error({ err: error }, 'could not store an answer');
      throw new CommandError(
        'This answer could not be saved, so this thread will not remember it. Ask your Askwatch admin to check the log and the disk.',
      );
    }
  }

  /** Keeps a question whose answer is not whole because of an error; whether a button can ask it again. */
  async function keepUnanswered(key: string, { id, ...answered }: Answered, why: unknown) {
    // A button that came too late asks for nothing that could be asked again.
    if (why instanceof NoLongerLastError) return false;
    const { instead } = answered.asked;
    try {
      await conversations.addUnanswered(key, { id, ...keptOf(answered), instead });
      return true;
    } catch (error) {
      log.error({ err: error }, 'could not store a question');
      return false;
    }
  }

  /** Notes an answer, whole or not, in the log of who asked how much. Never throws. */
  async function count({ place, person: { id, name } }: Question, run: AnswerRun) {
    const { model, tokens, lookups, lookupTokens } = run;
    if (model === undefined) return;
    const used = { model, tokens, lookupTokens, ...(lookups > 0 && { lookups }) };
    try {
      await options.usageLog.add({ atMs: Date.now(), place, person: id, name, ...used });
    } catch (error) {
      log.error({ err: error }, 'could not store who asked how much');
    }
  }

  /** The turn in a thread; the function it resolves to ends it. */
  async function turnIn(key: string, signal: AbortSignal) {
    const endTurn = await turnTaking.take(key, signal);
    if (endTurn) return endTurn;
    throw new CommandError(
      `${counted(MAX_WAITING, 'question')} are already waiting in this thread. Ask again when one is answered.`,
    );
  }

  /** Waits until nobody else is answered in the thread. */
  async function takeTurn(key: string, { last }: Question, run: AnswerRun, ofPeople: boolean) {
    run.whenEnded(await turnIn(key, run.signal));
    // Whoever waits is in a thread that is open. Before its place is taken nothing is waited for: those who ask keep their order.
    await conversations.open(key, { ofPeople });
    if (last !== undefined && (await conversations.lastAsked(key))?.id !== last) {
      throw new NoLongerLastError('Another question in this thread came first. Ask yours again.');
    }
  }

  /** The text of a model. Where it throws with no text and nobody wished so, what rules can answer comes before that. */
  async function* textOf(
    asked: Question,
    {
      thread,
      turns: remembered,
      context,
      tools,
      people,
      draft,
    }: Record<'thread' | 'context', string | undefined> & {
      turns: readonly Turn[];
      tools: ToolCalls;
      people: PeopleMessages | undefined;
      draft: DocumentDraft | undefined;
    },
    run: AnswerRun,
  ): AsyncGenerator<AnswerPart, Whole> {
    let isEmpty = true;
    try {
      const replaced = remembered.findIndex(({ id }) => id === asked.instead);
      // What was said before ends at the answer that is to be replaced.
      const isReplaced = asked.instead !== undefined && replaced !== -1;
      const turns = isReplaced ? remembered.slice(0, replaced) : remembered;
      const { model: own, prompt } = await options.channelDefaults.of(asked.place);
      const chosen = await orAborted(options.catalog.chatModel(asked.model ?? own), run.signal);
      const { question } = asked;
      let model = chosen;
      const requireBudget = async () => {
        if (isOffline(model)) return;
        await orAborted(options.budgets.require(asked.place, run.tokens), run.signal);
      };
      await requireBudget();
      const ownPrompt = [prompt ?? settings.askSystemPrompt ?? SYSTEM_PROMPT, context];
      const system = ownPrompt.filter(Boolean).join('\n\n');
      const { note: unread, ...attached } = await readAttachments(
        { files: filesOf({ ...asked, about: people?.about }), turns, place: asked.place },
        {
          ...{ reader: options.files, model: chosen, signal: run.signal },
          seeing: () => orAborted(options.catalog.seeingModel(), run.signal),
          leftTokens: ({ context_length }) => leftBeside({ system, question }, context_length),
        },
      );
      model = attached.model;
      if (unread !== undefined && attached.isNothingLeft && question === WITHOUT_WORDS) {
        throw new CommandError(unread);
      }
      if (isOffline(model)) {
        if (draft) return yield* answerWith(draft.text, run);
        const understood = understand(question, Date.now());
        if (understood) return { ...(yield* answerByRules(understood, { tools, run })), unread };
        const known = thread === undefined ? undefined : options.withoutModel(asked, thread);
        if (known !== undefined) return { ...(yield* answerWith(known, run)), unread };
      }
      if (isOffline(chosen)) await requireBudget();
      const isPlain = ![isOffline(model), draft, context, people, asked.files?.length].some(
        Boolean,
      );
      const isTalk = isPlain && (await isTalkOf(asked, turns));
      const isTalkOnly = isTalk && !tools.keepFor(question);
      const parts = generate(
        {
          system: [system, attached.prompt, isTalkOnly && PROMPT_WITHOUT_TOOLS]
            .filter(Boolean)
            .join('\n\n'),
          turns: turns.map((turn) => ({
            ...turn,
            question: withQuoted(turn),
            parts: attached.earlier.get(turn),
          })),
          ...{ question, parts: attached.parts, people },
        },
        {
          ...{ model, gateway: options.gateway, requireBudget, run },
          ...{ role: roleInFooter(model, chosen, await options.catalog.models()) },
          // All that there is to a document was looked up for its draft.
          ...(!draft && {
            tools: isTalkOnly ? undefined : tools,
            facts: () => factsByRules(question, { tools, run }),
          }),
        },
      );
      for (;;) {
        const next = await parts.next();
        if (next.done) {
          const { text, ...whole } = next.value;
          if (!isOffline(model)) {
            const said = turns.flatMap((turn) => [turn.question, turn.answer]);
            said.push(people?.told() ?? '', ...attached.texts);
            if (!draft) {
              const given = tools.given();
              const found = tools.found();
              const names = found.length > 0 ? [] : await options.monitorNames();
              const doubt = doubtOf(text, {
                ...{ question, said, incident: context, given, found, names },
                concernsWatching: mayConcernWatching(question, names),
              });
              return { ...next.value, doubt, unread };
            }
            const added = addedTo(text, draft, [question, context ?? '', ...said]);
            if (added !== '') yield { kind: 'text', text: added };
            return { ...whole, text: text + added, unread };
          }
          const examples = hint(question);
          yield { kind: 'text', text: examples };
          return { ...whole, text: text + examples, unread };
        }
        if (next.value.kind === 'text') {
          isEmpty = false;
          run.says();
        }
        yield next.value;
      }
    } catch (error) {
      const text =
        isEmpty &&
        !isWished(run) &&
        thread !== undefined &&
        (draft?.text ?? options.withoutModel(asked, thread));
      if (text) yield { kind: 'text', text };
      throw error;
    }
  }

  /** Whether neither a question nor what it follows can concern what is watched. Then a model is sent no functions for it. */
  async function isTalkOf({ question, about = [] }: Question, turns: readonly Turn[]) {
    const texts = [question, ...about.map(({ text }) => text), ...turns.map(withQuoted)];
    if (texts.some((text) => mayConcernWatching(text, []))) return false;
    const names = await options.monitorNames();
    return !texts.some((text) => mayConcernWatching(text, names));
  }

  /** What was answered in private, as if it were answered now. */
  async function* sharedIn(
    id: string,
    shared: PrivateAnswer,
    asked: Question,
    thread: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerPart> {
    const { text, footer, generated, calls } = shared;
    // Two presses at one moment.
    if (!privates.forget(id))
      return yield { kind: 'end', footer, note: 'This answer is already shared.' };
    yield { kind: 'text', text };
    let end: Ending;
    let endTurn: (() => void) | undefined;
    try {
      if (thread !== undefined) {
        const key = conversationKey(asked.place, thread);
        endTurn = await turnIn(key, signal);
        await conversations.open(key, { ofPeople: options.people.isOfPeople(asked, thread) });
        await keep(thread, { id, asked, answer: text, generated, calls });
      }
      end = { actions: underWhole(id, { isCutOff: false }) };
    } catch (error) {
      end = { note: signal.aborted ? NOT_REMEMBERED : noteOf(error) };
    } finally {
      endTurn?.();
    }
    yield { kind: 'end', footer, ...end };
  }

  function noteOf(error: unknown): string {
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

  async function noneRunning(withinMs: number) {
    const deadlineMs = performance.now() + withinMs;
    while (running.size > 0 && performance.now() < deadlineMs) await pause(20);
  }

  return {
    /** The answer to come; nothing happens until it is read. */
    answer(asked: Question): CommandAnswer {
      const { answer: id } = asked.handling;
      return {
        kind: 'answer',
        id,
        ...keptOf({ asked }),
        private: asked.private ?? false,
        instead: asked.instead,
        earlier: asked.earlier,
        actions: whileGenerated(id),
        stream: (thread, signal) => answerIn(asked, thread, signal),
      };
    },
    /** True while an answer is under way in a thread. */
    isAnswering: (place: Place, thread: string) =>
      turnTaking.isTaken(conversationKey(place, thread)),
    /** Ends an answer under way with a note; false when there is none of this id. */
    cut(id: string, note: string): boolean {
      running.get(id)?.run.cut(note);
      return running.has(id);
    },
    /** The same for all that were asked on a platform, which is about to be made anew. */
    cutAll(platform: string) {
      for (const { run, asked } of running.values()) {
        if (asked.place.platform === platform) run.cut(RECONNECTING);
      }
    },
    /** A private answer as its reader may rate it. */
    ratedPrivate(id: string, person: string): RatedAnswer | undefined {
      const answer = privates.of(id, person);
      if (!answer) return undefined;
      const { asked, text, generated, calls } = answer;
      const { question } = asked;
      return { ...generated, said: { question, answer: text, calls: [...calls] } };
    },
    /** A private answer for everyone, where its reader asks for that. */
    share(
      id: string,
      of: Pick<Question, 'place' | 'person' | 'handling' | 'around'>,
    ): CommandAnswer | undefined {
      const shared = privates.of(id, of.person.id);
      if (!shared) return undefined;
      // Shared once more after it could not be shown, it is still one answer.
      const asked = { ...of, ...shared.asked, instead: id };
      return {
        kind: 'answer',
        id,
        ...shared.asked,
        private: false,
        stream: (thread, signal = new AbortController().signal) =>
          sharedIn(id, shared, asked, thread, signal),
        notShown: () => privates.keep(id, shared),
      };
    },
    /**
     * Gives answers under way a moment to end, cuts the others with a note, and waits until the notes have been read.
     */
    async stop() {
      stopped = true;
      await noneRunning(GRACE_MS);
      for (const { run } of running.values()) run.cut(RESTARTING);
      await noneRunning(NOTES_MS);
      await Promise.all(noting);
    },
  };
}

/** What stands below what a model wrote as a document: what it left out, and figures that it has from nowhere. */
function addedTo(text: string, draft: DocumentDraft, sources: readonly string[]): string {
  const figures = unfoundedFigures(text, sources);
  const doubt = `\n\n*Not backed by any look-up: ${figures.join(', ')}. Verify before relying on it.*`;
  return `${draft.missingIn(text)}${figures.length > 0 ? doubt : ''}`;
}

const documentOf = (wanted: WantedDocument | undefined, text: string) =>
  wanted && { document: wanted.documentOf(text) };

/** Whether an answer was cut for another reason than that its model said nothing. */
const isWished = (run: AnswerRun) => run.cutNote !== undefined && !run.isStalled;

function endOf(run: AnswerRun, { cards = [], ...end }: Ending): AnswerPart {
  return { kind: 'end', footer: run.footer(), ...end, ...(cards.length > 0 && { cards }) };
}

/** What is kept of a question. */
function keptOf({ asked, about = asked.about }: Omit<Answered, 'id'>): KeptQuestion {
  const { question, model, files, message = asked.around?.question } = asked;
  return {
    ...{ question, model, files, message },
    ...(about && about.length > 0 && { about: [...about] }),
  };
}

/** Beside the model's own name: which of several catalog models it answers for, or why another one was not asked. */
function roleInFooter(model: Model, chosen: Model, models: readonly Model[]): string | undefined {
  const [name, chosenName] = [nameOf(model), nameOf(chosen)];
  if (name !== chosenName) return `${chosenName} can't read images`;
  return isOffline(model) || rolesOfOneModel(models) ? undefined : model.id;
}

/** Several notes under one answer. */
function noteAfter(notes: ReadonlyArray<string | undefined>): string | undefined {
  const said = notes.filter((note) => note !== undefined);
  return said.length === 0 ? undefined : said.join(' ');
}

/** An answer that one person saw. */
interface PrivateAnswer extends Made {
  person: string;
  asked: KeptQuestion;
  text: string;
  footer: string;
}

/** Longer nobody means it any more; what was private is not written anywhere. */
const KEEP_MS = 60 * 60_000;
const MAX_KEPT = 200;

/** The last private answers, in memory, for those who want to share theirs. */
function createPrivateAnswers() {
  const nowMs = () => performance.now();
  const kept = new Map<string, PrivateAnswer & { atMs: number }>();
  return {
    keep(id: string, answer: PrivateAnswer) {
      kept.set(id, { ...answer, atMs: nowMs() });
      for (const [old, { atMs }] of kept) {
        if (kept.size <= MAX_KEPT && nowMs() - atMs <= KEEP_MS) break;
        kept.delete(old);
      }
    },
    /** One, for whom it was shown to. */
    of(id: string, person: string): PrivateAnswer | undefined {
      const answer = kept.get(id);
      const isTheirs = answer?.person === person && nowMs() - answer.atMs <= KEEP_MS;
      return isTheirs ? answer : undefined;
    },
    /** Whether it was kept until now. */
    forget: (id: string) => kept.delete(id),
  };
}
