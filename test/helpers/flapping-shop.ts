import type { MonitoringService } from '../fakes/monitoring-service.ts';
import { eventually } from './eventually.ts';

const MINUTE = 60_000;

/**
 * A shop that a bot has seen going down for the third time within a quarter of an hour. `staysDown` makes it one that has
 * been DOWN for three checks: it is checked more often from then on.
 */
export async function addFlappingShop(service: MonitoringService) {
  const shop = service.add({ name: 'Shop', interval_seconds: 100 });
  const looked = async () => {
    const from = service.requests.length;
    await eventually(() => service.requests.length > from + 2);
  };
  await looked();
  const changes = [
    ['DOWN', 14],
    ['UP', 12],
    ['DOWN', 9],
    ['UP', 6],
    ['DOWN', 3.5],
  ] as const;
  for (const [status, minutesAgo] of changes) {
    service.setStatus(shop.id, status, Date.now() - minutesAgo * MINUTE);
    await looked();
  }
  return {
    staysDown() {
      shop.interval_seconds = 60;
    },
  };
}
