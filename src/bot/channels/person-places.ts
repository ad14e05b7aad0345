import type { Logger } from 'pino';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { Invocation } from '../shared/invocation.ts';
import { type GonePlaces, parsePlace, placeKey } from '../shared/place.ts';

/** Where a person asked, typed a command or pressed a button, the last place last. */
const Visits = z.object({ visits: z.array(z.object({ place: z.string(), atMs: z.number() })) });
type Visits = z.infer<typeof Visits>;

/**
 * The places of each person: those where they themselves said something to Askwatch. So nobody is told of a place that
 * they never were in, and no platform has to be asked who is where.
 */
export type PersonPlaces = ReturnType<typeof createPersonPlaces>;

const DAY_MS = 86_400_000;
const KEEP_MS = 90 * DAY_MS;
const MAX_PLACES = 50;
/** Ids come from outside; longer ones are nobody's. */
const MAX_ID = 200;
/** What was noted today, in memory, so that it is not written again and again. */
const MAX_NOTED = 10_000;

export function createPersonPlaces(
  store: Store,
  options: {
    /** Whether a person has a home on a platform: places are kept for those alone. */
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
    /** Notes where something was said. Never throws: what cannot be noted is logged. */
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
    /** Where somebody was in the last 90 days, the last place first. */
    async of(platform: string, person: string) {
      const { visits = [] } = (await collection.get(`${platform}:${person}`)) ?? {};
      return visits
        .filter(isKept)
        .toReversed()
        .flatMap(({ place }) => parsePlace(place) ?? []);
    },
    /** Forgets who was in places that are gone. */
    async forgetPlaces(gone: GonePlaces) {
      await keepOnly(({ place }) => !gone.has(place));
      // Who is there again is noted again.
      noted.clear();
    },
    /** Forgets what is older. */
    forgetOld: () => keepOnly(isKept),
  };
}
