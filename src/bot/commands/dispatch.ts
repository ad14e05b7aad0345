import type { UnfinishedAnswers } from '../ask/unfinished-answers.ts';
import type { Card } from '../shared/card.ts';
import type {
  AnswerPart,
  CommandAnswer,
  CommandResult,
  Invocation,
  Reply,
} from '../shared/invocation.ts';
import type { Person, Place } from '../shared/place.ts';
import { requireRight } from '../shared/rights.ts';
import type { SeenInvocations } from '../shared/seen-invocations.ts';
import { checkInput } from './check-input.ts';
import type { Call, Command, FormBegin } from './command.ts';
import { errorCard, failedCard } from './error-card.ts';
import type { Claim, PressClaims } from './press-claims.ts';
import { readLine } from './text-input.ts';
import { problemCard, unknownCard, usageCard } from './usage-cards.ts';

/** What commands are given besides their input; each call adds who and where. */
export type Services = Omit<Call, 'invocation' | 'place' | 'person'>;

/** Checks, refuses repeats, runs the command. Never throws; every error becomes a card. */
export type Dispatch = (invocation: Invocation) => Promise<Reply>;

/** How the form of a command begins for somebody; a card says why they get none. Never throws. */
export type OpenForm = (
  command: Command,
  where: { place: Place; person: Person },
) => Promise<{ begin: FormBegin } | { card: Card }>;

/** The one door: refuses repeats, finds the command, checks its input, runs it. Never throws; every error becomes a card. */
export function createDispatch(
  services: Services,
  {
    seenInvocations,
    pressClaims,
    unfinished,
  }: {
    seenInvocations: SeenInvocations;
    pressClaims: PressClaims;
    unfinished: Pick<UnfinishedAnswers, 'noted'>;
  },
): Dispatch {
  const { log } = services;

  async function finished(marking: Promise<void>) {
    try {
      await marking;
    } catch (error) {
      log.error({ err: error }, 'a gesture was handled but could not be marked so');
    }
  }

  return async (invocation) => {
    try {
      if (!(await seenInvocations.claim(invocation.id))) return { kind: 'nothing' };
    } catch (error) {
      return toAsker(failedCard('a gesture could not be noted, so nothing was done', error, log));
    }
    const reply = await answer(invocation);
    if (reply.kind === 'answer') {
      return unfinished.noted(
        finishing(reply, () => finished(seenInvocations.finish(invocation.id))),
        invocation,
      );
    }
    await finished(seenInvocations.finish(invocation.id));
    return reply;
  };

  /** What comes of a command; a press that another one came before does nothing. */
  async function run(command: Command, input: Record<string, unknown>, call: Call) {
    const claim = await pressClaims.claim(command, input, call.invocation);
    if (claim && 'second' in claim) {
      return claim.second ? toAsker(claim.second) : ({ kind: 'nothing' } as const);
    }
    try {
      const outcome = await command.run(input, call);
      if (claim && outcome.kind === 'answer') {
        return claimed(outcome, {
          finish: () => finished(claim.finish()),
          giveBack: () => finished(claim.giveBack()),
        });
      }
      await (claim && finished(claim.finish()));
      return outcome;
    } catch (error) {
      await (claim && finished(claim.giveBack()));
      throw error;
    }
  }

  async function answer(invocation: Invocation): Promise<CommandResult> {
    const asked = read(invocation.request, services);
    if ('card' in asked) return toAsker(asked.card);
    const { command, values } = asked;
    const { right } = command;
    const isTyped = services.commands.includes(command);
    const { place, person } = invocation;
    const call = { ...services, invocation, place, person };
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
}

/** Opens forms: how one begins for somebody, or why they get none. */
export function createOpenForm(services: Services): OpenForm {
  return async (command, { place, person }) => {
    const { form, right } = command;
    const call = { ...services, place, person };
    try {
      if (right !== 'anyone') await requireRight(right, call);
      return { begin: (await form?.begin?.(call)) ?? {} };
    } catch (error) {
      return { card: errorCard(error, command, { isTyped: true, log: services.log }) };
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

function toAsker(card: Card): CommandResult & Reply {
  return { kind: 'card', card, private: true };
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

/** An answer is handled when its last part is about to be shown, or when the platform stops reading. */
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
