import { type Series, SLOT_REACH_MS } from '../../store/series.ts';
import type { EntriesOfTime, EntrySource, Range } from './history-queries.ts';
import { snapshotOf } from './hourly-aggregator.ts';
import { isResult, RESULT } from './result-record.ts';
import type { Rollups } from './rollups.ts';
import type { SeriesWriter } from './series-writer.ts';
import type { StatusSince } from './uptime-accounting.ts';

/** Checks that overlap are in another order by slot than by time: this many at most. */
const DISORDER_COUNT = 5;

export function createSeriesEntries(parts: {
  series: Series;
  writer: Pick<SeriesWriter, 'read'>;
  rollups: Rollups;
}): EntrySource {
  const { series, writer, rollups } = parts;

  async function during(monitor: string, { fromMs, toMs }: Range): Promise<EntriesOfTime> {
    const firstMs = fromMs - SLOT_REACH_MS;
    const range = { monitor, fromMs: firstMs, toMs: toMs + SLOT_REACH_MS };
    const readRows = async () =>
      (
        await Promise.all([
          series.newest(monitor, { count: 1, beforeMs: firstMs }),
          series.between([range]),
        ])
      ).flat();
    const entries = await writer.read([monitor], readRows, (entriesOf) => entriesOf(monitor));
    const [first] = entries;
    if (first && first.atMs <= fromMs) return { entries, statusBefore: undefined };
    return { entries, statusBefore: await storedBefore(monitor, fromMs) };
  }

  /** The row of a monitor that is rarely checked may be gone; its stored hours still know the status. */
  async function storedBefore(monitor: string, fromMs: number): Promise<StatusSince | undefined> {
    const { last, newest } = await rollups.begin(monitor);
    if (last && last.atMs <= fromMs) return last;
    const entry = newest.entries.findLast(({ atMs }) => atMs <= fromMs);
    return entry && snapshotOf(entry);
  }

  return {
    async newest(monitor, limit) {
      const readRows = () =>
        series.newest(monitor, { count: limit + DISORDER_COUNT, minKind: RESULT });
      return await writer.read([monitor], readRows, (entriesOf) =>
        entriesOf(monitor).filter(isResult),
      );
    },
    during,
  };
}
