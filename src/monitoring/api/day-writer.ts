import { beginTurn } from '../../contracts/event-loop.ts';
import type { DayCounts } from '../history/days.ts';
import type { History } from '../history/history.ts';

/** Monitors whose days are read at one time. */
const TOGETHER_COUNT = 4;

/** Writes the days of these monitors as JSON of the contract's `DayList`. One that is gone meanwhile has none. */
export async function writeDays(
  asked: { ids: readonly string[]; days: number; next: string | null },
  history: Pick<History, 'days'>,
  nowMs: number,
): Promise<Buffer> {
  const { ids, days, next } = asked;
  const last = new Date(nowMs).toISOString().slice(0, 10);
  const monitors: string[] = [];
  const turn = beginTurn();
  for (let from = 0; from < ids.length; from += TOGETHER_COUNT) {
    const together = ids.slice(from, from + TOGETHER_COUNT);
    const counts = await Promise.all(
      together.map((id) => history.days(id, { count: days, nowMs })),
    );
    for (const [place, id] of together.entries()) monitors.push(rowOf(id, counts[place]));
    // What is remembered is there without waiting, so nobody else would have a turn.
    if (turn.isOver()) await turn.next();
  }
  const head = `{"last":${JSON.stringify(last)},"next":${JSON.stringify(next)}`;
  return Buffer.from(`${head},"monitors":[${monitors.join(',')}]}`);
}

/** Without the days before the first one that was seen. */
function rowOf(id: string, { upMs, downMs }: DayCounts = { upMs: [], downMs: [] }): string {
  const isSeen = (place: number) => upMs[place] !== 0 || downMs[place] !== 0;
  const found = upMs.findIndex((_, place) => isSeen(place));
  const first = found === -1 ? upMs.length : found;
  const listOf = (counts: readonly number[]) => `[${counts.slice(first).join(',')}]`;
  return `{"id":${JSON.stringify(id)},"up_ms":${listOf(upMs)},"down_ms":${listOf(downMs)}}`;
}
