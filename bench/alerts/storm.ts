import type { BenchContext } from '../shared/area.ts';
import { type Finding, findingOfOne } from '../shared/finding.ts';
import { type AlertStage, startAlertBed } from './bed.ts';
import type { Arrival } from './platforms.ts';
import { changedMs } from './times.ts';

const MONITORS = 500;
const INTERVAL_SECONDS = { full: 10, quick: 5 };
const CHANNELS = 2;
const MANY_POSTS = 10;

/** All monitors go down at once; two channels on each platform receive the alerts. */
export async function measureStorm(context: BenchContext): Promise<Finding[]> {
  const bed = await startAlertBed(context, {
    ...{ monitors: MONITORS, intervalSeconds: INTERVAL_SECONDS[context.quick ? 'quick' : 'full'] },
    ...{ hasOwnChannels: false, sharedChannels: CHANNELS },
  });
  for (let number = 0; number < MONITORS; number += 1) bed.target.turn(number, 'bad');
  const isMeasured = (stage: AlertStage) =>
    stage.shared.every((channel) => {
      const told = arrivalsIn(stage, channel);
      const isAllTold = told.some(({ title }) => title.includes(String(MONITORS)));
      // More posts than this mean that the alerts weren't grouped; waiting for all of them would take long.
      return isAllTold || told.filter(isPost).length > MANY_POSTS;
    });
  await bed.until('all to be told', () => bed.stages.every(isMeasured));
  const goneMs = (await bed.list()).filter(({ status }) => status === 'DOWN').map(changedMs);
  await bed.stop();
  const firstMs = Math.min(...goneMs);
  const seconds = Math.round((Math.max(...goneMs) - firstMs) / 1000);
  context.note(`The service saw ${goneMs.length} of the ${MONITORS} go DOWN within ${seconds} s.`);
  return bed.stages.flatMap((stage) => findingsOf(stage, firstMs));
}

const arrivalsIn = ({ platform }: AlertStage, channel: string) =>
  platform.arrivals().filter((arrival) => arrival.channel === channel);

const isPost = ({ what }: Arrival) => what !== 'edit';

/** The first message of each channel after the first change, and how many came to the channel with the most. */
function findingsOf(stage: AlertStage, firstMs: number): Finding[] {
  const told = stage.shared.map((channel) => arrivalsIn(stage, channel));
  const inAllMs = told.map(([first]) => (first?.atMs ?? Number.NaN) - firstMs);
  const posts = Math.max(...told.map((arrivals) => arrivals.filter(isPost).length));
  const { name } = stage.platform;
  const found = (what: string, title: string, of: { unit: string; atMost: number }) => ({
    ...{ name: `${name}-storm-${what}`, title: `${name}, ${MONITORS} go DOWN, ${title}` },
    ...{ unit: of.unit, goal: { atMost: of.atMost } },
  });
  return [
    findingOfOne(
      found('first', 'until each channel has its first message', { unit: 'ms', atMost: 10_000 }),
      Math.max(...inAllMs),
    ),
    findingOfOne(found('posts', 'messages in a channel', { unit: '', atMost: 2 }), posts),
  ];
}
