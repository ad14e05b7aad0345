import { z } from 'zod';
import type { FolderPart, RawFolder } from '../raw-state.ts';
import { dayOf } from './day-file.ts';
import { BATCH_LENGTH, Batch, journalsOf, type StoredValue } from './registers.ts';

const Item = z.tuple([z.string(), z.looseObject({})]);

/**
 * The newest value of each thing of these registers. Which journal it stands in, and what came before, is the files' own
 * business: moved here, all stands in one of the two, as after a compaction.
 */
export function registersInFolder(names: readonly string[]): FolderPart {
  return {
    journals: names.flatMap(journalsOf),
    collections: [],
    in: (folder) => ({
      name: 'registers',
      async groups() {
        const groups: string[] = [];
        for (const name of names) if ((await newestIn(folder, name)).size > 0) groups.push(name);
        return groups;
      },
      async *read(name) {
        for (const stored of (await newestIn(folder, name)).values()) {
          const { monitor: id, revision: _, ...value } = stored;
          yield JSON.stringify([id, value]);
        }
      },
      async replace(name, items) {
        const [first = '', ...others] = journalsOf(name);
        const atMs = Date.now();
        const today = dayOf(atMs);
        for (const journal of [first, ...others]) {
          for (const day of await folder.days(journal)) {
            await folder.replaceRecords(journal, day, none());
          }
        }
        await folder.replaceRecords(first, today, batchesOf(items, atMs));
      },
    }),
  };
}

async function newestIn(folder: RawFolder, name: string): Promise<Map<string, StoredValue>> {
  const newest = new Map<string, StoredValue>();
  for (const journal of journalsOf(name)) {
    for (const day of await folder.days(journal)) {
      for await (const record of folder.records(journal, day)) {
        for (const stored of Batch.parse(record).states) {
          const before = newest.get(stored.monitor);
          if (!before || stored.revision >= before.revision) newest.set(stored.monitor, stored);
        }
      }
    }
  }
  return newest;
}

async function* batchesOf(items: AsyncIterable<string>, atMs: number): AsyncGenerator<Batch> {
  let states: StoredValue[] = [];
  let length = 0;
  for await (const item of items) {
    const [monitor, value] = Item.parse(JSON.parse(item));
    states.push({ ...value, monitor, revision: 1 });
    length += item.length;
    if (length < BATCH_LENGTH) continue;
    yield { atMs, states };
    states = [];
    length = 0;
  }
  if (states.length > 0) yield { atMs, states };
}

async function* none(): AsyncGenerator<never> {}
