import { join } from 'node:path';
import { pino } from 'pino';
import type { MonitorCreate } from '../../src/contracts/monitoring.ts';
import { openKeys } from '../../src/http/keys.ts';
import { openHistory } from '../../src/monitoring/history/history.ts';
import { openMonitors } from '../../src/monitoring/monitors/monitors.ts';
import { phaseOf } from '../../src/monitoring/time/rhythm.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import type { Gridded } from './arrivals.ts';

/** A data folder with monitors that haven't been checked. */
export interface PreparedData {
  folder: string;
  /** Monitors that are checked on a rhythm, in the order of their definitions. */
  gridded: Gridded[];
  /** Push tokens of the heartbeats. */
  tokens: string[];
  keys: string[];
}

/** Monitors written at the same moment. */
const LANES = 32;

/**
 * Makes a data folder. It is written by the program's own modules and not over its API, which takes 120 monitors a
 * minute.
 */
export async function prepareData(options: {
  parent: string;
  name: string;
  definitions: readonly MonitorCreate[];
  keys?: number;
  /** Age of the monitors. */
  agoMs?: number;
}): Promise<PreparedData> {
  const { parent, name, definitions, agoMs = 0 } = options;
  const wallMs = () => Date.now() - agoMs;
  const folder = join(parent, name);
  const log = pino({ level: 'silent' });
  const store = await openLowdbStore({ folder, log });
  try {
    const history = await openHistory({ store, wallMs, log });
    const monitors = await openMonitors({ store, history, wallMs, log });
    const gridded: Gridded[] = [];
    const tokens: string[] = [];
    const left = definitions.entries();
    async function write() {
      for (const [number, definition] of left) {
        const { monitor, token } = await monitors.add(definition);
        if (token !== undefined) tokens.push(token);
        if (definition.check_type === 'HEARTBEAT') continue;
        const intervalMs = definition.config.interval_seconds * 1000;
        const phaseMs = phaseOf(monitor.id, intervalMs);
        gridded.push({ id: monitor.id, number, intervalMs, phaseMs });
      }
    }
    await Promise.all(Array.from({ length: LANES }, write));
    gridded.sort((a, b) => a.number - b.number);
    const keys = await openKeys(store, 'monitoring');
    const made: string[] = [];
    for (let at = 0; at < (options.keys ?? 1); at += 1) {
      made.push((await keys.create(`bench ${at + 1}`)).key);
    }
    await history.close();
    return { folder, gridded, tokens, keys: made };
  } finally {
    await store.close();
  }
}
