import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Monitor } from '../../contracts/monitoring.ts';
import { chatModels, isServed } from '../ask/catalog.ts';
import { matches } from '../channels/channels.ts';
import { isDown } from '../shared/status.ts';
import { shownTarget } from '../shared/target-link.ts';
import type { Call, Field } from './command.ts';

/** Something to choose while one types. */
export interface Suggestion {
  /** For showing; it can hold anything. */
  label: string;
  value: string;
}

/**
 * What goes with the text typed so far into an input, best first; nothing for inputs that are not offered. Never throws,
 * and takes at most a second and a half, whatever the services do: then what they said last is offered.
 */
export type Suggest = (input: string, typed: string) => Promise<Suggestion[]>;

/** Suggestions as a platform takes them: no two of one value, none that is empty or too long to mean the same. Pure. */
export function fittingSuggestions(
  suggestions: readonly Suggestion[],
  { max, maxValueLength }: { max: number; maxValueLength: number },
): Suggestion[] {
  const byValue = new Map<string, Suggestion>();
  for (const one of suggestions) {
    if (byValue.size === max) break;
    const { value } = one;
    if (value.trim() !== '' && value.length <= maxValueLength && !byValue.has(value)) {
      byValue.set(value, one);
    }
  }
  return [...byValue.values()];
}

/** Inputs with something to offer, by name; they are named alike in every command. */
const SUGGESTED = ['model', 'monitor', 'filter'];

/** Whether there is something to offer for an input of a command. */
export const isSuggested = ({ name, kind }: Field) => kind === 'text' && SUGGESTED.includes(name);

/** Every typed letter asks anew; the service is asked at most so often. */
const FRESH_MS = 10_000;

/** Discord waits three seconds in all. Source: Discord docs, "Receiving and Responding". */
const WAIT_MS = 1_500;

export function createSuggest({
  monitoring,
  catalog,
  log,
}: Pick<Call, 'monitoring' | 'catalog' | 'log'>): Suggest {
  const monitors = createKnown(() => monitoring.list(), log);
  const models = createKnown(async () => chatModels(await catalog.models()), log);

  return async (input, typed) => {
    const text = typed.trim();
    if (input === 'model') {
      const found = (await models()).filter(({ id }) =>
        id.toLowerCase().includes(text.toLowerCase()),
      );
      const offered = [...found.filter(isServed), ...found.filter((one) => !isServed(one))];
      return offered.map((one) => ({
        label: isServed(one) ? one.id : `${one.id} · not available now`,
        value: one.id,
      }));
    }
    if (!SUGGESTED.includes(input)) return [];
    const found = (await monitors()).filter((one) => matches(one, text) || one.id === text);
    const chosen = ({ id, name }: Monitor) => (input === 'monitor' ? id : name);
    return inOrder(found, text).map((one) => ({ label: labelOf(one), value: chosen(one) }));
  };
}

const labelOf = ({ name, status, target }: Monitor) =>
  `${name} · ${status} · ${shownTarget(target)}`;

/** Names that begin like the text first, then what is DOWN. */
function inOrder(monitors: readonly Monitor[], text: string): Monitor[] {
  const rank = (one: Monitor) =>
    (one.name.toLowerCase().startsWith(text.toLowerCase()) ? 0 : 2) + (isDown(one) ? 0 : 1);
  return [...monitors].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en'));
}

/** A list as it was last known. It is asked for again when it is no longer fresh, and waited for only so long. */
/** What was asked for last, renewed when it is older than `freshMs`. Never throws, and takes at most a second and a half. */
export function createKnown<T>(
  ask: () => Promise<readonly T[]>,
  log: Logger,
  freshMs = FRESH_MS,
): () => Promise<readonly T[]> {
  let known: readonly T[] = [];
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  async function renew() {
    try {
      known = await ask();
    } catch (error) {
      log.debug({ err: error }, 'could not load suggestions');
    }
    asking = undefined;
  }

  return async () => {
    if (!asking && performance.now() - askedAtMs >= freshMs) {
      askedAtMs = performance.now();
      asking = renew();
    }
    await Promise.race([asking, pause(WAIT_MS, undefined, { ref: false })]);
    return known;
  };
}
