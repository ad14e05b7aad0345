import { onTestFinished } from 'vitest';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from './recording-log.ts';

/** Opens a store in files, with what it logs; closed when the test has finished. */
export async function openFiles(folder: string) {
  const { log, lines } = recordingLog();
  const store = await openLowdbStore({ folder, log });
  onTestFinished(() => store.close());
  return { store, lines };
}
