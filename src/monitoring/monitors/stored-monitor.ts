import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { MaintenanceWindow } from '../../contracts/monitoring-additions.ts';
import { CorruptDocumentError } from '../../store/errors.ts';
import type { Store } from '../../store/store.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import { MonitorState } from '../state/state.ts';
import { openDefinitionEncryption } from './definition-encryption.ts';
import { managedBy } from './managed-by.ts';

/** Monitors that are named when their secrets can't be read. */
const MAX_NAMED = 5;

/** A monitor as stored; its ID is the document's. */
const storedMonitor = (types: CheckTypes) =>
  z.object({
    /** Without its secrets, which are in `sealed`. */
    definition: types.schema,
    sealed: z.string().optional(),
    createdAtMs: z.int(),
    /** Last change of its target or check settings. */
    settingsChangedAtMs: z.int().optional(),
    /** HEARTBEAT only: the hash of its push token. */
    tokenHash: z.string().length(64).optional(),
    /** The create that made it, if that had an idempotency key. */
    createId: z.string().length(64).optional(),
    maintenance: z.array(MaintenanceWindow).default([]),
    /** Absent if no file declares it. */
    managedBy: managedBy.optional(),
    /** Channels that get its alerts, in their one-word form. */
    channels: z.array(z.string()).optional(),
    /** The state at its creation; `state-store.ts` stores later ones. */
    state: MonitorState,
  });
export type StoredMonitor = z.infer<ReturnType<typeof storedMonitor>>;

/** Takes the place of a removed monitor until its history is deleted too, so that a start after a kill continues with that. */
const RemovedMonitor = z.object({ removed: z.literal(true) });
export type MonitorDocument = StoredMonitor | z.infer<typeof RemovedMonitor>;

export const isPresent = (document: MonitorDocument | undefined): document is StoredMonitor =>
  document !== undefined && !('removed' in document);

export const monitorsCollection = (types: CheckTypes) => ({
  name: 'monitors',
  schema: z.union([storedMonitor(types), RemovedMonitor]),
  version: 2,
  whenCorrupt: 'refuse' as const,
});

/**
 * Reads all monitors, with their secrets, without following later changes. Throws `CorruptDocumentError` if one can't be read or
 * the key of its secrets is missing.
 */
export async function readMonitors(store: Store, types: CheckTypes = shippedTypes) {
  const collection = store.collection(monitorsCollection(types));
  const encryption = await openDefinitionEncryption(store, types);
  const monitors: Array<{ id: string } & Omit<StoredMonitor, 'sealed' | 'state'>> = [];
  for (const { id, document } of await collection.list()) {
    if (!isPresent(document)) continue;
    const definition = encryption.decrypt(document, id);
    if (definition === undefined) throw keyIsMissing(store.key.place, [document]);
    monitors.push({ ...document, id, definition });
  }
  return monitors.sort((a, b) => a.createdAtMs - b.createdAtMs);
}

export function keyIsMissing(place: string, locked: readonly StoredMonitor[]) {
  const names = locked.slice(0, MAX_NAMED).map(({ definition }) => definition.name);
  const more = locked.length - names.length;
  return new CorruptDocumentError(
    `The key in ${place} is missing, or is not the key that encrypted the secrets of these monitors: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}. Restore that file from a backup. If the key is gone for good, write the word lost into the file: Askwatch then starts, and each of these monitors says which values to enter again.`,
  );
}

export function newMonitorId(taken: ReadonlyMap<string, unknown>): string {
  for (;;) {
    const id = `mon_${randomBytes(8).toString('hex')}`;
    if (!taken.has(id)) return id;
  }
}
