import { describe, expect, test } from 'vitest';
import { withMissedChanges } from '../../../src/bot/incidents/missed-incidents.ts';
import type { Group, Incident, Watching } from '../../../src/bot/incidents/watch-state.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import type { Incident as Outage } from '../../../src/contracts/monitoring-additions.ts';

const START_MS = Date.parse('2026-11-22T12:00:00Z');
const minutes = (count: number) => START_MS + count * 60_000;
const iso = (minute: number) => new Date(minutes(minute)).toISOString();

/** When a monitor was down, in minutes, such as `1-2 3-4 5`; the last one may go on. */
const downsOf = (text: string) =>
  text.match(/\S+/g)?.map((down): [from: number, to?: number] => {
    const [from = 0, to] = down.split('-').map(Number);
    return [from, to];
  }) ?? [];

/** A bot that looks at a monitor which was UP at minute 0, at a service that counts changes. */
function openWatch() {
  let watching: Watching | undefined;
  let made = 0;
  function pollAt(minute: number, all: string, asks = true) {
    const downs = downsOf(all).filter(([from]) => from <= minute);
    const [from = 0, to] = downs.at(-1) ?? [];
    const isDown = downs.length > 0 && (to === undefined || to > minute);
    const monitor = {
      ...{ id: 'shop', name: 'Shop', check_type: 'HTTP', target: 'https://shop.example' },
      ...{ status: isDown ? 'DOWN' : 'UP', interval_seconds: 60 },
      status_changes: 2 * downs.length - (isDown ? 1 : 0),
      status_changed_at: iso(isDown ? from : (to ?? 0)),
    };
    const outages = downs.map(([began, ended = minute + 1], at): Outage => {
      const isOver = ended <= minute;
      return {
        ...{ id: `${at}`, change: 2 * at + 1, started_at: iso(began), cause: 'answered 503' },
        ...{ outcome: 'status', ended_at: isOver ? iso(ended) : null },
        ended_as: isOver ? 'UP' : null,
      };
    });
    const changed = withMissedChanges(watching, [monitor]);
    const between = {
      missed: asks ? changed.map((one) => ({ ...one, outages })) : [],
      later: new Set(asks ? [] : changed.map((one) => one.monitor.id)),
    };
    const newId = () => `i${++made}`;
    const around = { nowMs: minutes(minute), newId, placesFor: () => ['slack:C1'] };
    ({ watching } = applyPoll(watching, [monitor], around, between));
    return watching.alerts;
  }
  pollAt(0, '');
  return {
    pollAt,
    /** Marks every message as delivered. */
    tell() {
      const alerts = watching?.alerts.map((alert) => ({
        ...alert,
        deliveries: alert.deliveries.map((one) => ({
          ...{ ...one, attempted: true, deliveredVersion: alert.version, shownOpen: true },
          posted: { message: one.postId, thread: one.postId },
          postedAtMs: alert.openedAtMs,
        })),
      }));
      if (watching && alerts) watching = { ...watching, alerts };
    },
    incidents: () =>
      (watching?.alerts ?? []).filter((alert): alert is Incident => alert.kind === 'incident'),
    groups: () =>
      (watching?.alerts ?? []).filter((alert): alert is Group => alert.kind === 'group'),
  };
}

/** A shop with two reported outages. */
function openTwiceDown() {
  const watch = openWatch();
  watch.pollAt(1, '1');
  watch.pollAt(2, '1-2');
  watch.pollAt(3, '1-2 3');
  watch.pollAt(4, '1-2 3-4');
  watch.tell();
  return watch;
}

describe('outages between two polls', () => {
  test('are one message when there were many, however far apart', () => {
    const watch = openWatch();
    watch.pollAt(600, '60-61 120-121 180-181 240-241 300-301');
    expect(watch.incidents()).toMatchObject([{ flapping: { downs: 5, isDown: false } }]);
    expect(watch.incidents()[0]?.deliveries).toHaveLength(1);
  });

  test('count as flapping by the times when they were, also when the last is reported late', () => {
    const watch = openWatch();
    watch.pollAt(1, '1');
    watch.pollAt(2, '1-2');
    watch.pollAt(14, '1-2 14');
    watch.tell();
    watch.pollAt(25, '1-2 14-15 15.5-15.8');
    expect(watch.incidents().at(-1)).toMatchObject({ flapping: { downs: 3, isDown: false } });
  });

  test('are carried by the one that goes on, in one message', () => {
    const watch = openWatch();
    watch.pollAt(9, '1-2 3-4 8');
    expect(watch.incidents()).toMatchObject([{ status: 'DOWN', flapping: { downs: 3 } }]);
    expect(watch.incidents()[0]?.deliveries).toHaveLength(1);
    expect(watch.incidents()[0]?.deliveries[0]?.earlier).toBeUndefined();
  });

  test.each([
    {
      name: 'two',
      before: '1-2 3-4',
      earlier: 2,
    },
    {
      name: 'three',
      before: '1-2 3-4 5-6',
      earlier: 3,
    },
  ])('do not hide an outage that has been on for long, after $name', ({ before, earlier }) => {
    const watch = openWatch();
    watch.pollAt(60, `${before} 10`);
    expect(watch.incidents()).toMatchObject([
      { status: 'DOWN', startedAtMs: minutes(10), deliveries: [{ earlier: {} }] },
    ]);
    expect(watch.incidents()[0]?.flapping).toBeUndefined();
    expect(watch.incidents()[0]?.deliveries).toHaveLength(1);
    expect(watch.incidents()[0]?.deliveries[0]?.earlier?.count).toBe(earlier);
  });

  test('were delivered already when one that has been on for long is reported late', () => {
    const watch = openTwiceDown();
    watch.pollAt(28, '1-2 3-4 10');
    const last = watch.incidents().at(-1);
    expect(last).toMatchObject({ status: 'DOWN', startedAtMs: minutes(10) });
    expect(last?.deliveries).toEqual([expect.not.objectContaining({ earlier: expect.anything() })]);
  });

  test('are counted when they are fetched later, and do not end the flapping', () => {
    const watch = openTwiceDown();
    // Two outages at once. The first can't be fetched yet.
    watch.pollAt(7, '1-2 3-4 5-6 7', false);
    expect(watch.incidents().at(-1)).toMatchObject({ flapping: { downs: 3 } });
    watch.pollAt(9, '1-2 3-4 5-6 7-8', false);
    watch.pollAt(10, '1-2 3-4 5-6 7-8');
    const flapping = { downs: 4, isDown: false, changedAtMs: minutes(8) };
    expect(watch.incidents().at(-1)).toMatchObject({ flapping });
    expect(watch.incidents().at(-1)?.endedAtMs).toBeUndefined();
    watch.pollAt(25, '1-2 3-4 5-6 7-8');
    expect(watch.incidents().at(-1)).toMatchObject({ endedAtMs: minutes(8), flapping });
  });

  test('outages fetched later turn the ongoing one into flapping without a second message', () => {
    const watch = openWatch();
    const all = '1-2 3-4 5';
    watch.pollAt(5, all, false);
    watch.tell();
    expect(watch.incidents()).toMatchObject([{ change: 5 }]);
    watch.pollAt(6, all);
    const open = () => watch.incidents().filter(({ endedAtMs }) => endedAtMs === undefined);
    expect(open()).toMatchObject([{ change: 5, flapping: { downs: 3, isDown: true } }]);
    // Its alert was just posted.
    watch.pollAt(19, all);
    expect(open()).toMatchObject([{ change: 5, flapping: { downs: 3 } }]);
    watch.pollAt(20, all);
    expect(open()).toMatchObject([{ change: 5, flapped: { downs: 3 } }]);
  });

  /** A shop that flapped, told in its place. */
  function openFlapping() {
    const watch = openTwiceDown();
    watch.pollAt(5, '1-2 3-4 5');
    watch.tell();
    return watch;
  }

  test('outages after the alert of a monitor that stays DOWN are counted in its message', () => {
    const watch = openFlapping();
    watch.pollAt(8, '1-2 3-4 5');
    watch.tell();
    const alert = watch.incidents().at(-1);
    expect(alert).toMatchObject({ status: 'DOWN', startedAtMs: minutes(5) });
    const all = '1-2 3-4 5-8.5 9-9.2 9.4-9.6';
    watch.pollAt(10, all);
    expect(watch.incidents().at(-1)).toMatchObject({
      id: alert?.id,
      flapping: { downs: 5, isDown: false, changedAtMs: minutes(9.6), mentionedAtMs: minutes(8) },
    });
    expect(watch.incidents().at(-1)?.endedAtMs).toBeUndefined();
    watch.pollAt(25, all);
    expect(watch.incidents().at(-1)).toMatchObject({ id: alert?.id, endedAtMs: minutes(9.6) });
  });

  test('do not delay or hide the alert that it stays DOWN while they cannot be fetched', () => {
    const watch = openFlapping();
    const all = '1-2 3-4 5-5.2 5.4-5.6 6';
    watch.pollAt(6, all, false);
    watch.pollAt(8, all, false);
    expect(watch.incidents().at(-1)).toMatchObject({ flapping: { downs: 3 } });
    watch.pollAt(9, all, false);
    watch.tell();
    const alert = { status: 'DOWN', startedAtMs: minutes(6), change: 9 };
    expect(watch.incidents().at(-1)).toMatchObject(alert);
    expect(watch.incidents().at(-1)?.flapping).toBeUndefined();
    watch.pollAt(10, all);
    expect(watch.incidents().at(-1)).toMatchObject({ ...alert, flapped: { downs: 5 } });
    expect(watch.incidents().at(-1)?.flapping).toBeUndefined();
    expect(watch.incidents().filter(({ endedAtMs }) => endedAtMs === undefined)).toHaveLength(1);
  });

  test('show in the group of the flapping monitor', () => {
    const watch = openWatch();
    watch.pollAt(1, '1');
    watch.tell();
    watch.pollAt(1.2, '1-1.2');
    watch.pollAt(1.3, '1-1.2 1.3');
    watch.tell();
    watch.pollAt(1.4, '1-1.2 1.3-1.4');
    watch.pollAt(1.5, '1-1.2 1.3-1.4 1.5');
    watch.pollAt(1.6, '1-1.2 1.3-1.4 1.5-1.6');
    expect(watch.groups().at(-1)?.members).toMatchObject([{ flapping: { downs: 3 } }]);
    const version = watch.groups().at(-1)?.version ?? 0;
    watch.pollAt(1.9, '1-1.2 1.3-1.4 1.5-1.6 1.7-1.8');
    expect(watch.groups().at(-1)?.members).toMatchObject([{ flapping: { downs: 4 } }]);
    expect(watch.groups().at(-1)?.version).toBe(version + 1);
  });
});
