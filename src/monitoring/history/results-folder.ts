import type { FolderPart, RawFolder } from '../../store/raw-state.ts';
import {
  fromSeriesItem,
  SERIES_PART,
  seriesGroup,
  seriesItem,
  startOfSeriesGroup,
} from '../../store/series.ts';
import { HOUR_MS } from '../time/clock.ts';
import { HISTORY_STATE } from './history.ts';
import { createNames, type Entry, entriesFromText, entriesToText } from './result-record.ts';
import { Batch, journalOfHour, OLD_JOURNAL } from './results-journal.ts';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** Entries in one record: far below what a record of a journal takes, even with the longest reasons. */
const BATCH_COUNT = 500;

/** The run that wrote what was moved: none that starts later. */
const MOVED_RUN = 'moved';

/** Results of checks as a data folder keeps them: texts of many, in a file of each hour. */
export const resultsInFolder: FolderPart = {
  // Nobody reads what version 0.1 has left.
  journals: [...HOURS.map(journalOfHour), OLD_JOURNAL],
  collections: [HISTORY_STATE.name],
  in: (folder) => ({
    name: SERIES_PART,
    async groups() {
      const groups: string[] = [];
      for (const hour of HOURS) {
        const days = await folder.days(journalOfHour(hour));
        groups.push(...days.map((day) => seriesGroup(Date.parse(day) + hour * HOUR_MS)));
      }
      return groups;
    },
    async *read(group) {
      const { journal, day } = where(group);
      const names = createNames();
      for await (const record of folder.records(journal, day)) {
        for (const entry of entriesFromText(Batch.parse(record), names)) yield seriesItem(entry);
      }
    },
    async replace(group, items) {
      const { journal, day, startMs } = where(group);
      await openFrom(folder, startMs);
      await folder.replaceRecords(journal, day, batchesOf(items));
    },
  }),
};

function where(group: string) {
  const startMs = startOfSeriesGroup(group);
  const start = new Date(startMs);
  const journal = journalOfHour(start.getUTCHours());
  return { journal, day: start.toISOString().slice(0, 10), startMs };
}

/**
 * Has the next start count from the oldest result that there is. It leaves out what stands in the stored hours of a monitor,
 * which every engine stores on its own time; without this it would leave out older hours that are not stored yet.
 */
async function openFrom(folder: RawFolder, startMs: number): Promise<void> {
  const { name, id, version, schema } = HISTORY_STATE;
  const before = schema.safeParse(await folder.document(name, id)).data?.openSinceMs;
  if (before !== undefined && before <= startMs) return;
  await folder.putDocument(name, { id, version, document: { openSinceMs: startMs } });
}

/** In order of time, as they were written once: a table gives them by monitors. */
async function* batchesOf(items: AsyncIterable<string>): AsyncGenerator<Batch> {
  const names = createNames();
  const entries: Entry[] = [];
  for await (const item of items) {
    const entry = fromSeriesItem(item);
    entries.push({ ...entry, monitor: names.of(entry.monitor) });
  }
  entries.sort((a, b) => a.atMs - b.atMs);
  for (let at = 0; at < entries.length; at += BATCH_COUNT) {
    yield { ...entriesToText(entries.slice(at, at + BATCH_COUNT)), run: MOVED_RUN };
  }
}
