import { expect, onTestFinished, test } from 'vitest';
import { alertCard, lasted, lineCard } from '../../../src/bot/alerts/alert-card.ts';
import { openLastPoll } from '../../../src/bot/watch/last-poll.ts';
import type { Store } from '../../../src/store/store.ts';
import { counting, startAdditions, startSteppedWatch } from '../../helpers/bot/stepped-watch.ts';
import { textOf } from '../../helpers/bot.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const START = 1_800_000_000_000;
const MINUTE = 60_000;

/** One run over a folder: a real store that counts what is written. */
async function run(folder: string, { pollMs = 5000 } = {}) {
  const { log } = recordingLog();
  const store = await openTestStore({ folder, log });
  let writes = 0;
  const counted: Store = {
    ...store,
    collection(declaration) {
      const collection = store.collection(declaration);
      return {
        ...collection,
        update(id, change) {
          writes += 1;
          return collection.update(id, change);
        },
      };
    },
  };
  const polls = await openLastPoll(counted, { pollMs });
  onTestFinished(store.close);
  return { ...polls, writes: () => writes, leave: store.close };
}

test('a poll is late after three usual waits, or a minute', async () => {
  for (const [pollMs, allowedMs] of [
    [5_000, MINUTE],
    [30_000, 90_000],
  ] as const) {
    const polls = await run(await temporaryFolder(), { pollMs });
    await polls.polled(START);
    expect(polls.gapBefore(START + allowedMs)).toBeUndefined();
    expect(polls.gapBefore(START + allowedMs + 1)).toBe(START);
    // The clock was set back.
    expect(polls.gapBefore(START - 10 * MINUTE)).toBeUndefined();
  }
});

test('nothing is late before the first poll ever', async () => {
  expect((await run(await temporaryFolder())).gapBefore(START)).toBeUndefined();
});

test('the time of the last poll is stored once a minute, and at the end', async () => {
  const folder = await temporaryFolder();
  const first = await run(folder);
  for (let afterMs = 0; afterMs <= 3 * MINUTE - 5000; afterMs += 5000) {
    await first.polled(START + afterMs);
  }
  expect(first.writes()).toBe(3);
  await first.end();
  expect(first.writes()).toBe(4);
  await first.leave();
  const last = START + 3 * MINUTE - 5000;
  const second = await run(folder);
  expect(second.gapBefore(last + MINUTE)).toBeUndefined();
  expect(second.gapBefore(last + MINUTE + 1)).toBe(last);
  // A run that saw nothing leaves what the one before it knew.
  await second.end();
  await second.leave();
  expect((await run(folder)).gapBefore(last + MINUTE + 1)).toBe(last);
});

test('a minute that was polled before a kill is not reported as unseen', async () => {
  const folder = await temporaryFolder();
  const killed = await run(folder);
  for (let afterMs = 0; afterMs < MINUTE; afterMs += 5000) await killed.polled(START + afterMs);
  await killed.leave();
  const next = await run(folder);
  expect(next.gapBefore(START + MINUTE + 10_000)).toBeUndefined();
  expect(next.gapBefore(START + 2 * MINUTE + 1)).toBe(START);
  await next.polled(START + MINUTE + 10_000);
  expect(next.gapBefore(START + 2 * MINUTE + 10_000)).toBeUndefined();
});

/** Two monitors of a service that does not say since when, and a watch that was stopped while one is down. */
async function stopWatching() {
  const folder = await temporaryFolder();
  const monitors = [counting('a', 0), counting('b', 0, { status: 'UP' })];
  for (const monitor of monitors) delete monitor.status_changes;
  const service = await startAdditions(monitors);
  const first = await startSteppedWatch(service, { folder, nowMs: START });
  Object.assign(monitors[1] ?? {}, { status: 'DOWN' });
  await first.poll(START + 30_000);
  await first.close();
  Object.assign(monitors[0] ?? {}, { status: 'DOWN' });
  Object.assign(monitors[1] ?? {}, { status: 'UP' });
  return { folder, monitors, service };
}

test('a change while nobody polled is reported with the times between which it was', async () => {
  const { folder, monitors, service } = await stopWatching();
  const later = START + 30 * MINUTE;
  const watch = await startSteppedWatch(service, { folder, nowMs: later });
  const [b, a] = watch.incidents();
  if (!a || !b) throw new Error('There are not two incidents.');
  expect(a).toMatchObject({ monitorId: 'a', unseenFromMs: START + 30_000, startedAtMs: later });
  const card = alertCard(a, {});
  expect(textOf(card)).toContain(
    `\nWent down after: at ${START + 30_000}\nWent down before: at ${later}\nNoticed late: Askwatch wasn’t watching in between\n`,
  );
  expect(textOf(card)).not.toContain('Since');
  expect(b).toMatchObject({ endUnseenFromMs: START + 30_000, endedAtMs: later });
  expect(textOf(alertCard(b, { shownOpen: true }))).toContain(
    `\nRecovered after: at ${START + 30_000}\nRecovered before: at ${later}\nDuration: at most 29 minutes 30 seconds\n`,
  );
  // From here on somebody watches.
  Object.assign(monitors[0] ?? {}, { status: 'UP' });
  await watch.poll(later + 5 * 1000);
  const over = watch.incidents().find(({ monitorId }) => monitorId === 'a');
  expect(over?.endUnseenFromMs).toBeUndefined();
  const line = { what: 'end' as const, id: 'x', atMs: 0, attempted: false };
  expect(over && lineCard(over, line).title).toBe('Name of a recovered after at least 5 s');
});

test('a time without an answer of the service counts as not polled', async () => {
  const monitor = counting('a', 0);
  const service = await startAdditions([monitor]);
  const watch = await startSteppedWatch(service, { nowMs: START });
  service.show(false);
  await watch.poll(START + MINUTE);
  await watch.poll(START + 2 * MINUTE);
  service.show(true);
  monitor.status = 'DOWN';
  await watch.poll(START + 3 * MINUTE);
  expect(watch.incidents()).toMatchObject([{ monitorId: 'a', unseenFromMs: START }]);
});

test('a service that gives the time of a change is believed, whenever it is polled', async () => {
  const saidMs = START + 10 * MINUTE;
  const said = { status_changed_at: new Date(saidMs).toISOString() };
  const monitors = [counting('a', 0, { ...said, status: 'DOWN' }), counting('b', 0)];
  const service = await startAdditions(monitors);
  const watch = await startSteppedWatch(service, { nowMs: START + 20 * MINUTE });
  const [found] = watch.incidents();
  expect(found).toMatchObject({ startedAtMs: saidMs, foundAtStart: true });
  expect(found && textOf(alertCard(found, {}))).toContain(
    `\nSince: at ${saidMs}\nNoticed: when Askwatch started watching\n`,
  );
  const downMs = START + 30 * MINUTE;
  Object.assign(monitors[1] ?? {}, {
    ...{ status: 'DOWN', status_changed_at: new Date(downMs).toISOString() },
  });
  await watch.poll(START + 60 * MINUTE);
  const late = watch.incidents().find(({ monitorId }) => monitorId === 'b');
  expect(late).toMatchObject({ startedAtMs: downMs });
  expect(late?.unseenFromMs).toBeUndefined();
});

test('more than five late outages are one message, which says so', async () => {
  const monitors = Array.from({ length: 6 }, (_, at) => counting(`m${at}`, 0));
  const service = await startAdditions(monitors);
  const watch = await startSteppedWatch(service, { nowMs: START });
  for (const monitor of monitors) monitor.status = 'DOWN';
  await watch.poll(START + 10 * MINUTE);
  const told = watch.alerts().filter(({ deliveries }) => deliveries.length > 0);
  expect(told).toHaveLength(1);
  const group = told[0];
  if (!group) throw new Error('Nothing is told.');
  expect(textOf(alertCard(group, {}))).toMatch(
    /^6 services are down\n(.*\n)+All noticed late: Askwatch wasn’t watching\.\n/,
  );
  for (const monitor of monitors) monitor.status = 'UP';
  await watch.poll(START + 11 * MINUTE);
  const over = watch.alerts().find(({ kind }) => kind === 'group');
  expect(over && textOf(alertCard(over, { shownOpen: true }))).toContain(
    'Name of m0: was down for at least 1 minute\n',
  );
});

test('a duration of an outage with unseen time is shown as a bound', () => {
  const times = { startedAtMs: START, endedAtMs: START + 10 * MINUTE };
  const [early, late] = [START - 5 * MINUTE, START + 4 * MINUTE];
  expect(lasted(times)).toBe('10 minutes');
  expect(lasted({ ...times, unseenFromMs: early })).toBe('at least 10 minutes');
  expect(lasted({ ...times, endUnseenFromMs: late })).toBe('at most 10 minutes');
  expect(lasted({ ...times, unseenFromMs: early, endUnseenFromMs: late })).toBe(
    'at most 15 minutes',
  );
  expect(lasted({ ...times, unseenFromMs: 0, endUnseenFromMs: late })).toBe('at least 4 minutes');
});
