import { setTimeout as pause } from 'node:timers/promises';
import type { BenchContext } from '../shared/area.ts';
import type { Finding } from '../shared/finding.ts';
import { inTurn } from '../shared/passes.ts';
import { startAlertBed } from './bed.ts';
import {
  type AlertTimes,
  findingsOf,
  tellsDown,
  tellsUp,
  timesOf,
  turnInTurn,
  untilTold,
} from './times.ts';

const SIZES = {
  full: { passes: 2, monitors: 36, downMs: 15_000, ups: 18, upMs: 9_000 },
  quick: { passes: 1, monitors: 25, downMs: 15_000, ups: 10, upMs: 5_000 },
};

/** From the last outage to the first recovery: investigations are under way then. */
const BETWEEN_MS = 2_000;

/** Cases by whether all channels have their outages investigated at once. */
const CASES = { 'not investigated': false, investigated: true };
type Case = keyof typeof CASES;

type Change = 'down' | 'up';
const TITLES = { down: 'goes DOWN', up: 'is UP again' };

/** Times of alerts and recoveries while all outages are investigated, beside the same without investigations. */
export async function measureInvestigated(context: BenchContext): Promise<Finding[]> {
  const { passes, ...size } = SIZES[context.quick ? 'quick' : 'full'];
  const found = new Map<string, Record<Case, AlertTimes[]>>();
  for (let pass = 0; pass < passes; pass += 1) {
    for (const name of inTurn(pass, Object.keys(CASES) as Case[])) {
      context.progress(`  ${name}`);
      for (const { key, times } of await measureOnce(context, size, CASES[name])) {
        const cases = found.get(key) ?? { 'not investigated': [], investigated: [] };
        cases[name].push(times);
        found.set(key, cases);
      }
    }
  }
  return [...found].flatMap(([key, cases]) => {
    const [platform = '', change = 'down'] = key.split(' ') as [string, Change];
    return findingsOf(
      {
        name: `${platform}-investigated-${change}`,
        title: `${platform}, ${TITLES[change]} while outages are investigated`,
      },
      cases.investigated,
      { reference: cases['not investigated'], goals: {} },
    );
  });
}

async function measureOnce(
  context: BenchContext,
  { monitors, downMs, ups, upMs }: Omit<(typeof SIZES)['full'], 'passes'>,
  isInvestigated: boolean,
) {
  const bed = await startAlertBed(context, {
    ...{ monitors, intervalSeconds: 5, hasOwnChannels: true, sharedChannels: 0 },
    isInvestigated,
  });
  await turnInTurn(bed, { count: monitors, to: 'bad', overMs: downMs });
  await untilTold(bed, { count: monitors, isIt: tellsDown });
  const whenDown = await bed.list();
  await pause(BETWEEN_MS);
  await turnInTurn(bed, { count: ups, to: 'good', overMs: upMs });
  await untilTold(bed, { count: ups, isIt: tellsUp });
  const whenUp = (await bed.list()).slice(0, ups);
  const notedMs = await bed.stop();
  return bed.stages.flatMap((stage) => {
    const { name } = stage.platform;
    const lines = stage.platform.arrivals().filter(({ title }) => /likely: /i.test(title));
    context.detail(`  ${name}: ${lines.length} results of investigations`);
    return [
      {
        key: `${name} down`,
        times: timesOf(stage, { isIt: tellsDown, listed: whenDown, changes: 1, notedMs }),
      },
      { key: `${name} up`, times: timesOf(stage, { isIt: tellsUp, listed: whenUp, changes: 2 }) },
    ];
  });
}
