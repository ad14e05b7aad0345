import { keyOf } from '../claims.ts';
import type { FolderPart, RawFolder } from '../raw-state.ts';
import type { StateItem } from '../state.ts';
import { STATES_PART, StateText } from '../state-items.ts';
import { dayOf } from './day-file.ts';
import { chainIn, PART_LENGTH, partsIn, stateJournals, UpdatePart } from './state.ts';

/** What has to be known of a state to take it apart. */
interface Declared {
  name: string;
  itemOf(step: never): StateItem<unknown>;
}

/**
 * These states, as what they came to. Which updates led there is the files' own business: moved here, a state is one whole
 * update, as after a compaction.
 */
export function statesInFolder(states: readonly Declared[]): FolderPart {
  function named(name: string): Declared {
    const found = states.find((one) => one.name === name);
    if (!found) throw new Error(`A data folder has no state named '${name}'.`);
    return found;
  }
  return {
    journals: states.flatMap(({ name }) => stateJournals(name)),
    collections: [],
    in: (folder) => ({
      name: STATES_PART,
      async groups() {
        const groups: string[] = [];
        for (const { name } of states)
          if ((await lastIn(folder, name)).length > 0) groups.push(name);
        return groups;
      },
      async *read(name) {
        const parts = await lastIn(folder, name);
        const last = parts.at(-1);
        if (!last) return;
        yield JSON.stringify({ rest: last.rest });
        let no = 0;
        for (const [key, { inside, step }] of itemsOf(parts, named(name).itemOf)) {
          yield JSON.stringify([no, key, inside, step]);
          no += 1;
        }
      },
      async replace(name, items) {
        const [first, second] = stateJournals(name);
        const atMs = Date.now();
        const today = dayOf(atMs);
        const parts = await partsOf(items, atMs);
        for (const journal of [first, second]) {
          for (const day of await folder.days(journal)) {
            await folder.replaceRecords(journal, day, each([]));
          }
        }
        await folder.replaceRecords(first, today, each(parts));
      },
    }),
  };
}

/** The parts of the updates that lead to the last state. */
async function lastIn(folder: RawFolder, name: string): Promise<UpdatePart[]> {
  const { chain } = await chainIn(
    name,
    stateJournals(name).map((journal) => ({
      async *read() {
        for (const day of await folder.days(journal)) {
          for await (const record of folder.records(journal, day)) {
            yield UpdatePart.parse(record) as UpdatePart;
          }
        }
      },
    })),
  );
  return [...partsIn(chain)];
}

/** The items as they are in the end, in their order. */
function itemsOf(parts: readonly UpdatePart[], itemOf: Declared['itemOf']) {
  const items = new Map<string, { inside: string | null; step: unknown }>();
  /** What is inside of each. */
  const inner = new Map<string, Set<string>>();
  for (const step of parts.flatMap(({ steps }) => steps)) {
    const { key: ownKey, inside: outer, removal } = itemOf(step as never);
    const key = keyOf(ownKey);
    const inside = outer === undefined ? null : keyOf(outer);
    if (removal === undefined) {
      for (const one of [key, ...(inner.get(key) ?? [])]) items.delete(one);
      inner.delete(key);
      continue;
    }
    items.set(key, { inside, step });
    if (inside !== null) inner.set(inside, (inner.get(inside) ?? new Set()).add(key));
  }
  return items;
}

async function partsOf(items: AsyncIterable<string>, atMs: number): Promise<UpdatePart[]> {
  let rest: unknown;
  let steps: unknown[] = [];
  const all = [steps];
  let length = 0;
  for await (const text of items) {
    const item = StateText.parse(JSON.parse(text));
    if ('rest' in item) {
      rest = item.rest;
      continue;
    }
    if (length > PART_LENGTH) {
      steps = [];
      all.push(steps);
      length = 0;
    }
    steps.push(item[3]);
    length += text.length;
  }
  return all.map((steps, part) => ({ atMs, number: 1, part, parts: all.length, rest, steps }));
}

async function* each<T>(items: readonly T[]) {
  yield* items;
}
