import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSender } from '../../../src/bot/alerts/sender.ts';
import { nextFor } from '../../../src/bot/incidents/delivery.ts';
import { withMissedChanges } from '../../../src/bot/incidents/missed-incidents.ts';
import type { Incident } from '../../../src/bot/incidents/watch-state.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { Clock } from '../../../src/bot/shared/clock.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import type { Incident as Outage } from '../../../src/contracts/monitoring-additions.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const PLACE = 'slack:C1';

/** The status of a monitor from one moment on. */
interface Change {
  atMs: number;
  status: string;
}

/** From one poll to the next: what the monitor is one after another meanwhile; often nothing. */
interface Step {
  ms: number;
  statuses: string[];
}

function stepsOf(...statuses: string[]): fc.Arbitrary<Step[]> {
  const step = fc.record({
    ms: fc.oneof(
      fc.integer({ min: 1, max: 30 }).map((seconds) => seconds * SECOND),
      fc.integer({ min: 30, max: 600 }).map((seconds) => seconds * SECOND),
    ),
    statuses: fc.oneof(
      { weight: 3, arbitrary: fc.array(fc.constantFrom(...statuses), { maxLength: 1 }) },
      { weight: 1, arbitrary: fc.array(fc.constantFrom(...statuses), { maxLength: 7 }) },
    ),
  });
  return fc.array(step, { minLength: 3, maxLength: 40 });
}

/**
 * One monitor, the poller, the sender and a channel, over a real store. With `counts` the service reports missed
 * outages.
 */
async function openWorld(counts: boolean) {
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
  const state = await openWatchState(store);
  const slack = createScriptedPlatform('slack');
  const posted: Array<{ atMs: number; id: string }> = [];
  const started = 1_800_000_000_000;
  let nowMs = started;
  let made = 0;
  /** Since when the polls saw it DOWN without a break. */
  let downFromMs: number | undefined;
  const wrong: string[] = [];
  let waiting: Array<{ untilMs: number; resolve: () => void }> = [];
  const changes: Change[] = [{ atMs: nowMs, status: 'UP' }];
  const clock: Clock = {
    nowMs: () => nowMs,
    async pause(ms, signal) {
      if (signal.aborted) return;
      await new Promise<void>((resolve) => {
        waiting.push({ untilMs: nowMs + ms, resolve });
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    },
  };
  const place = { platform: 'slack', channel: 'C1' } as const;
  const settingsOf = async () => ({});
  const alerting = { alertPlaces: [place], settingsOf, clock, random: () => 0.5, log };
  const sender = createSender({ state, ...alerting });
  sender.start([
    {
      ...slack,
      async post(post) {
        posted.push({ atMs: nowMs, id: post.id });
        return await slack.post(post);
      },
    },
  ]);

  async function pollNow() {
    const monitor = monitorAt(changes, counts);
    const outages = outagesOf(changes).reverse().slice(0, 20);
    const missed = withMissedChanges(state.current(), [monitor]).map((one) => ({
      ...one,
      outages,
    }));
    const around = { nowMs, newId: () => `i${++made}`, placesFor: () => [PLACE] };
    await state.update(
      (watching) => applyPoll(watching, [monitor], around, { missed, later: new Set() }).watching,
    );
    sender.wake();
    await told();
    const isDownNow = monitor.status === 'DOWN';
    const seenFromMs = counts ? (changes.at(-1)?.atMs ?? 0) : nowMs;
    downFromMs = isDownNow ? ((counts ? undefined : downFromMs) ?? seenFromMs) : undefined;
  }
  const told = () => eventually(() => !nextFor(state.current(), PLACE, nowMs));
  const incidents = () =>
    (state.current()?.alerts ?? []).filter((alert): alert is Incident => alert.kind === 'incident');

  /** It has been down for three checks without a message that mentioned people recently. */
  function isHidden(): boolean {
    if (downFromMs === undefined || nowMs - downFromMs < 3 * MINUTE) return false;
    const isAlert = incidents().some((one) => one.endedAtMs === undefined && !one.flapping);
    const isSaid = slack.messages.some(({ card }) => card.title === 'A is down');
    const calledMs = Math.max(...callsOf(incidents(), posted));
    return !(isAlert && isSaid) && nowMs - calledMs >= 15 * MINUTE;
  }

  const goOn = (ms: number) => {
    nowMs += ms;
    const due = waiting.filter(({ untilMs }) => untilMs <= nowMs);
    waiting = waiting.filter(({ untilMs }) => untilMs > nowMs);
    for (const { resolve } of due) resolve();
  };

  /** Messages of a flapping monitor that don't match the last poll. */
  function stale(): string[] {
    const known = state.current()?.known[0]?.status ?? '';
    const flaps = incidents().findLast((one) => one.flapping && one.endedAtMs === undefined);
    const shown = slack.messages.filter(({ card }) =>
      / goes down and up: | after \d+ change/.test(card.title),
    );
    const since = `now ${known} since ${utc(flaps?.flapping?.changedAtMs ?? 0)}`;
    return shown.map(stateOf).filter((title) => title !== since && isOn(known));
  }
  await pollNow();
  return {
    slack,
    posted,
    wrong,
    changes,
    nowMs: () => nowMs,
    incidents,
    alerts: () => state.current()?.alerts ?? [],
    async step({ ms, statuses }: Step) {
      statuses.forEach((status, at) => {
        if (status === changes.at(-1)?.status) return;
        changes.push({ atMs: nowMs + Math.ceil((ms * (at + 1)) / statuses.length), status });
      });
      if (ms > MINUTE) {
        // Whatever happens next, and though nobody looks.
        goOn(MINUTE);
        await told();
        wrong.push(...stale());
      }
      goOn(ms > MINUTE ? ms - MINUTE : ms);
      await pollNow();
      if (isHidden()) wrong.push(`at ${nowMs - started} it stays DOWN, and nobody knows`);
    },
    async close() {
      await sender.stop();
      await store.close();
    },
  };
}

const isOn = (status: string) => status === 'UP' || status === 'DOWN';

const utc = (ms: number) => `${new Date(ms).toISOString().slice(11, 16)} UTC`;

/** `now DOWN since 08:00 UTC`, as a message says it: in its title and a fact, or in a line of one about several. */
function stateOf({ card }: { card: Card }): string {
  const facts = card.parts.flatMap((part) => (part.kind === 'facts' ? part.facts : []));
  const [, status] = / (now \w+)$/.exec(card.title) ?? [];
  const value = facts.find(({ label }) => /^(Up|Down) since$/.test(label))?.value;
  if (typeof value === 'object') return `${status} since ${utc(value.atMs)}`;
  const line = facts.find(({ label }) => label === 'A')?.value;
  const [said = ''] = /now \w+ since [\d:]+ UTC/.exec(`${line}`) ?? [];
  return said.startsWith(`${status} `) ? said : `${card.title}: ${said}`;
}

/** When people were called because it stayed DOWN after it flapped. */
function callsOf(
  incidents: readonly Incident[],
  posted: ReadonlyArray<{ atMs: number; id: string }>,
): number[] {
  return incidents.flatMap(({ flapped, flapping, openedAtMs, deliveries }) => {
    if (!flapped && flapping?.rungAtMs !== openedAtMs) return [];
    const post = posted.find(({ id }) => id === deliveries[0]?.postId);
    return post ? [post.atMs] : [];
  });
}

function monitorAt(changes: readonly Change[], counts: boolean): Monitor {
  const { status = 'UP', atMs = 0 } = changes.at(-1) ?? {};
  return {
    ...{ id: 'a', name: 'A', check_type: 'HTTP', target: 'https://a.example', status },
    interval_seconds: 60,
    ...(counts && {
      status_changes: changes.length - 1,
      status_changed_at: new Date(atMs).toISOString(),
    }),
  };
}

function outagesOf(changes: readonly Change[]): Outage[] {
  return changes.flatMap(({ status, atMs }, change): Outage[] => {
    if (status !== 'DOWN') return [];
    const next = changes[change + 1];
    const started_at = new Date(atMs).toISOString();
    return [
      {
        ...{ id: `a:${change}`, change, started_at, cause: 'x', outcome: 'status' },
        ended_at: next ? new Date(next.atMs).toISOString() : null,
        ended_as: next?.status ?? null,
      },
    ];
  });
}

/** When it went down by the book: DOWN again is the same outage as long as it was not UP in between. */
function downsOf(changes: readonly Change[]): number[] {
  let isDown = false;
  return changes.flatMap(({ status, atMs }) => {
    const wasDown = isDown;
    if (status === 'DOWN') isDown = true;
    if (status === 'UP') isDown = false;
    return isDown && !wasDown ? [atMs] : [];
  });
}

/** A service without missed outages, as polled at these moments. */
function seenAt(changes: readonly Change[], looksMs: readonly number[]): Change[] {
  return looksMs.flatMap((lookMs, at) => {
    const now = changes.findLast(({ atMs }) => atMs <= lookMs)?.status ?? 'UP';
    const before =
      at === 0 ? undefined : changes.findLast(({ atMs }) => atMs <= (looksMs[at - 1] ?? 0));
    return now === before?.status ? [] : [{ atMs: lookMs, status: now }];
  });
}

async function live(steps: readonly Step[], counts: boolean) {
  const world = await openWorld(counts);
  const looksMs = [world.nowMs()];
  for (const step of steps) {
    await world.step(step);
    looksMs.push(world.nowMs());
  }
  // Whatever was, it is up then and stays so; that it is calm is seen within as long again.
  await world.step({ ms: SECOND, statuses: ['UP'] });
  looksMs.push(world.nowMs());
  for (let at = 0; at < 33; at += 1) await world.step({ ms: 30 * SECOND, statuses: [] });
  await world.close();
  const seen = counts ? world.changes : seenAt(world.changes, looksMs);
  return { ...world, seen };
}

/** A line must report the end too. */
const isSaid = (title: string) =>
  /^A (recovered|is stable again |was down for |was down .*, then was (?!in maintenance|paused))/.test(
    title,
  );

type Lived = Awaited<ReturnType<typeof live>>;

/** The messages never come thick, all end, and each that was seen beginning has an end line. */
function checkMessages({ posted, slack, alerts, incidents, wrong }: Lived) {
  expect(wrong).toEqual([]);
  const isMild = (id: string) => {
    const title = slack.messages.find((message) => message.id === id)?.titles[0] ?? '';
    return /^A (is degraded$|is no longer degraded|was degraded )/.test(title);
  };
  const mild = posted.filter(({ id }) => isMild(id));
  const loud = posted.filter(({ id }) => !isMild(id));
  for (const [at, { atMs }] of mild.entries()) {
    const second = mild[at + 1];
    if (second) expect(second.atMs - atMs).toBeGreaterThanOrEqual(15 * MINUTE);
  }
  // Two outages, the third that flaps, and that it stays DOWN; then nothing for a while.
  for (const [at, { atMs }] of loud.entries()) {
    const fifth = loud[at + 4];
    if (fifth) expect(fifth.atMs - atMs).toBeGreaterThanOrEqual(15 * MINUTE);
  }
  for (const calledMs of callsOf(incidents(), posted)) {
    const next = loud.find(({ atMs }) => atMs > calledMs);
    if (next) expect(next.atMs - calledMs).toBeGreaterThanOrEqual(15 * MINUTE);
  }
  for (const alert of alerts()) expect(alert).toHaveProperty('endedAtMs');
  expect(slack.messages.map(({ id }) => id)).toEqual(posted.map(({ id }) => id));
  for (const { id, card, titles, lines } of slack.messages) {
    if (isMild(id)) {
      expect(card.title).toMatch(/^A (is no longer degraded|was degraded( for .*|, then down))$/);
      expect([...lines.values()]).toEqual([]);
      continue;
    }
    const sawOpen = titles.some((title) => /^A is (?!stable)/.test(title));
    expect(card.title).toMatch(
      sawOpen
        ? /^A (recovered|is stable again \(down|was down for .*, then |was down \d+ times in .*, then (stayed|was) )/
        : /^A was down/,
    );
    // A monitor that went down again soon ends once more.
    const ends = titles.filter((title, at) => isSaid(title) && !isSaid(titles[at - 1] ?? ''));
    const said = [...lines.values()];
    expect(said).toHaveLength(sawOpen ? ends.length : 0);
    if (sawOpen && isSaid(card.title)) expect(said.at(-1)?.startsWith(card.title)).toBe(true);
  }
}

/** Every outage is in a message, flapping counts all its outages, and later messages are about later outages. */
function checkCounts({ seen, incidents }: Lived) {
  const downs = downsOf(seen);
  const told = incidents().filter(({ degraded }) => degraded === undefined);
  const spans = told.map(({ startedAtMs, endedAtMs = startedAtMs, flapping, deliveries }) => {
    const carried = deliveries[0]?.earlier?.fromMs ?? startedAtMs;
    return {
      fromMs: Math.min(carried, flapping?.fromMs ?? startedAtMs),
      toMs: Math.max(endedAtMs, flapping?.changedAtMs ?? 0),
    };
  });
  for (const atMs of downs) {
    expect(spans.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs)).toBe(true);
  }
  for (const { flapping } of told) {
    if (!flapping) continue;
    const { fromMs, changedAtMs } = flapping;
    const own = downs.filter((atMs) => atMs >= fromMs && atMs <= changedAtMs);
    expect(flapping.downs).toBe(own.length);
    expect(own.length).toBeGreaterThanOrEqual(3);
  }
  const starts = told.map(({ startedAtMs }) => startedAtMs);
  expect(starts).toEqual([...starts].sort((a, b) => a - b));
}

const numRuns = long ? 500 : 8;

const quiet = (...seconds: number[]): Step[] =>
  seconds.map((one) => ({ ms: one * SECOND, statuses: [] }));

/** Histories that once went wrong. */
const KNOWN: Step[][] = [
  // It stayed DOWN after flapping, and one message has the outages before.
  [
    { ms: 30 * SECOND, statuses: ['DOWN', 'UP', 'DOWN', 'UP'] },
    { ms: SECOND, statuses: ['DOWN'] },
    ...quiet(247, 594, 27, 2, 30),
  ],
  // It stayed DOWN after flapping, recovered, and goes down again.
  [
    { ms: 30 * SECOND, statuses: ['DOWN'] },
    { ms: 30 * SECOND, statuses: ['UP'] },
    { ms: 94 * SECOND, statuses: ['DOWN', 'UP', 'DOWN', 'DOWN', 'DOWN', 'DOWN'] },
    ...quiet(454, 16, 19, 11, 353),
    { ms: SECOND, statuses: ['UP', 'DOWN'] },
    ...quiet(30, 30, 1),
  ],
];

/** It was DEGRADED between outages and then flaps, so its first message had no mention. */
const MILD_FIRST: Step[] = [
  { ms: 30 * SECOND, statuses: ['DOWN', 'UP', 'DOWN'] },
  { ms: 30 * SECOND, statuses: ['UP', 'DEGRADED'] },
  { ms: SECOND, statuses: ['DOWN', 'UP'] },
  ...quiet(1, 1, 1),
];

test.each([
  { service: 'counts changes', counts: true },
  { service: 'tells only what is', counts: false },
])(
  'of a monitor that is UP or DOWN, at a service that $service, all is told and counted in few messages',
  async ({ counts }) => {
    await fc.assert(
      fc.asyncProperty(stepsOf('UP', 'DOWN'), async (steps) => {
        const lived = await live(steps, counts);
        checkMessages(lived);
        checkCounts(lived);
      }),
      { numRuns, examples: KNOWN.map((steps) => [steps]) },
    );
  },
  600_000,
);

test('a monitor that is also paused, slow or in maintenance gets few messages that count everything', async () => {
  const any = stepsOf('UP', 'DOWN', 'UP', 'DOWN', 'MAINTENANCE', 'PAUSED', 'DEGRADED');
  await fc.assert(
    fc.asyncProperty(any, fc.boolean(), async (steps, counts) => {
      const lived = await live(steps, counts);
      checkMessages(lived);
      if (!counts) checkCounts(lived);
    }),
    { numRuns, examples: [...KNOWN, MILD_FIRST].map((steps) => [steps, true]) },
  );
}, 600_000);
