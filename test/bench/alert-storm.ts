import type { Monitor } from '../../src/contracts/monitoring.ts';
import { type AlertStage, startAlertBed } from './alert-bed.ts';
import { changedMs, rowOf } from './alert-times.ts';
import type { BenchContext } from './area.ts';

const MONITORS = 500;
const INTERVAL_SECONDS = { full: 10, quick: 5 };
const CHANNELS = 2;

/** Everything goes down at once, and two channels of each platform hear of all of it. */
export async function measureStorm(context: BenchContext): Promise<string[][]> {
  const bed = await startAlertBed(context, {
    ...{ monitors: MONITORS, intervalSeconds: INTERVAL_SECONDS[context.quick ? 'quick' : 'full'] },
    ...{ hasOwnChannels: false, sharedChannels: CHANNELS },
  });
  for (let number = 0; number < MONITORS; number += 1) bed.target.turn(number, 'bad');
  const isAll = (stage: AlertStage) =>
    stage.shared.every((channel) =>
      arrivalsIn(stage, channel).some(({ title }) => title.includes(String(MONITORS))),
    );
  await bed.until('all to be told', () => bed.stages.every(isAll));
  const listed = await bed.list();
  await bed.stop();
  const goneMs = listed.filter(({ status }) => status === 'DOWN').map(changedMs);
  if (goneMs.length < MONITORS) throw new Error(`Only ${goneMs.length} went DOWN.`);
  context.note(
    `The service saw the ${MONITORS} go DOWN within ${Math.round((Math.max(...goneMs) - Math.min(...goneMs)) / 1000)} s.`,
  );
  return bed.stages.map((stage) => rowOfStorm(stage, listed));
}

const arrivalsIn = ({ platform }: AlertStage, channel: string) =>
  platform.arrivals().filter((arrival) => arrival.channel === channel);

/** The first message of each channel, and how many came to the one with the most. */
function rowOfStorm(stage: AlertStage, listed: readonly Monitor[]): string[] {
  const firstMs = Math.min(...listed.map(changedMs));
  const told = stage.shared.map((channel) => arrivalsIn(stage, channel));
  const inAllMs = told.map(([first]) => (first?.atMs ?? Number.NaN) - firstMs);
  const posts = told.map((arrivals) => arrivals.filter(({ what }) => what !== 'edit').length);
  return rowOf(`${stage.platform.name}, ${MONITORS} go DOWN, first message`, {
    ...{ inAllMs, ownMs: [], posts: Math.max(...posts) },
  });
}
