import type { Logger } from 'pino';
import { textCard } from '../shared/card.ts';
import { forgetOldest } from '../shared/forget-oldest.ts';
import {
  type AnswerPart,
  type CommandAnswer,
  type CommandResult,
  type Invocation,
  toAsker,
} from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import type { openPressed } from '../shared/seen-invocations.ts';
import { shortened } from '../shared/text-format.ts';
import type { Call, Command, Once } from './command.ts';

/** People click twice, and phones send twice. */
const DOUBLE_CLICK_MS = 2_000;

const MAX_FIRST_PRESSES = 10_000;

interface FirstPress {
  person: string;
  name: string;
  atMs: number;
}

/**
 * Runs commands of buttons once for all presses with the key of `Command.once`. States of a key:
 *
 * - free. The first press claims it, durably, before its command runs.
 * - claimed. Further presses are refused. If the process dies, the key is free again.
 * - finished, when the command has run, or its answer's end is about to be shown. Further presses are refused for `keepMs`.
 * - free again, if the command failed, or the platform couldn't show its answer.
 */
export class PressClaims {
  private readonly claims: ReturnType<typeof openPressed>;
  private readonly log: Logger;
  /** By key, in memory only, oldest evicted first. */
  private readonly first = new Map<string, FirstPress>();

  constructor(claims: ReturnType<typeof openPressed>, log: Logger) {
    this.claims = claims;
    this.log = log;
  }

  /** Runs the command, unless it is a further press. Throws what the command throws. */
  async run(command: Command, input: Record<string, unknown>, call: Call): Promise<CommandResult> {
    const { invocation } = call;
    if (invocation.pressed === undefined) return await command.run(input, call);
    const once = command.once?.(input, invocation);
    const { key, keepMs } = once ?? doubleClick(command, input, invocation);
    const before = this.first.get(key);
    // Another press may come before the claim is durable.
    if (!before) this.remember(key, invocation);
    if (!(await this.claims.claim(key))) {
      if (!before) this.first.delete(key);
      return once ? refusal(once, invocation, before) : { kind: 'nothing' };
    }
    this.remember(key, invocation);
    const finish = () => this.mark(this.claims.finish(key, keepMs));
    const release = async () => {
      this.first.delete(key);
      await this.mark(this.claims.release(key));
    };
    try {
      const result = await command.run(input, call);
      if (result.kind === 'answer') return claimedAnswer(result, { finish, release });
      await finish();
      return result;
    } catch (error) {
      await release();
      throw error;
    }
  }

  private remember(key: string, { person: { id, name } }: Invocation): void {
    this.first.delete(key);
    this.first.set(key, { person: id, name, atMs: performance.now() });
    forgetOldest(this.first, MAX_FIRST_PRESSES);
  }

  /** Never rejects: the press is handled anyway. */
  private async mark(marking: Promise<unknown>): Promise<void> {
    try {
      await marking;
    } catch (error) {
      this.log.error({ err: error }, 'could not mark a press as handled');
    }
  }
}

function refusal(
  { shown }: Once,
  { person }: Invocation,
  before: FirstPress | undefined,
): CommandResult {
  const isSame = before?.person === person.id;
  if (isSame && performance.now() - before.atMs < DOUBLE_CLICK_MS) return { kind: 'nothing' };
  const who = isSame ? 'You' : before ? shortened(before.name, 80) : 'Someone';
  const text = `${who} pressed this first. ${shown}`.trim();
  return toAsker(textCard('info', 'Already pressed', text));
}

function doubleClick(
  { name }: Command,
  input: Record<string, unknown>,
  { person, place, pressed }: Invocation,
): Pick<Once, 'key' | 'keepMs'> {
  const key = JSON.stringify([name, input, placeKey(place), pressed, person.id]);
  return { key, keepMs: DOUBLE_CLICK_MS };
}

interface Claim {
  finish(): Promise<void>;
  release(): Promise<void>;
}

/** An answer whose press is finished right before its end is shown, or when the platform stops reading. */
function claimedAnswer(answer: CommandAnswer, { finish, release }: Claim): CommandAnswer {
  async function* stream(
    thread: string | undefined,
    signal?: AbortSignal,
  ): AsyncGenerator<AnswerPart> {
    let isFinished = false;
    try {
      for await (const part of answer.stream(thread, signal)) {
        if (part.kind === 'end') {
          await finish();
          isFinished = true;
        }
        yield part;
      }
    } finally {
      if (!isFinished) await finish();
    }
  }
  return {
    ...answer,
    stream,
    notShown() {
      answer.notShown?.();
      void release();
    },
  };
}
