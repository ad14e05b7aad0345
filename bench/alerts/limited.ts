import type { BenchContext } from '../shared/area.ts';
import type { Finding } from '../shared/finding.ts';
import { inTurn } from '../shared/passes.ts';
import { type AlertStage, startAlertBed } from './bed.ts';
import { type AlertTimes, findingsOf, tellsDown, timesOf, turnInTurn, untilTold } from './times.ts';

const SIZES = {
  full: { passes: 2, monitors: 36, overMs: 12_000 },
  quick: { passes: 1, monitors: 25, overMs: 8_000 },
};

/** Short, so that the limited channel is tried again and again. */
const RETRY_AFTER_SECONDS = 2;

/** Cases by whether one of the channels on each platform is rate limited from the start. */
const CASES = { 'none limited': false, 'one limited': true };
type Case = keyof typeof CASES;

/** Alert times of the other channels while one is rate limited, beside the same without a limit. */
export async function measureLimited(context: BenchContext): Promise<Finding[]> {
  const { passes, ...size } = SIZES[context.quick ? 'quick' : 'full'];
  const found = new Map<string, Record<Case, AlertTimes[]>>();
  for (let pass = 0; pass < passes; pass += 1) {
    for (const name of inTurn(pass, Object.keys(CASES) as Case[])) {
      context.progress(`  ${name}`);
      const stages = await measureOnce(context, { ...size, isLimited: CASES[name] });
      for (const { platform, times } of stages) {
        const cases = found.get(platform) ?? { 'none limited': [], 'one limited': [] };
        cases[name].push(times);
        found.set(platform, cases);
      }
    }
  }
  return [...found].flatMap(([platform, cases]) =>
    findingsOf(
      { name: `${platform}-limited`, title: `${platform}, goes DOWN beside a limited channel` },
      cases['one limited'],
      { reference: cases['none limited'], goals: { own: { atMost: 2_000 } } },
    ),
  );
}

async function measureOnce(
  context: BenchContext,
  { monitors, overMs, isLimited }: { monitors: number; overMs: number; isLimited: boolean },
) {
  const bed = await startAlertBed(context, {
    ...{ monitors, intervalSeconds: 5, hasOwnChannels: true, sharedChannels: 1 },
  });
  for (const { platform, shared } of bed.stages) {
    for (const channel of isLimited ? shared : []) platform.limit(channel, RETRY_AFTER_SECONDS);
  }
  await turnInTurn(bed, { count: monitors, to: 'bad', overMs });
  await untilTold(bed, { count: monitors, isIt: tellsDown });
  const listed = await bed.list();
  const notedMs = await bed.stop();
  return bed.stages.map((stage) => {
    checkLimit(stage, isLimited);
    const { name } = stage.platform;
    const times = timesOf(stage, { isIt: tellsDown, listed, changes: 1, notedMs });
    const refused = `${name} refused ${stage.platform.refused()} calls`;
    context.detail(`  ${refused}`);
    return { platform: name, times };
  });
}

/** Throws when the limit was not what it was to be: then the figures would say nothing. */
function checkLimit({ platform, shared }: AlertStage, isLimited: boolean) {
  const isTold = platform.arrivals().some(({ channel }) => shared.includes(channel));
  const isRefused = platform.refused() > 0;
  if (isTold === isLimited || isRefused !== isLimited) {
    throw new Error(
      `${platform.name} refused ${platform.refused()} calls, and the channel was ${isTold ? '' : 'not '}told.`,
    );
  }
}
