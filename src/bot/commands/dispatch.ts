import type { UnfinishedAnswers } from '../ask/unfinished-answers.ts';
import { type Card, textCard } from '../shared/card.ts';
import { forgetOldest } from '../shared/forget-oldest.ts';
import {
  type AnswerPart,
  type CommandAnswer,
  type CommandResult,
  type Invocation,
  type Reply,
  toAsker,
} from '../shared/invocation.ts';
import { type Person, type Place, placeKey } from '../shared/place.ts';
import { requireRight } from '../shared/rights.ts';
import type { openPressed, SeenInvocations, StoredHandling } from '../shared/seen-invocations.ts';
import { shortened } from '../shared/text-format.ts';
import { askAboutCommand } from './ask-about.ts';
import { askCommand } from './ask-command.ts';
import type { Call, Command, FormBegin, Once } from './command.ts';
import { checkInput, readLine } from './command-input.ts';
import { errorCard, failedCard } from './error-card.ts';
import { problemCard, unknownCard, usageCard } from './usage-cards.ts';

/** What commands are given besides their input; each call adds who and where. */
export type Services = Omit<Call, 'invocation' | 'handling' | 'place' | 'person'>;

/**
 * Checks, refuses repeats, runs the command. Never throws; every error becomes a card. `onStored` is called once the invocation,
 * or the one that it repeats, is stored: the platform may acknowledge it then, since after a kill its person gets a note. It is
 * not called if storing failed; the reply says so.
 */
export type Dispatch = (invocation: Invocation, onStored?: () => void) => Promise<Reply>;

/** How the form of a command begins for somebody; a card says why they get none. Never throws. */
export type OpenForm = (
  command: Command,
  where: {
    place: Place;
    person: Person;
    thread?: string;
    carried?: Record<string, string>;
  },
) => Promise<{ begin: FormBegin } | { card: Card }>;

/** The form that a press of a button opens, what that carries and how it begins. */
export interface PressedForm {
  command: Command;
  carried: Record<string, string>;
  begin: FormBegin;
}

/**
 * The form that a press of a button opens besides what it does; to be asked for before that is done. None for most, for whom
 * `whereOf` is not asked, and for those who get none now. Never throws.
 */
export type FormOfPress = (
  request: Invocation['request'],
  whereOf: () => Promise<{ place: Place; person: Person; thread?: string }>,
) => Promise<PressedForm | undefined>;

/** The one door: refuses repeats, finds the command, checks its input, runs it. */
export function createDispatch(
  services: Services,
  options: {
    seenInvocations: SeenInvocations;
    pressed: ReturnType<typeof openPressed>;
    unfinished: Pick<UnfinishedAnswers, 'track'>;
  },
): Dispatch {
  const { seenInvocations, pressed, unfinished } = options;
  const { log } = services;
  const marked: Marked = async (marking) => {
    try {
      await marking;
    } catch (error) {
      log.error({ err: error }, 'could not mark an invocation as handled');
    }
  };
  const pressClaims = createPressClaims(pressed, marked);

  /** The facts on which the note for an interrupted invocation depends. */
  function kindOf(request: Invocation['request']) {
    const asked = read(request, services);
    if ('card' in asked) {
      const isPrivate = 'line' in request && /\bprivate\b/i.test(request.line);
      return { isQuestion: false, private: isPrivate };
    }
    const { private: only } = asked.values;
    return {
      isQuestion: [askCommand.name, askAboutCommand.name].includes(asked.command.name),
      private: only !== undefined && only !== false && only !== 'false' && only !== 'no',
    };
  }

  /** What comes of a command; a press that another one came before does nothing. */
  async function run(command: Command, input: Record<string, unknown>, call: Call) {
    const claim = await pressClaims.claim(command, input, call.invocation);
    if (claim && 'second' in claim) {
      return claim.second ? toAsker(claim.second) : ({ kind: 'nothing' } as const);
    }
    try {
      const outcome = await command.run(input, call);
      if (claim && outcome.kind === 'answer') return claimed(outcome, claim);
      await claim?.finish();
      return outcome;
    } catch (error) {
      await claim?.giveBack();
      throw error;
    }
  }

  async function answer(invocation: Invocation, handling: StoredHandling): Promise<CommandResult> {
    const asked = read(invocation.request, services);
    if ('card' in asked) return toAsker(asked.card);
    const { command, values } = asked;
    const { right } = command;
    const isTyped = services.commands.includes(command);
    const { place, person } = invocation;
    const call = { ...services, invocation, handling, place, person };
    try {
      // Whoever may not is told so, not how it is typed.
      if (right !== 'anyone' && !right.when) await requireRight(right, call);
      const checked = checkInput(command, values);
      if (!checked.ok) {
        const bare = Object.values(values).every((value) => value === undefined || value === '');
        return toAsker(bare ? usageCard(command) : problemCard(command, checked.problems));
      }
      if (right !== 'anyone' && right.when?.(checked.input)) await requireRight(right, call);
      return await run(command, checked.input, call);
    } catch (error) {
      return toAsker(errorCard(error, command, { isTyped, log }));
    }
  }

  return async (invocation, onStored) => {
    let handling: StoredHandling | undefined;
    try {
      handling = await seenInvocations.once(invocation, kindOf(invocation.request));
      onStored?.();
      if (!handling) return { kind: 'nothing' };
    } catch (error) {
      return toAsker(failedCard('could not store an invocation, so nothing was done', error, log));
    }
    const reply = await answer(invocation, handling);
    if (reply.kind === 'answer') return unfinished.track(reply, invocation, handling);
    await marked(seenInvocations.finish(invocation.id));
    return reply;
  };
}

/** Opens forms: how one begins for somebody, or why they get none. */
export function createOpenForm(services: Services): OpenForm {
  return async (command, { place, person, thread, carried = {} }) => {
    const { form, right } = command;
    const call = { ...services, place, person, thread, carried };
    try {
      if (right !== 'anyone') await requireRight(right, call);
      return { begin: (await form?.begin?.(call)) ?? {} };
    } catch (error) {
      return { card: errorCard(error, command, { isTyped: true, log: services.log }) };
    }
  };
}

/** Finds the forms that presses open. */
export function createFormOfPress(
  services: Services,
  { forms, openForm }: { forms: readonly Command[]; openForm: OpenForm },
): FormOfPress {
  const { actions, log } = services;
  return async (request, whereOf) => {
    if (!('command' in request)) return undefined;
    const pressed = actions.find(({ name }) => name === request.command);
    const checked = pressed?.opens && checkInput(pressed, request.values);
    if (!checked?.ok) return undefined;
    try {
      const where = await whereOf();
      const opens = await pressed?.opens?.(checked.input, { ...services, ...where });
      const command = opens && forms.find(({ name }) => name === opens.form);
      if (!command) return undefined;
      const { carried } = opens;
      const opened = await openForm(command, { ...where, carried });
      return 'card' in opened ? undefined : { command, carried, begin: opened.begin };
    } catch (error) {
      log.warn({ err: error }, 'could not open the form of a button');
      return undefined;
    }
  };
}

type Asked = { command: Command; values: Record<string, unknown> } | { card: Card };

function read(
  request: Invocation['request'],
  { commands, actions }: Pick<Services, 'commands' | 'actions'>,
): Asked {
  if ('command' in request) {
    const command = [...commands, ...actions].find(({ name }) => name === request.command);
    return command
      ? { command, values: request.values }
      : { card: unknownCard(request.command, commands) };
  }
  const line = readLine(request.line, commands);
  if (line.kind === 'command') return { command: line.command, values: line.values };
  if (line.kind === 'problem') return { card: problemCard(line.command, [line.problem]) };
  return { card: unknownCard(line.typed, line.near) };
}

/** The press that asked for an answer ends with it; where no end of it could be shown, another press may try. */
function claimed(answer: CommandAnswer, claim: Claim): CommandAnswer {
  return {
    ...finishing(answer, claim.finish),
    notShown() {
      answer.notShown?.();
      void claim.giveBack();
    },
  };
}

/** A press is handled when the last part of its answer is about to be shown, or when the platform stops reading. */
function finishing(answer: CommandAnswer, finish: () => Promise<void>): CommandAnswer {
  async function* stream(
    thread: string | undefined,
    signal?: AbortSignal,
  ): AsyncGenerator<AnswerPart> {
    let finished = false;
    try {
      for await (const part of answer.stream(thread, signal)) {
        if (part.kind === 'end') {
          await finish();
          finished = true;
        }
        yield part;
      }
    } finally {
      if (!finished) await finish();
    }
  }
  return { ...answer, stream };
}

/** Waits until something is marked as handled; an error is logged, since it is handled all the same. */
type Marked = (marking: Promise<unknown>) => Promise<void>;

/** A press that acts. Neither rejects. */
interface Claim {
  /** It came to its end: further presses are refused as long as they mean the same. */
  finish(): Promise<void>;
  /** It came to nothing, so another press may try. */
  giveBack(): Promise<void>;
}

/** A second press of one person within this time is the same press: people click twice, and phones send twice. */
const DOUBLE_MS = 2_000;

/** Those who pressed first, by name, in memory only; the oldest are forgotten first. */
const MAX_FIRST = 10_000;

/**
 * Lets a press of a button act once, where several presses mean one and the same. A claim of a process that died before its
 * end may be claimed again.
 */
function createPressClaims(pressed: ReturnType<typeof openPressed>, marked: Marked) {
  const first = new Map<string, { person: string; name: string; atMs: number }>();

  function remember(key: string, { person: { id, name } }: Invocation) {
    first.delete(key);
    first.set(key, { person: id, name, atMs: performance.now() });
    forgetOldest(first, MAX_FIRST);
  }

  function second(key: string, { shown }: Once, { person }: Invocation): Card | undefined {
    const before = first.get(key);
    const isSame = before?.person === person.id;
    if (isSame && performance.now() - before.atMs < DOUBLE_MS) return undefined;
    const who = isSame ? 'You' : before ? shortened(before.name, 80) : 'Someone';
    return textCard('info', 'Already pressed', `${who} pressed this first. ${shown}`.trim());
  }

  return {
    /**
     * Claims a press, durably, before it acts. A second one gets what its person is told, where anything is worth saying.
     * `undefined` for what is no press.
     */
    async claim(
      command: Command,
      input: Record<string, unknown>,
      invocation: Invocation,
    ): Promise<Claim | { second: Card | undefined } | undefined> {
      if (invocation.pressed === undefined) return undefined;
      const once = command.once?.(input, invocation);
      const all = once ?? doubleClick(command, input, invocation);
      const id = all.key;
      const before = first.get(id);
      // Known before it is durable: another press may come meanwhile.
      remember(id, invocation);
      if (!(await pressed.claim(id))) {
        if (before) first.set(id, before);
        else first.delete(id);
        return { second: once && second(id, once, invocation) };
      }
      remember(id, invocation);
      return {
        finish: () => marked(pressed.finish(id, all.keepMs)),
        async giveBack() {
          first.delete(id);
          await marked(pressed.release(id));
        },
      };
    },
  };
}

/** The same person's press of the same button. */
function doubleClick(
  { name }: Command,
  input: Record<string, unknown>,
  { person, place, pressed }: Invocation,
): Once {
  const key = JSON.stringify([name, input, placeKey(place), pressed, person.id]);
  return { key, keepMs: DOUBLE_MS, shown: '' };
}
