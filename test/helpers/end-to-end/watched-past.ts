import type { Logger } from 'pino';
import { createCheckTypes, SHIPPED_TYPES } from '../../../src/monitoring/checks/registry.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { createFakeClock } from '../monitoring/fake-clock.ts';
import { startService } from '../monitoring/service.ts';
import type { AtEnd } from '../temporary-folder.ts';

const HOURS = 6;
const MINUTE_MS = 60_000;

/** Writes a data folder in which a monitor called Shop was watched, and up, for the last six hours. */
export async function writeWatchedPast(
  folder: string,
  { target, atEnd }: { target: string; atEnd: AtEnd },
): Promise<void> {
  const clock = createFakeClock(Date.now() - HOURS * 60 * MINUTE_MS);
  const passes = { admit() {}, async probe() {} };
  const types = createCheckTypes(
    SHIPPED_TYPES.map((type) => ('probe' in type ? { ...type, ...passes } : type)),
  );
  // The program reads the files later.
  const openStore = (log: Logger) => openLowdbStore({ folder, log });
  const service = await startService({ folder, openStore, clock, types, atEnd });
  await service.create({
    name: 'Shop',
    target,
    check_type: 'HTTP',
    config: { interval_seconds: 600 },
  });
  for (let minutes = 0; minutes < HOURS * 60; minutes += 10) await clock.advance(10 * MINUTE_MS);
  await service.close();
}
