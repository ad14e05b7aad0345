import type { MonitorCreateInput } from '../../../src/contracts/monitoring.ts';
import { MonitorCreate } from '../../../src/contracts/monitoring.ts';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import { type DeclaredMonitor, openMonitors } from '../../../src/monitoring/monitors/monitors.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';

/** A data folder that holds monitors of a file, by their ids, as a service that followed it has left them. */
export async function folderWithDeclared(
  declared: Record<string, Omit<DeclaredMonitor, 'definition'> & { monitor: MonitorCreateInput }>,
): Promise<string> {
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const store = await openTestStore({ folder, log });
  const wallMs = Date.now;
  const history = await openHistory({ store, wallMs, log });
  const monitors = await openMonitors({ store, history, wallMs, log });
  for (const [id, { monitor, ...rest }] of Object.entries(declared)) {
    await monitors.declare(id, { ...rest, definition: MonitorCreate.parse(monitor) });
  }
  await monitors.close();
  await history.close();
  await store.close();
  return folder;
}
