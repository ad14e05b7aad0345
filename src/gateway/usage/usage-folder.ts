import type { FolderPart, RawFolder } from '../../store/raw-state.ts';
import type { UsageCounts, UsageRecord } from '../../store/usage.ts';
import {
  dayOfUsageGroup,
  fromUsageItem,
  USAGE_PART,
  usageGroup,
  usageItems,
} from '../../store/usage-items.ts';
import { createUsageSums } from '../../store/usage-sums.ts';
import { closedDays } from './days.ts';
import { BATCH_COUNT, pack, requestsIn, UsageBatch, usageJournal } from './journal.ts';

/** Usage as a data folder keeps it: requests in a journal, and of days that are over sums, which count where there are some. */
export const usageInFolder: FolderPart = {
  journals: [usageJournal.name],
  collections: [closedDays.name],
  in: (folder) => ({
    name: USAGE_PART,
    async groups() {
      const days = [
        ...(await folder.days(usageJournal.name)),
        ...(await folder.ids(closedDays.name)),
      ];
      return [...new Set(days)].map(usageGroup);
    },
    read(group) {
      const day = dayOfUsageGroup(group);
      return usageItems(requestsOf(folder, day), () => closedCounts(folder, day));
    },
    async replace(group, items) {
      const day = dayOfUsageGroup(group);
      const sums = createUsageSums();
      let isEmpty = true;
      let isMore = false;
      async function* batches() {
        let requests: UsageRecord[] = [];
        for await (const item of items) {
          isEmpty = false;
          const found = fromUsageItem(item);
          if ('rest' in found) {
            isMore = true;
            sums.addCounts(found.rest);
            continue;
          }
          sums.add(found.request);
          requests.push(found.request);
          if (requests.length < BATCH_COUNT) continue;
          yield pack(requests);
          requests = [];
        }
        if (requests.length > 0) yield pack(requests);
      }
      await folder.replaceRecords(usageJournal.name, day, batches());
      // Those of today are added up from the requests; those of other days would be, too, and slowly.
      const isClosed = day < new Date().toISOString().slice(0, 10);
      const document = !isEmpty && (isClosed || isMore) ? { counts: sums.list() } : undefined;
      await folder.putDocument(closedDays.name, { id: day, version: closedDays.version, document });
    },
  }),
};

async function* requestsOf(folder: RawFolder, day: string): AsyncGenerator<UsageRecord> {
  for await (const record of folder.records(usageJournal.name, day)) {
    yield* requestsIn(UsageBatch.parse(record));
  }
}

async function closedCounts(
  folder: RawFolder,
  day: string,
): Promise<readonly UsageCounts[] | undefined> {
  const stored = await folder.document(closedDays.name, day);
  return stored === undefined ? undefined : closedDays.schema.parse(stored).counts;
}
