import type { Logger } from 'pino';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { Invocation } from '../shared/invocation.ts';
import { type GonePlaces, parsePlace, placeKey } from '../shared/place.ts';

/** Channels in which a person spoke to Askwatch, the last one last. */
const Visits = z.object({ visits: z.array(z.object({ place: z.string(), atMs: z.number() })) });
type Visits = z.infer<typeof Visits>;

/**
 * The channels in which each person spoke to Askwatch. They show only channels that the person was in, without asking
 * the platform.
 */
export type PersonPlaces = ReturnType<typeof createPersonPlaces>;

const DAY_MS = 86_400_000;
const KEEP_MS = 90 * DAY_MS;
const MAX_PLACES = 50;
/** No platform has longer ids. */
const MAX_ID = 200;
/** Bounds the memory of today's visits, which saves writes. */
const MAX_NOTED = 10_000;

export function createPersonPlaces(
  store: Store,
  options: {
    /** Only platforms with a home need this. */
    hasHomes(platform: string): boolean;
    log: Logger;
    nowMs?: () => number;
  },
) {
  const { hasHomes, log, nowMs = Date.now } = options;
  const collection = store.collection<Visits>({
    name: 'person-places',
    schema: Visits,
    version: 1,
    whenCorrupt: 'forget',
  });
  const noted = new Map<string, number>();
  const isKept = ({ atMs }: Visits['visits'][number]) => atMs > nowMs() - KEEP_MS;

  async function write(id: string, place: string) {
    await collection.update(id, (current) => {
      const others = (current?.visits ?? []).filter((one) => one.place !== place && isKept(one));
      return { visits: [...others, { place, atMs: nowMs() }].slice(-MAX_PLACES) };
    });
  }

  async function keepOnly(isLeft: (visit: Visits['visits'][number]) => boolean) {
    for (const { id, document } of await collection.list()) {
      if (document.visits.every(isLeft)) continue;
      await collection.erase(id, (current) => {
        const visits = (current?.visits ?? []).filter(isLeft);
        return visits.length === 0 ? undefined : { visits };
      });
    }
  }

  return {
    /** Never throws. Failures are logged. */
    async note({ place, person }: Pick<Invocation, 'place' | 'person'>) {
      if (!hasHomes(place.platform) || person.id.length > MAX_ID) return;
      const id = `${place.platform}:${person.id}`;
      const visit = `${id} ${placeKey(place)}`;
      if (nowMs() - (noted.get(visit) ?? 0) < DAY_MS) return;
      if (noted.size >= MAX_NOTED) noted.clear();
      noted.set(visit, nowMs());
      try {
        await write(id, placeKey(place));
      } catch (error) {
        noted.delete(visit);
        log.warn(
          { err: error },
          'could not store where a person spoke; their home will not show that channel',
        );
      }
    },
    /** The last 90 days, the last place first. */
    async of(platform: string, person: string) {
      const { visits = [] } = (await collection.get(`${platform}:${person}`)) ?? {};
      return visits
        .filter(isKept)
        .toReversed()
        .flatMap(({ place }) => parsePlace(place) ?? []);
    },
    async forgetPlaces(gone: GonePlaces) {
      await keepOnly(({ place }) => !gone.has(place));
      // People who are still there are noted again.
      noted.clear();
    },
    forgetOld: () => keepOnly(isKept),
  };
}
