import { createFakeClock, type FakeClock } from '../../test/helpers/monitoring/fake-clock.ts';
import { type Service, startService } from '../../test/helpers/monitoring/service.ts';
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts';
import { copyTestStore, openTestStore } from '../../test/helpers/test-store.ts';
import { plannedChecks } from './planned-checks.ts';
import { NOW_MS } from './planned-monitor.ts';
import { writeRecordedWeek } from './write-week.ts';

/** The real service over the recorded week. */
export interface RecordedWeekService extends Service {
  /** It stands at `NOW_MS` until the test moves it, so no check is due. */
  clock: FakeClock;
  /** Names of the monitors that were checked all the same: because a test asked for it, or moved the clock. */
  checked: string[];
}

/**
 * Starts the service over the recorded week. Checks return the plan's last result without using the network. It stops with the
 * running test, or when closed. `folder` reuses the folder of an earlier start.
 */
export async function startRecordedWeek(
  options: { folder?: string } = {},
): Promise<RecordedWeekService> {
  const clock = createFakeClock(NOW_MS);
  const checked: string[] = [];
  const folder = options.folder ?? (await recordedWeekFolder());
  const service = await startService({
    folder,
    clock,
    types: plannedChecks((name) => checked.push(name)),
  });
  return { ...service, clock, checked };
}

/** Creates a folder whose store in memory has the recorded week; it is removed with the running test. */
export async function recordedWeekFolder(): Promise<string> {
  written ??= writeOnce();
  const folder = await temporaryFolder();
  copyTestStore(await written, folder);
  return folder;
}

/** Folder of a store with the week, which is copied, because writing takes seconds. */
let written: Promise<string> | undefined;

async function writeOnce(): Promise<string> {
  const folder = 'recorded-week';
  const store = await openTestStore({ folder });
  await writeRecordedWeek(store);
  await store.close();
  return folder;
}
