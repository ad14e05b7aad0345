import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { long } from '../../helpers/long.ts';
import { createRandom } from '../../helpers/random.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { seed } from '../../helpers/seed.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { startChild } from '../../store/children/start-child.ts';

const KILLS = long ? 100 : 2;
const EVERY_MS = 600_000;
const DAY_MS = 86_400_000;
const START = Date.UTC(2027, 0, 15, 22, 3);
const random = createRandom(seed());
const script = '../../helpers/monitoring/write-history.mjs';

test(`${KILLS} kills lose no result, no hour and no incident that was acknowledged`, {
  timeout: 30_000 + KILLS * 3_000,
}, async () => {
  const folder = await temporaryFolder();
  /** When each monitor was checked, as far as it is stored. */
  const looks = new Map<string, number[]>();
  const incidents = new Set<string>();
  let nowMs = START;
  let change = 1;
  let acknowledged = 0;

  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = startChild(script, [folder, String(nowMs), String(change)]);
    await child.line((line) => line.startsWith('result'));
    await pause(random() * 700);
    child.kill('SIGKILL');
    await child.exit;
    expect(child.lines.filter((line) => line.startsWith('log'))).toEqual([]);

    const asked = new Map<string, number[]>();
    const told = new Map<string, number[]>();
    for (const line of child.lines) {
      const [what, monitor = '', number = ''] = line.split(' ');
      if (what === 'asked') put(asked, monitor, Number(number));
      if (what === 'result') put(told, monitor, Number(number));
      if (what === 'change') change = Math.max(change, Number(number) + 1);
      if (what === 'change' && Number(number) % 2) incidents.add(`${monitor}:${number}`);
      nowMs = Math.max(nowMs, what === 'asked' ? Number(number) : 0);
    }

    const { log, lines } = recordingLog();
    const store = await openLowdbStore({ folder, log });
    const history = await openHistory({ store, wallMs: () => nowMs, log });
    const range = { fromMs: START - DAY_MS, toMs: nowMs + DAY_MS };
    for (const [monitor, times] of asked) {
      const hours = await history.rollups(monitor, { by: 'hour', ...range });
      const before = looks.get(monitor) ?? [];
      const stored = hours.reduce((sum, { checks }) => sum + checks, 0) - before.length;
      const acknowledgedNow = told.get(monitor)?.length ?? 0;
      // One that was under way may be there or not.
      expect(stored, monitor).toBeGreaterThanOrEqual(acknowledgedNow);
      expect(stored, monitor).toBeLessThanOrEqual(times.length);
      const all = [...before, ...times.slice(0, stored)];
      looks.set(monitor, all);
      acknowledged += acknowledgedNow;
      const upMs = all.reduce(
        (sum, atMs, index) => sum + Math.min((all[index + 1] ?? nowMs) - atMs, 2 * EVERY_MS),
        0,
      );
      expect(await history.uptime(monitor, range)).toMatchObject({ upMs, downMs: 0 });
      const [newest] = await history.results(monitor, 1);
      expect(newest?.at).toBe(new Date(all.at(-1) ?? 0).toISOString());
    }
    const known = (await history.incidents('m0', 100)).map(({ id }) => id);
    expect(known).toEqual(expect.arrayContaining([...incidents].slice(-40)));
    expect(new Set(known).size).toBe(known.length);
    await history.close();
    await store.close();
    // Torn ends of journals are cut off without a warning, because they were not acknowledged.
    expect(lines.filter(({ level }) => Number(level) > 30)).toEqual([]);
    nowMs += EVERY_MS * (1 + Math.floor(random() * 30));
  }
  console.log(`${KILLS} kills, ${acknowledged} acknowledged results, none lost`);
});

function put(map: Map<string, number[]>, key: string, value: number) {
  map.set(key, [...(map.get(key) ?? []), value]);
}
