import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { isFiring } from '../../../src/bot/incidents/watch-state.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { type AskwatchProcess, startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { expectNoBreach, shown, socketMode } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { post } from '../../helpers/http/running-server.ts';
import { delivery } from '../../helpers/intake/intake-server.ts';
import { long } from '../../helpers/long.ts';
import { createRandom } from '../../helpers/random.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { seed } from '../../helpers/seed.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const START = Date.UTC(2026, 10, 22, 14);

/** A folder of the program with an intake of the channel. */
async function withIntake() {
  const dataDir = await temporaryFolder();
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder: `${dataDir}/data`, log });
  const intakes = await createIntakes(store);
  const place = { platform: 'slack', channel: CHANNEL };
  const { token } = await intakes.add(place, { kind: 'alertmanager', by: 'Amy' });
  await store.close();
  return { dataDir, token };
}

/** Data of a stopped program. */
async function stored(dataDir: string) {
  const store = await openLowdbStore({ folder: `${dataDir}/data`, log: recordingLog().log });
  const state = (await openWatchState(store)).current();
  await store.close();
  return state;
}

function start(dataDir: string, slack: SlackFake) {
  return startAskwatch({ dataDir, env: { ...socketMode(slack), LOG_LEVEL: 'warn' } });
}

/** The most memory that a program has had, in MB. */
async function peakMb({ pid }: AskwatchProcess): Promise<number> {
  const [, kb = '0'] = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kb) / 1024;
}

test('acknowledged alerts survive a storm of hundreds a second, and the channel gets two messages', {
  timeout: 300_000,
}, async () => {
  const [count, lastsMs] = long ? [10_000, 10_000] : [1_000, 5_000];
  const slack = await startSlack();
  const { dataDir, token } = await withIntake();
  const askwatch = await start(dataDir, slack);
  const url = `${askwatch.url}/hooks/alertmanager/${token}`;
  const statuses = new Map<number, number>();
  const taken: string[] = [];
  let next = 0;
  const beganMs = performance.now();
  async function send() {
    while (next < count) {
      const at = next++;
      const dueMs = beganMs + (at / count) * lastsMs;
      if (performance.now() < dueMs)
        await new Promise((resolve) => setTimeout(resolve, dueMs - performance.now()));
      const { status } = await fetch(url, post(delivery([{ name: `Alert ${at}` }])));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) taken.push(`Alert ${at}`);
    }
  }
  await Promise.all(Array.from({ length: 400 }, send));
  const tookMs = performance.now() - beganMs;
  const memoryMb = await peakMb(askwatch);
  await eventually(() => shown(slack).some((text) => /\d alerts are active/.test(text)));
  expect(await askwatch.stop()).toBe(0);
  const state = await stored(dataDir);
  const firing = new Set(state?.reported?.filter(isFiring).map(({ name }) => name));
  expect(taken.filter((name) => !firing.has(name))).toEqual([]);
  expect(taken.length).toBeGreaterThan(count / 2);
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(shown(slack).length).toBeLessThanOrEqual(2);
  expect(memoryMb).toBeLessThan(1_000);
  if (long || process.env.ASKWATCH_TEST_SAYS) {
    console.log({ count, tookMs, memoryMb, statuses: Object.fromEntries(statuses) });
  }
  expectNoBreach(slack);
});

test('alerts that fire and resolve while the program is killed with -9 again and again are told once and in order', {
  timeout: long ? 1_800_000 : 300_000,
}, async () => {
  const kills = long ? 30 : 2;
  const slack = await startSlack();
  const { dataDir, token } = await withIntake();
  const random = createRandom(seed());
  let askwatch = await start(dataDir, slack);

  /** Sends as an Alertmanager does: again, until it is taken. */
  async function deliver(name: string, status: 'firing' | 'resolved', startedAtMs: number) {
    const body = delivery([{ name, status, startsAt: new Date(startedAtMs).toISOString() }]);
    await eventually(
      async () => {
        const url = `${askwatch.url}/hooks/alertmanager/${token}`;
        const answer = await fetch(url, post(body)).catch(() => undefined);
        return answer?.status === 200;
      },
      { withinMs: 60_000, what: `${name} to be taken` },
    );
  }

  let isOver = false;
  let rounds = 0;
  const names = ['One', 'Two', 'Three'];
  async function live(name: string) {
    for (let round = 0; !isOver; round += 1) {
      // A minute apart: hundreds of rounds must not reach the future, where a start is not believed.
      const startedAtMs = START + round * 60_000;
      await deliver(name, 'firing', startedAtMs);
      await deliver(name, 'resolved', startedAtMs);
      // A cluster peer that doesn't know about the end yet.
      await deliver(name, 'firing', startedAtMs);
      rounds += 1;
    }
  }
  const living = Promise.all(names.map(live));
  for (let kill = 0; kill < kills; kill += 1) {
    const before = rounds;
    const untilMs = performance.now() + random() * 1_500;
    await eventually(() => rounds > before && performance.now() >= untilMs, { withinMs: 60_000 });
    await askwatch.kill();
    askwatch = await start(dataDir, slack);
  }
  isOver = true;
  await living;
  await deliver('Last', 'firing', START);
  await eventually(() => shown(slack).some((text) => text.includes('Last')), { withinMs: 90_000 });
  await askwatch.kill();
  const state = await stored(dataDir);
  const left = state?.reported?.map(({ name, status }) => `${name} ${status}`).sort();
  expect(left).toEqual(['Last FIRING', ...names.map((name) => `${name} RESOLVED`)].sort());
  // Only flapping alerts are still open.
  const open = state?.alerts.filter(
    (alert) => alert.kind === 'incident' && alert.endedAtMs === undefined && !alert.flapping,
  );
  expect(open?.map((alert) => alert.kind === 'incident' && alert.name)).toEqual(['Last']);
  const ids = slack.messages(CHANNEL).map(({ ts }) => ts);
  expect(new Set(ids).size).toBe(ids.length);
  // Three flapping alerts: two messages each, one with the count, and one about all of them.
  const perAlert = names.map((name) => shown(slack).filter((text) => text.includes(name)).length);
  expect(Math.max(...perAlert)).toBeLessThanOrEqual(6);
  expectNoBreach(slack);
});
