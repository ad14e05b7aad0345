import { expect, test } from 'vitest';
import { digestTitle, groupTitle, titleOf } from '../../../src/bot/alerts/alert-titles.ts';
import type { Group, Incident } from '../../../src/bot/incidents/watch-state.ts';
import { group, incident, member } from '../../helpers/bot/watch-changes.ts';

const MINUTE = 60_000;
const { startedAtMs } = incident('i1');
const shop: Incident = { ...incident('i1'), name: 'Shop' };
const over = { endedAtMs: startedAtMs + 4 * MINUTE, status: 'UP' };
const disk: Incident = {
  ...{ ...shop, name: 'Disk of db-1 is full', status: 'WARNING', degraded: 'WARNING' },
  reported: { place: 'slack:C1', facts: [], links: [] },
};
const flapping = {
  ...{ fromMs: startedAtMs, downs: 3, isDown: true, changedAtMs: startedAtMs + 3 * MINUTE },
  ...{ seenAtMs: 0, counted: [] },
};
const lineAtMs = startedAtMs + 60 * MINUTE;

test.each<[string, Incident, Parameters<typeof titleOf>[1]]>([
  ['Shop is down', shop, {}],
  ['Shop is still down after 1 h', shop, { lineAtMs }],
  ['Shop recovered after 4 min', { ...shop, ...over }, { shownOpen: true }],
  ['Shop was down for 4 min', { ...shop, ...over }, {}],
  ['Shop was down 3 times', { ...shop, ...over }, { earlier: { count: 2, fromMs: 0 } }],
  ['Shop is in maintenance', { ...shop, status: 'MAINTENANCE' }, { shownOpen: true }],
  ['Shop is paused', { ...shop, status: 'PAUSED' }, { shownOpen: true }],
  ['Shop is in maintenance', { ...shop, flapping, status: 'MAINTENANCE' }, { shownOpen: true }],
  [
    'Shop was down for 4 min, then in maintenance',
    { ...shop, ...over, status: 'MAINTENANCE' },
    { shownOpen: true },
  ],
  ['Shop was removed', { ...shop, ...over, gone: true, change: 7 }, { shownOpen: true }],
  ['Shop is no longer listed', { ...shop, ...over, gone: true }, { shownOpen: true }],
  ['Shop is degraded', { ...shop, status: 'DEGRADED', degraded: 'DEGRADED' }, {}],
  ['Shop is no longer degraded', { ...shop, ...over, degraded: 'DEGRADED' }, { shownOpen: true }],
  ['CRITICAL: Shop', { ...shop, status: 'CRITICAL' }, {}],
  ['DOWN: Checkout is reachable', { ...shop, name: 'Checkout is reachable' }, {}],
  [
    'RECOVERED: Checkout is reachable (after 4 min)',
    { ...shop, ...over, name: 'Checkout is reachable' },
    { shownOpen: true },
  ],
  ['Shop is flapping (5 changes in 3 min), now down', { ...shop, flapping }, {}],
  ['WARNING: Disk of db-1 is full', disk, {}],
  ['STILL WARNING: Disk of db-1 is full (for 1 h)', disk, { lineAtMs }],
  [
    'RESOLVED: Disk of db-1 is full (after 4 min)',
    { ...disk, ...over, status: 'RESOLVED' },
    { shownOpen: true },
  ],
])('%s', (title, one, view) => {
  expect(titleOf(one, view).title).toBe(title);
});

const up = (monitorId: string) => ({ ...member(monitorId, 'UP'), endedAtMs: startedAtMs + MINUTE });
const alert = (monitorId: string) => ({ ...member(monitorId, 'FIRING'), isReported: true });
const of = (members: Group['members'], more: Partial<Group> = {}): Group => ({
  ...group('g', members),
  ...more,
});

test.each<[string, Group]>([
  ['3 services are down', of([member('a'), member('b'), member('c')])],
  ['2 of 3 services are still down', of([member('a'), member('b'), up('c')])],
  ['2 services are in maintenance', of([member('a', 'MAINTENANCE'), member('b', 'MAINTENANCE')])],
  ['2 services are not up', of([member('a', 'MAINTENANCE'), member('b', 'PAUSED')])],
  ['2 alerts are active', of([alert('a'), alert('b')])],
  ['a is down', of([member('a')])],
  [
    '2 services recovered after 1 h',
    of([up('a'), up('b')], { endedAtMs: group('g', []).openedAtMs + 60 * MINUTE }),
  ],
  ['2 services: 1 recovered, 1 removed', of([up('a'), { ...up('b'), gone: true, change: 7 }])],
])('%s', (title, one) => {
  expect(groupTitle(one, { shownOpen: true })).toBe(title);
});

test.each<[string, Group]>([
  ['2 services were down: all recovered', of([up('a'), up('b')])],
  ['2 services were down: 1 recovered, 1 still down', of([member('a'), up('b')])],
  ['a was down for 1 min', of([up('a')])],
])('After quiet hours: %s', (title, one) => {
  expect(digestTitle(one)).toBe(title);
});
