import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type Monitor, MonitoringPath, MonitorList } from '../../src/contracts/monitoring.ts';
import {
  AddedPath,
  IncidentList,
  PlannedWindowList,
} from '../../src/contracts/monitoring-additions.ts';
import { openKeys } from '../../src/http/keys.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { long } from '../helpers/long.ts';
import { type Book, type Kind, startKillLoad, type Told } from '../helpers/monitoring/kill-load.ts';
import { createRandom } from '../helpers/random.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { seed as seedOfRun } from '../helpers/seed.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const KILLS = long ? 200 : 1;
/** Side by side, since a start waits more than it works. */
const FOLDERS = long ? 2 : 1;
const KEYS = 16;

const SEED = seedOfRun();

/** Answers before the kill at least, and how many more at most; then it comes with the next of its kind. */
const LEAST_ANSWERS = 15;
const MORE_ANSWERS = 60;
const KILLED_AT: readonly Kind[] = [
  ...(['create', 'signal', 'resume', 'pause', 'remove', 'plan', 'list'] as const),
];

async function createApiKeys(folder: string): Promise<string[]> {
  const store = await openLowdbStore({ folder, log: recordingLog().log });
  try {
    const keys = await openKeys(store, 'monitoring');
    const made: string[] = [];
    for (let at = 0; at < KEYS; at += 1) made.push((await keys.create(`lane ${at}`)).key);
    return made;
  } finally {
    await store.close();
  }
}

/** Kills a service over and over; gives how many answers were counted on. */
async function killRepeatedly(kills: number, seed: number): Promise<number> {
  const random = createRandom(seed);
  const dataDir = await temporaryFolder();
  await mkdir(`${dataDir}/data`, { mode: 0o700 });
  const [checkingKey = '', ...keys] = await createApiKeys(`${dataDir}/data`);
  const down = new Set<string>();
  const web = await startWebTarget((request, response) => {
    response.writeHead(down.has(request.url ?? '') ? 500 : 200).end('a page');
  });
  const setDown = (path: string, isDown: boolean) =>
    void (isDown ? down.add(path) : down.delete(path));
  const book: Book = new Map();
  let answers = 0;
  for (let kill = 0; kill <= kills; kill += 1) {
    const service = await startAskwatch({
      dataDir,
      env: { ASKWATCH_ROLES: 'monitoring', MONITOR_ALLOW_PRIVATE: '127.0.0.0/8' },
    });
    const problems = await lostOf(book, { url: service.url, key: checkingKey });
    expect(problems, `seed ${seed}, after ${kill} kills`).toEqual([]);
    expect(existsSync(`${dataDir}/data/quarantine`), `seed ${seed}`).toBe(false);
    // Errors and what is worse; a torn end of a journal is a warning.
    expect(service.output(), `seed ${seed}`).not.toMatch(/"level":[56]0/);
    if (kill < kills) {
      const wanted = LEAST_ANSWERS + Math.floor(random() * MORE_ANSWERS);
      const kind = KILLED_AT[Math.floor(random() * KILLED_AT.length)];
      const waitMs = random() < 0.5 ? 0 : random() * 20;
      let isPlanned = false;
      const killNow = () => {
        load.expectKill();
        void service.kill();
      };
      const load = startKillLoad({
        url: service.url,
        keys,
        book,
        random,
        web: { url: web.url, setDown },
        // At an answer, so that what it told must be there without a moment more.
        onAnswer(of) {
          if (isPlanned || load.acknowledged() < wanted || of !== kind) return;
          isPlanned = true;
          if (waitMs === 0) killNow();
          else setTimeout(killNow, waitMs);
        },
      });
      try {
        await load.ended();
      } catch (cause) {
        throw new Error(`seed ${seed}`, { cause });
      }
      await service.kill();
      answers += load.acknowledged();
    } else await service.kill();
  }
  return answers;
}

/** Describes the differences from what was acknowledged. */
async function lostOf(book: Book, service: { url: string; key: string }): Promise<string[]> {
  const { monitors } = MonitorList.parse(
    await get(service, `${MonitoringPath.monitors}?include_paused=true`),
  );
  const listed = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const planned = PlannedWindowList.parse(
    await get(service, `${AddedPath.planned}?days=31&limit=1000`),
  );
  const problems: string[] = [];
  for (const told of book.values()) {
    const now = listed.get(told.id);
    const lost = [...changesOf(told, now), ...(now ? lostWindows(told, now, planned) : [])];
    problems.push(...lost.map((problem) => `${told.id}: ${problem}`));
    // One whose removal was not answered is there or not; from now on it counts as it is.
    if (told.removal === 'asked') told.removal = now ? undefined : 'acknowledged';
    if (now && told.downs.length > 0) problems.push(...(await lostDowns(told, service)));
    if (now) told.shown = now;
  }
  return problems;
}

function changesOf(told: Told, now: Monitor | undefined): string[] {
  if (told.removal === 'acknowledged') return now ? ['it was removed and is there again'] : [];
  if (now === undefined) return told.removal === 'asked' ? [] : ['it is gone'];
  const problems: string[] = [];
  for (const field of ['name', 'check_type', 'target'] as const) {
    if (now[field] !== told.definition[field]) problems.push(`its ${field} is ${now[field]}`);
  }
  const { shown, pingedMs } = told;
  const changes = now.status_changes ?? 0;
  if (shown && changes < (shown.status_changes ?? 0)) {
    problems.push(`it had changed ${shown.status_changes} times, now ${changes}`);
  }
  // A request that was running at the kill may have changed it.
  const isSame = now.status === shown?.status && now.status_changed_at === shown.status_changed_at;
  // The first status is no change: what was shown while it was PENDING may be UP by now.
  const hadStatus = shown !== undefined && shown.status !== 'PENDING';
  if (hadStatus && changes === shown.status_changes && !isSame) {
    problems.push(
      `it was ${shown.status} since ${shown.status_changed_at}, now ${now.status} since ${now.status_changed_at}`,
    );
  }
  if (pingedMs !== undefined && !(Date.parse(now.last_checked_at ?? '') >= pingedMs)) {
    problems.push(`it was pinged at ${pingedMs}, now last at ${now.last_checked_at}`);
  }
  return problems;
}

/** Windows that are not as they were acknowledged, or as was asked and not answered; then they count as they are. */
function lostWindows(told: Told, { status }: Monitor, planned: PlannedWindowList): string[] {
  // A paused monitor has no planned maintenance.
  if (status === 'PAUSED') return [];
  const lengths = planned.windows
    .filter(({ monitor }) => monitor === told.id)
    .map(({ starts_at, ends_at }) => (Date.parse(ends_at) - Date.parse(starts_at)) / 60_000);
  const isAs = (wanted: readonly number[] | undefined) =>
    wanted?.length === lengths.length && wanted.every((minutes) => lengths.includes(minutes));
  const { set, asked } = told.windows;
  if (!isAs(set) && !isAs(asked)) return [`its windows were ${set} or ${asked}, now ${lengths}`];
  told.windows = { set: lengths, asked: undefined };
  return [];
}

/** Acknowledged times of DOWN that no incident covers. */
async function lostDowns(told: Told, service: { url: string; key: string }): Promise<string[]> {
  const path = AddedPath.incidents.replace(':id', told.id);
  const { incidents } = IncidentList.parse(await get(service, `${path}?limit=100`));
  return told.downs
    .filter(
      ({ sinceMs }) =>
        !incidents.some(
          ({ started_at, ended_at }) =>
            Date.parse(started_at) <= sinceMs &&
            (ended_at === null || Date.parse(ended_at) >= sinceMs),
        ),
    )
    .map(({ number, sinceMs }) => `${told.id}: DOWN ${number} since ${sinceMs} is in no incident`);
}

async function get({ url, key }: { url: string; key: string }, path: string): Promise<unknown> {
  const answer = await fetch(url + path, { headers: { 'x-api-key': key } });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

test(`${KILLS} kills under load lose no monitor, no window, no ping and no status that was acknowledged`, {
  timeout: 60_000 + KILLS * 10_000,
}, async () => {
  const answers = await Promise.all(
    Array.from({ length: FOLDERS }, (_, at) => killRepeatedly(KILLS / FOLDERS, SEED + at)),
  );
  const sum = answers.reduce((total, count) => total + count, 0);
  console.log(`${KILLS} kills, ${sum} acknowledged answers, none lost (seed ${SEED})`);
  expect(sum).toBeGreaterThanOrEqual(KILLS * LEAST_ANSWERS);
});
