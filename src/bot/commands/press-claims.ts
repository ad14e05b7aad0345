import type { Card } from '../shared/card.ts';
import type { Invocation } from '../shared/invocation.ts';
import { placeKey } from '../shared/place.ts';
import type { SeenInvocations } from '../shared/seen-invocations.ts';
import { shortened } from '../shared/text-format.ts';
import type { Command, Once } from './command.ts';

/** Lets a press of a button act once, where several presses mean one and the same. */
export interface PressClaims {
  /**
   * Claims a press, durably, before it acts. A second one gets what its person is told, where anything is worth saying.
   * `undefined` for what is no press.
   */
  claim(
    command: Command,
    input: Record<string, unknown>,
    invocation: Invocation,
  ): Promise<Claim | { second: Card | undefined } | undefined>;
}

/** A press that acts. */
export interface Claim {
  /** It came to its end: further presses are refused as long as they mean the same. */
  finish(): Promise<void>;
  /** It came to nothing, so another press may try. */
  giveBack(): Promise<void>;
}

/** A second press of one person within this time is the same press: people click twice, and phones send twice. */
const DOUBLE_MS = 2_000;

/** Those who pressed first, by name, in memory only; the oldest are forgotten first. */
const MAX_FIRST = 10_000;

/** Claims over the seen invocations. A claim of a process that died before its end may be claimed again. */
export function createPressClaims(
  seenInvocations: SeenInvocations,
  nowMs: () => number = () => performance.now(),
): PressClaims {
  const first = new Map<string, { person: string; name: string; atMs: number }>();

  function remember(key: string, { person: { id, name } }: Invocation) {
    first.delete(key);
    first.set(key, { person: id, name, atMs: nowMs() });
    for (const oldest of first.keys()) {
      if (first.size <= MAX_FIRST) break;
      first.delete(oldest);
    }
  }

  function second(key: string, { shown }: Once, { person }: Invocation): Card | undefined {
    const before = first.get(key);
    const isSame = before?.person === person.id;
    if (isSame && nowMs() - before.atMs < DOUBLE_MS) return undefined;
    const who = isSame ? 'You' : before ? shortened(before.name, 80) : 'Somebody';
    return {
      tone: 'info',
      title: 'Pressed already',
      parts: [{ kind: 'text', text: `${who} pressed this first. ${shown}`.trim() }],
    };
  }

  return {
    async claim(command, input, invocation) {
      if (invocation.pressed === undefined) return undefined;
      const once = command.once?.(input, invocation);
      const all = once ?? doubleClick(command, input, invocation);
      const id = `press:${all.key}`;
      const before = first.get(id);
      // Known before it is durable: another press may come meanwhile.
      remember(id, invocation);
      if (!(await seenInvocations.claim(id))) {
        if (before) first.set(id, before);
        else first.delete(id);
        return { second: once && second(id, once, invocation) };
      }
      remember(id, invocation);
      return {
        finish: () => seenInvocations.finish(id, all.keepMs),
        async giveBack() {
          first.delete(id);
          await seenInvocations.giveBack(id);
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
