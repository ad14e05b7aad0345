import type { UnfinishedAnswers } from '../ask/unfinished-answers.ts';
import type { Card } from '../shared/card.ts';
import { type CommandResult, type Invocation, type Reply, toAsker } from '../shared/invocation.ts';
import type { Person, Place } from '../shared/place.ts';
import { requireRight } from '../shared/rights.ts';
import type { openPressed, SeenInvocations } from '../shared/seen-invocations.ts';
import { askAboutCommand } from './ask-about.ts';
import { askCommand } from './ask-command.ts';
import type { Call, Command, FormBegin } from './command.ts';
import { errorCard, failedCard, problemCard, unknownCard, usageCard } from './command-cards.ts';
import { type CheckedInput, checkInput, readLine } from './command-input.ts';
import { PressClaims } from './press-claims.ts';

/** Services for commands; each call adds the person and the place. */
export type Services = Omit<Call, 'invocation' | 'handling' | 'place' | 'person'>;

/**
 * Handles an invocation once. Never throws; errors become cards. `onStored` is called once the invocation is stored: the
 * platform may acknowledge it then, since after a kill its person gets a note. It isn't called if storing failed; the reply
 * says so.
 */
export type Dispatch = (invocation: Invocation, onStored?: () => void) => Promise<Reply>;

/** Reads the first state of a form, or a card that says why a person gets none. Never throws. */
export type OpenForm = (
  command: Command,
  where: {
    place: Place;
    person: Person;
    thread?: string;
    carried?: Record<string, string>;
  },
) => Promise<{ begin: FormBegin } | { card: Card }>;

/** A form that a button opens. */
export interface PressedForm {
  command: Command;
  carried: Record<string, string>;
  begin: FormBegin;
  /** The press does nothing but open the form. Dispatch it only if the form can't be shown. */
  isAll: boolean;
}

/** Finds the form that a press opens before it is dispatched. `whereOf` is called only if there may be one. Never throws. */
export type FormOfPress = (
  request: Invocation['request'],
  whereOf: () => Promise<{ place: Place; person: Person; thread?: string }>,
) => Promise<PressedForm | undefined>;

export function createDispatch(
  services: Services,
  options: {
    seenInvocations: SeenInvocations;
    pressed: ReturnType<typeof openPressed>;
    unfinished: Pick<UnfinishedAnswers, 'track'>;
  },
): Dispatch {
  const { seenInvocations, unfinished } = options;
  const { log } = services;
  const presses = new PressClaims(options.pressed, log);

  return async (invocation, onStored) => {
    const { id, place, person } = invocation;
    const request = readRequest(invocation.request, services);
    let handling: Awaited<ReturnType<SeenInvocations['once']>>;
    try {
      handling = await seenInvocations.once(invocation, kindOf(request));
      onStored?.();
      if (!handling) return { kind: 'nothing' };
    } catch (error) {
      return toAsker(failedCard('could not store an invocation, so nothing was done', error, log));
    }
    const call = { ...services, invocation, handling, place, person };
    const reply = await answer(request, presses, call);
    if (reply.kind === 'answer') return unfinished.track(reply, invocation, handling);
    try {
      await seenInvocations.finish(id);
    } catch (error) {
      log.error({ err: error }, 'could not mark an invocation as handled');
    }
    return reply;
  };
}

/** A request with its checked input, or the card for one that names no command. */
type CommandRequest =
  | { command: Command; values: Record<string, unknown>; checked: CheckedInput }
  | { card: Card };

function readRequest(
  request: Invocation['request'],
  { commands, actions }: Pick<Services, 'commands' | 'actions'>,
): CommandRequest {
  const of = (command: Command, values: Record<string, unknown>) => {
    return { command, values, checked: checkInput(command, values) };
  };
  if ('command' in request) {
    const command = [...commands, ...actions].find(({ name }) => name === request.command);
    return command ? of(command, request.values) : { card: unknownCard(request.command, commands) };
  }
  const line = readLine(request.line, commands);
  if (line.kind === 'command') return of(line.command, line.values);
  if (line.kind === 'problem') return { card: problemCard(line.command, [line.problem]) };
  return { card: unknownCard(line.typed, commands) };
}

/** The note after a restart depends on it. Only its person sees the reply to a mistake. */
function kindOf(request: CommandRequest): { isQuestion: boolean; private: boolean } {
  if ('card' in request) return { isQuestion: false, private: true };
  const { command, checked } = request;
  return {
    isQuestion: [askCommand, askAboutCommand].includes(command),
    private: !checked.ok || checked.input.private === true || checked.input.private === 'yes',
  };
}

async function answer(
  request: CommandRequest,
  presses: PressClaims,
  call: Call,
): Promise<CommandResult> {
  if ('card' in request) return toAsker(request.card);
  const { command, values, checked } = request;
  const { right } = command;
  try {
    // People without the right learn that, not how to type it.
    if (right !== 'anyone' && !right.when) await requireRight(right, call);
    if (!checked.ok) {
      const isBare = Object.values(values).every((value) => value === undefined || value === '');
      return toAsker(isBare ? usageCard(command) : problemCard(command, checked.problems));
    }
    if (right !== 'anyone' && right.when?.(checked.input)) await requireRight(right, call);
    return await presses.run(command, checked.input, call);
  } catch (error) {
    const isTyped = call.commands.includes(command);
    return toAsker(errorCard(error, command, { isTyped, log: call.log }));
  }
}

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

export function createFormOfPress(
  services: Services,
  { forms, openForm }: { forms: readonly Command[]; openForm: OpenForm },
): FormOfPress {
  const { commands, actions, log } = services;
  return async (request, whereOf) => {
    if (!('command' in request)) return undefined;
    const pressed = [...commands, ...actions].find(({ name }) => name === request.command);
    const checked = pressed?.opens && checkInput(pressed, request.values);
    if (!checked?.ok) return undefined;
    try {
      const where = await whereOf();
      const opens = await pressed?.opens?.(checked.input, { ...services, ...where });
      const command = opens && forms.find(({ name }) => name === opens.form);
      if (!command) return undefined;
      const opened = await openForm(command, { ...where, carried: opens.carried });
      if ('card' in opened) return undefined;
      const { begin } = opened;
      const { carried = opens.carried } = begin;
      return { command, carried, begin, isAll: command.name === request.command };
    } catch (error) {
      log.warn({ err: error }, 'could not open the form of a button');
      return undefined;
    }
  };
}
