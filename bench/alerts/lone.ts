import type { BenchContext } from '../shared/area.ts';
import type { Finding } from '../shared/finding.ts';
import { startAlertBed } from './bed.ts';
import { findingsOf, tellsDown, tellsUp, timesOf, turnInTurn, untilTold } from './times.ts';

/** Fewer than 100, because the bot keeps that many ended outages, and their times are read from it. */
const SIZES = {
  full: { downs: 90, downMs: 45_000, ups: 40, upMs: 16_000 },
  quick: { downs: 30, downMs: 12_000, ups: 10, upMs: 3_000 },
};

/** Alerts of single outages, one after another, and some recoveries. */
export async function measureLone(context: BenchContext): Promise<Finding[]> {
  const { downs, downMs, ups, upMs } = SIZES[context.quick ? 'quick' : 'full'];
  const bed = await startAlertBed(context, {
    ...{ monitors: downs, intervalSeconds: 5, hasOwnChannels: true, sharedChannels: 0 },
  });
  await turnInTurn(bed, { count: downs, to: 'bad', overMs: downMs });
  await untilTold(bed, { count: downs, isIt: tellsDown });
  const whenDown = await bed.list();
  await turnInTurn(bed, { count: ups, to: 'good', overMs: upMs });
  await untilTold(bed, { count: ups, isIt: tellsUp });
  const whenUp = (await bed.list()).slice(0, ups);
  const notedMs = await bed.stop();
  const goals = { inAll: { atMost: 6_000 } };
  return bed.stages.flatMap((stage) => {
    const { name } = stage.platform;
    const down = timesOf(stage, { isIt: tellsDown, listed: whenDown, changes: 1, notedMs });
    const up = timesOf(stage, { isIt: tellsUp, listed: whenUp, changes: 2 });
    return [
      ...findingsOf({ name: `${name}-down`, title: `${name}, goes DOWN` }, [down], { goals }),
      ...findingsOf({ name: `${name}-up`, title: `${name}, is UP again` }, [up], { goals }),
    ];
  });
}
