import { expect, test } from 'vitest';
import { prune } from '../../../src/bot/incidents/incidents.ts';
import type {
  Alert,
  Group,
  Incident,
  Investigation,
} from '../../../src/bot/incidents/watch-state.ts';
import { dueInvestigation } from '../../../src/bot/investigations/due.ts';

const PLACE = 'slack:C1';
const MINUTE = 60_000;
const START_MS = Date.parse('2026-11-26T12:00:00Z');

const delivery = (id: string, place = PLACE) => ({
  place,
  postId: `${id}@${place}`,
  attempted: true,
  posted: { message: `m-${id}`, thread: `m-${id}` },
  deliveredVersion: 1,
  failures: 0,
  nextTryAtMs: 0,
});

const outage = (id: string, change: Partial<Incident> = {}): Incident => ({
  kind: 'incident',
  id,
  version: 1,
  openedAtMs: START_MS,
  deliveries: [delivery(id)],
  monitorId: `mon-${id}`,
  name: id,
  target: 'https://shop.example',
  checkType: 'HTTP',
  status: 'DOWN',
  startedAtMs: START_MS,
  ...change,
});

const groupOf = (
  id: string,
  incidents: readonly Incident[],
  change: Partial<Group> = {},
): Group => ({
  kind: 'group',
  id,
  version: 1,
  openedAtMs: START_MS,
  deliveries: [delivery(id)],
  place: PLACE,
  members: incidents.map((one) => ({
    ...{ incidentId: one.id, version: 1, monitorId: one.monitorId, name: one.name },
    ...{ status: one.status, startedAtMs: one.startedAtMs, times: 1 },
  })),
  ...change,
});

const investigation = (of: Alert, change: Partial<Investigation> = {}): Investigation => ({
  kind: 'investigation',
  id: `i-${of.id}`,
  version: 1,
  openedAtMs: START_MS + MINUTE,
  deliveries: [],
  place: PLACE,
  of: of.id,
  under: { message: `m-${of.id}`, thread: `m-${of.id}` },
  monitorIds: [`mon-${of.id}`],
  state: 'done',
  startedAtMs: START_MS + MINUTE,
  card: { tone: 'info', title: 'x', parts: [] },
  actions: [],
  ...change,
});

const dueAt = (minutes: number, alerts: Alert[], tags?: string[]) =>
  dueInvestigation(
    { alerts },
    { place: PLACE, afterMs: MINUTE, tags, nowMs: START_MS + minutes * MINUTE },
  );

const idOfDue = (...args: Parameters<typeof dueAt>) => dueAt(...args)?.alert.id;

test('is due once an outage has lasted long enough', () => {
  expect(idOfDue(0.9, [outage('shop')])).toBeUndefined();
  expect(dueAt(1, [outage('shop')])).toEqual({
    alert: expect.objectContaining({ id: 'shop' }),
    under: { message: 'm-shop', thread: 'm-shop' },
    monitorIds: ['mon-shop'],
  });
});

const FLAPPING = {
  ...{ fromMs: 0, downs: 3, isDown: true, changedAtMs: 0, seenAtMs: 0, counted: [] },
};
const REPORTED = { place: PLACE, facts: [], links: [] };

test.each<[string, Partial<Incident>]>([
  ['is over', { endedAtMs: START_MS + 30_000, status: 'UP' }],
  ['is flapping', { flapping: FLAPPING }],
  ['is in maintenance', { status: 'MAINTENANCE' }],
  ['is paused', { status: 'PAUSED' }],
  ['is snoozed', { snoozed: { by: 'Ada', untilMs: START_MS + 60 * MINUTE } }],
  ['has no news from its sender', { reported: { ...REPORTED, silentSinceMs: START_MS } }],
  ['is not posted yet', { deliveries: [{ ...delivery('shop'), posted: undefined }] }],
  ['could not be posted', { deliveries: [{ ...delivery('shop'), dead: 'archived' }] }],
  ['is posted in another channel', { deliveries: [delivery('shop', 'slack:C2')] }],
])('is not due for an outage that %s', (_, change) => {
  expect(idOfDue(5, [outage('shop', change)])).toBeUndefined();
});

test('is due for a milder problem, an alert from another system, and after a snooze', () => {
  expect(idOfDue(5, [outage('a', { status: 'DEGRADED', degraded: 'DEGRADED' })])).toBe('a');
  expect(idOfDue(5, [outage('b', { status: 'FIRING', reported: REPORTED })])).toBe('b');
  expect(idOfDue(5, [outage('c', { snoozed: { by: 'Ada', untilMs: START_MS } })])).toBe('c');
});

test('is only due for monitors with the tags that the channel chose', () => {
  const later = { openedAtMs: START_MS + 10 * MINUTE, tags: ['eu', 'blog'] };
  const alerts = [outage('shop', { tags: ['shop'] }), outage('blog', later)];
  expect(idOfDue(20, alerts, ['blog', 'x'])).toBe('blog');
  expect(idOfDue(20, alerts, ['x'])).toBeUndefined();
});

test('is due once for an alert, and one at a time in a channel', () => {
  const shop = outage('shop');
  const later = outage('blog', { openedAtMs: START_MS + 10 * MINUTE });
  expect(idOfDue(60, [shop, investigation(shop)])).toBeUndefined();
  expect(idOfDue(20, [shop, investigation(shop), later])).toBe('blog');
  const running = investigation(shop, { state: 'running' });
  expect(idOfDue(20, [shop, running, later])).toBeUndefined();
  const elsewhere = investigation(shop, { state: 'running', place: 'slack:C2' });
  expect(idOfDue(20, [shop, elsewhere])).toBe('shop');
});

test('is due again for the same monitor after 30 minutes at the earliest', () => {
  const first = outage('first', { monitorId: 'mon-1', endedAtMs: START_MS + 5 * MINUTE });
  const done = investigation(first, { monitorIds: ['mon-1'] });
  const second = (openedMinutes: number) =>
    outage('second', {
      monitorId: 'mon-1',
      openedAtMs: START_MS + openedMinutes * MINUTE,
      startedAtMs: START_MS + openedMinutes * MINUTE,
    });
  expect(idOfDue(25, [first, done, second(20)])).toBeUndefined();
  expect(idOfDue(31, [first, done, second(20)])).toBe('second');
});

test('is due again for an alert after 30 minutes if further monitors are in trouble', () => {
  const [a, b] = [outage('a', { deliveries: [] }), outage('b', { deliveries: [] })];
  const group = groupOf('g', [a, b]);
  const before = (change: Partial<Investigation>) => investigation(group, { id: 'i', ...change });
  const alerts = (change: Partial<Investigation>) => [a, b, group, before(change)];
  expect(idOfDue(40, alerts({ monitorIds: ['mon-a', 'mon-b'] }))).toBeUndefined();
  expect(idOfDue(20, alerts({ monitorIds: ['mon-a'] }))).toBeUndefined();
  expect(idOfDue(40, alerts({ monitorIds: ['mon-a'] }))).toBe('g');
  expect(idOfDue(40, alerts({ monitorIds: ['mon-a'], state: 'off' }))).toBeUndefined();
});

test('chooses the largest of alerts that began together, and leaves the others', () => {
  const first = outage('first');
  const others = Array.from({ length: 499 }, (_, at) =>
    outage(`o${at}`, { deliveries: [], openedAtMs: START_MS + 20_000 }),
  );
  const group = groupOf('group', others, { openedAtMs: START_MS + 20_000 });
  const alerts = [first, ...others, group];
  const due = dueAt(1, alerts);
  expect(due?.alert.id).toBe('group');
  expect(due?.monitorIds).toHaveLength(499);
  const done = investigation(group, { monitorIds: due?.monitorIds ?? [] });
  expect(idOfDue(3, [...alerts, done])).toBeUndefined();
  expect(idOfDue(90, [...alerts, done])).toBeUndefined();
});

test('is kept as long as its alert', () => {
  const alerts = Array.from({ length: 101 }, (_, at) =>
    outage(`o${at}`, { endedAtMs: START_MS, status: 'UP' }),
  );
  const [oldest, newest] = [alerts[0], alerts[100]];
  if (!oldest || !newest) throw new Error('There are 101.');
  const both = [...alerts, investigation(oldest), investigation(newest)];
  const left = prune(both, START_MS + MINUTE).alerts.map(({ id }) => id);
  expect(left).not.toContain('i-o0');
  expect(left).toContain('i-o100');
  expect(left).toHaveLength(101);
});
