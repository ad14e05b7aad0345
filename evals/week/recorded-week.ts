import { mkdirSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { createFakeClock, type FakeClock } from '../../test/helpers/monitoring/fake-clock.ts';
import { type Service, startService } from '../../test/helpers/monitoring/service.ts';
import { recordingLog } from '../../test/helpers/recording-log.ts';
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts';
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

/** A data folder with the recorded week in it, for a service of one's own; it is removed with the running test. */
export async function recordedWeekFolder(): Promise<string> {
  written ??= writeOnce();
  const folder = await temporaryFolder();
  for (const [path, content] of await written) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
    // A thousand small files: a promise for each would cost more than what is written.
    writeFileSync(join(folder, path), content, { mode: 0o600 });
  }
  return folder;
}

/** Cached files of the week by path: copying them is ten times faster than writing them again. */
let written: Promise<Map<string, Buffer>> | undefined;

async function writeOnce(): Promise<Map<string, Buffer>> {
  const ends: Array<() => Promise<void>> = [];
  const folder = await temporaryFolder((end) => ends.push(end));
  try {
    const store = await openLowdbStore({ folder, log: recordingLog().log });
    await writeRecordedWeek(store);
    await store.close();
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const content = files
      .filter((file) => file.isFile())
      .map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return [relative(folder, path), await readFile(path)] as const;
      });
    return new Map(await Promise.all(content));
  } finally {
    for (const end of ends) await end();
  }
}
