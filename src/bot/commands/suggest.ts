import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Monitor } from '../../contracts/monitoring.ts';
import { chatModels, isServed } from '../ask/catalog.ts';
import { matches, tagsOf } from '../channels/monitor-filter.ts';
import { isDown } from '../shared/status.ts';
import { shownTarget } from '../shared/target-link.ts';
import type { Call, Field } from './command.ts';

export interface Suggestion {
  /** Plain text that may contain anything. */
  label: string;
  value: string;
}

/** Suggestions for the text typed so far into an input, best first. Never throws, and waits at most `WAIT_MS` for a service. */
export type Suggest = (input: string, typed: string) => Promise<Suggestion[]>;

/** Suggestions with unique values that the platform shows whole. Pure. */
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

/** Names of inputs with suggestions, in every command. */
const SUGGESTED = ['model', 'monitor', 'filter', 'tags'];

export const isSuggested = ({ name, kind }: Field) => kind === 'text' && SUGGESTED.includes(name);

/** Every letter is a request, but lists are read only this often. */
const FRESH_MS = 10_000;

/** Discord waits three seconds. Source: Discord docs, "Receiving and Responding". */
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
    if (input === 'tags') {
      const [, before = '', last = ''] = /^(.*,)?\s*(.*)$/s.exec(text.toLowerCase()) ?? [];
      const found = tagsOf(await monitors()).filter((tag) => tag.startsWith(last));
      return found.map((tag) => ({ label: before + tag, value: before + tag }));
    }
    const found = (await monitors()).filter((one) => matches(one, { text }) || one.id === text);
    const chosen = ({ id, name }: Monitor) => (input === 'monitor' ? id : name);
    return inOrder(found, text).map((one) => ({ label: labelOf(one), value: chosen(one) }));
  };
}

const labelOf = ({ name, status, target }: Monitor) =>
  `${name} · ${status} · ${shownTarget(target)}`;

/** Names that begin with the text first, then DOWN ones. */
function inOrder(monitors: readonly Monitor[], text: string): Monitor[] {
  const rank = (one: Monitor) =>
    (one.name.toLowerCase().startsWith(text.toLowerCase()) ? 0 : 2) + (isDown(one) ? 0 : 1);
  return [...monitors].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en'));
}

/** The latest list, loaded again after `freshMs`. Never throws; after `WAIT_MS` it resolves to the list before. */
export function createKnown<T>(
  load: () => Promise<readonly T[]>,
  log: Logger,
  freshMs = FRESH_MS,
): () => Promise<readonly T[]> {
  let latest: readonly T[] = [];
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;

  async function reload() {
    try {
      latest = await load();
    } catch (error) {
      log.debug({ err: error }, 'could not load suggestions');
    }
    loading = undefined;
  }

  return async () => {
    if (!loading && performance.now() - loadedAtMs >= freshMs) {
      loadedAtMs = performance.now();
      loading = reload();
    }
    if (loading) await Promise.race([loading, pause(WAIT_MS, undefined, { ref: false })]);
    return latest;
  };
}
