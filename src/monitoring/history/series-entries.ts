import { type Series, SLOT_REACH_MS } from '../../store/series.ts';
import type { EntrySource, Range, Told } from './history-queries.ts';
import { snapshotOf } from './hourly-aggregator.ts';
import { isResult, RESULT } from './result-record.ts';
import type { Rollups } from './rollups.ts';
import type { SeriesWriter } from './series-writer.ts';
import type { Snapshot } from './uptime-accounting.ts';

/** Entries are in the order of their slots but for a few, of which checks overlap. */
const DISORDER_COUNT = 5;

/** Entries from the rows that all processes write. */
export function createSeriesEntries(parts: {
  series: Series;
  writer: Pick<SeriesWriter, 'read'>;
  rollups: Rollups;
}): EntrySource {
  const { series, writer, rollups } = parts;

  async function during(monitor: string, { fromMs, toMs }: Range): Promise<Told> {
    const firstMs = fromMs - SLOT_REACH_MS;
    const range = { monitor, fromMs: firstMs, toMs: toMs + SLOT_REACH_MS };
    const ask = async () =>
      (
        await Promise.all([
          series.newest(monitor, { count: 1, beforeMs: firstMs }),
          series.between([range]),
        ])
      ).flat();
    const entries = await writer.read([monitor], ask, (entriesOf) => entriesOf(monitor));
    const [first] = entries;
    if (first && first.atMs <= fromMs) return { entries, began: undefined };
    return { entries, began: await storedBefore(monitor, fromMs) };
  }

  /** What a time begins with of which the row is gone: one that is seldom checked. */
  async function storedBefore(monitor: string, fromMs: number): Promise<Snapshot | undefined> {
    const { last, newest } = await rollups.begin(monitor);
    if (last && last.atMs <= fromMs) return last;
    const entry = newest.entries.findLast(({ atMs }) => atMs <= fromMs);
    return entry && snapshotOf(entry);
  }

  return {
    async newest(monitor, limit) {
      const ask = () => series.newest(monitor, { count: limit + DISORDER_COUNT, minKind: RESULT });
      return await writer.read([monitor], ask, (entriesOf) => entriesOf(monitor).filter(isResult));
    },
    during,
  };
}
