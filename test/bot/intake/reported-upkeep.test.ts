import { expect, test } from 'vitest';
import { alertCard } from '../../../src/bot/alerts/alert-card.ts';
import { incidentSummary } from '../../../src/bot/alerts/incident-facts.ts';
import { MAX_PAST } from '../../../src/bot/incidents/watch-state.ts';
import { draftPostmortem, draftText } from '../../../src/bot/postmortem/postmortem.ts';
import { reportedFigures } from '../../../src/bot/reports/reported-figures.ts';
import type { Card } from '../../../src/bot/shared/card.ts';
import { textOf } from '../../helpers/bot.ts';
import {
  firing,
  HOUR,
  MINUTE,
  PRODUCTION,
  reportedWorld,
  resolved,
  START,
} from '../../helpers/intake/reported-world.ts';

const labelsOf = ({ actions }: Card) => actions?.map(({ label }) => label);

/** The card of an incident, as a place sees it that saw it before. */
function cardOf(world: ReturnType<typeof reportedWorld>, at = 0): Card {
  const incident = world.all()[at];
  if (!incident) throw new Error('There is no such incident.');
  return alertCard(incident, { shownOpen: true });
}

test('an alert of which nothing is heard for two repeats says so, and goes on when something is', () => {
  const world = reportedWorld();
  world.hear(firing('a'));
  world.pass(8 * HOUR - 1);
  world.keepUp();
  expect(cardOf(world).title).toBe('FIRING: Alert a');
  world.pass(1);
  const before = world.open()[0]?.version ?? 0;
  world.keepUp();
  expect(world.open()[0]?.version).toBe(before + 1);
  expect(cardOf(world)).toMatchObject({
    tone: 'warning',
    title: 'NO NEWS: Alert a (last known: firing)',
  });
  expect(textOf(cardOf(world))).toContain(`No news since: at ${START}`);
  expect(labelsOf(cardOf(world))).toEqual(['Acknowledge', 'Snooze 1 h', 'Close', 'Ask why']);
  const after = world.watching();
  world.keepUp();
  expect(world.watching()).toBe(after);

  world.hear(firing('a'));
  expect(cardOf(world).title).toBe('FIRING: Alert a');
  expect(labelsOf(cardOf(world))).not.toContain('Close');
  world.hear(resolved('a'));
  expect(cardOf(world).title).toMatch(/^RESOLVED: Alert a \(after /);
});

test('how long that is, is what the intake says of its sender', () => {
  const world = reportedWorld();
  world.intakes.set(PRODUCTION.id, { ...PRODUCTION, repeatMs: 5 * MINUTE });
  world.hear(firing('a'));
  world.pass(9 * MINUTE);
  world.keepUp();
  expect(world.open()[0]?.reported?.silentSinceMs).toBeUndefined();
  world.pass(MINUTE);
  world.keepUp();
  expect(world.open()[0]?.reported?.silentSinceMs).toBe(START);
});

test('a person closes what is not heard of any more, which claims no recovery', async () => {
  const world = reportedWorld();
  world.hear(firing('a'), firing('b'));
  const [a, b] = world.open().map(({ id }) => id);
  await expect(world.incidents.close(a ?? '', 'Amy')).rejects.toThrow(
    'Its sender reported it again',
  );
  world.pass(8 * HOUR);
  world.hear(firing('b'));
  world.keepUp();
  await world.incidents.close(a ?? '', 'Amy');
  expect(world.open().map(({ id }) => id)).toEqual([b]);
  const card = cardOf(world);
  expect([card.tone, card.title]).toEqual(['info', 'CLOSED: Alert a (by Amy)']);
  expect(textOf(card)).not.toMatch(/recovered|resolved/i);
  await expect(world.incidents.close(a ?? '', 'Bob')).rejects.toThrow('This incident is over.');
  await expect(world.incidents.close(b ?? '', 'Bob')).rejects.toThrow(
    'Its sender reported it again',
  );
  // One message has both, each with its end.
  const group = world.watching()?.alerts.find(({ kind }) => kind === 'group');
  expect(group && textOf(alertCard(group, { shownOpen: true }))).toContain(
    'Alert a: closed by Amy',
  );

  world.hear(firing('a'));
  expect(world.open()).toHaveLength(2);
  world.hear(resolved('a'), resolved('b'));
  expect(world.open()).toEqual([]);
});

test('a sender that says after a close that it is resolved opens nothing', async () => {
  const world = reportedWorld();
  world.hear(firing('a'));
  world.pass(8 * HOUR);
  world.keepUp();
  await world.incidents.close(world.open()[0]?.id ?? '', 'Amy');
  world.hear(resolved('a'));
  expect([world.open(), world.all()[0]?.closedBy]).toEqual([[], 'Amy']);
});

test('a new begin after a long silence is told as one of its own', () => {
  const world = reportedWorld();
  world.hear(firing('a'));
  world.tell();
  world.pass(9 * HOUR);
  world.keepUp();
  world.hear(firing('a', START + 8 * HOUR));
  expect(world.titles()).toEqual(['NO LONGER REPORTED: Alert a', 'FIRING: Alert a']);
});

test('what a removed intake reported is no longer reported, and is forgotten', () => {
  const world = reportedWorld();
  const keys = Array.from({ length: 1_200 }, (_, at) => `${at}`);
  world.hear(...keys.map((key) => firing(key)));
  world.intakes.clear();
  world.keepUp();
  expect([world.open(), world.reported()]).toEqual([[], []]);
  expect(world.titles()).toEqual(['1200 alerts are no longer reported']);
});

test('what is over is forgotten after 35 days, what never fired here after one, and what fires never', () => {
  const world = reportedWorld();
  world.hear(firing('a'), firing('b'), resolved('c'));
  world.hear(resolved('a'));
  const keys = () => {
    world.keepUp();
    return world.reported().map(({ key }) => key);
  };
  world.pass(24 * HOUR - 1);
  expect(keys()).toEqual(['a', 'b', 'c']);
  world.pass(1);
  expect(keys()).toEqual(['a', 'b']);
  world.pass(34 * 24 * HOUR - 1);
  expect(keys()).toEqual(['a', 'b']);
  world.pass(1);
  expect(keys()).toEqual(['b']);
});

test('a report tells how often alerts fired in its time, also of those that are over', () => {
  const world = reportedWorld();
  for (let time = 0; time < 40; time += 1) {
    world.hear(firing('a', world.nowMs()));
    world.pass(MINUTE);
    world.hear(resolved('a', world.nowMs() - MINUTE));
    world.pass(HOUR - MINUTE);
  }
  world.hear(firing('b', world.nowMs()));
  world.pass(2 * HOUR);
  const span = (fromMs: number, toMs: number) => ({
    ...{ every: 'daily' as const, zone: 'UTC', beforeMs: fromMs - 1, isSoFar: false },
    cuts: [fromMs, toMs] as [number, number],
  });
  const figures = (fromMs: number) =>
    reportedFigures(world.reported(), span(fromMs, world.nowMs()), MAX_PAST);
  expect(figures(START + 35 * HOUR)).toEqual({
    ...{ fired: 6, isLeast: false, alerts: 2, firingNow: ['Alert b'] },
    longest: { name: 'Alert b', lastedMs: 2 * HOUR, isOngoing: true },
  });
  expect(figures(START)).toMatchObject({ fired: MAX_PAST + 1, isLeast: true });
  expect(reportedFigures(world.reported(), span(START - 2, START - 1), MAX_PAST)).toBeUndefined();
});

test('what nobody acknowledges in time is told elsewhere, without a poll of monitors', () => {
  const world = reportedWorld({ escalation: { afterMs: 10 * MINUTE, place: 'slack:C2' } });
  world.hear(firing('a'));
  world.tell();
  world.pass(10 * MINUTE - 1);
  world.keepUp();
  expect(world.watching()?.alerts).toHaveLength(1);
  world.pass(1);
  world.keepUp();
  world.keepUp();
  expect(world.watching()?.alerts.map(({ deliveries: [one] }) => one?.place)).toEqual([
    'slack:C1',
    'slack:C2',
  ]);
  expect(world.titles()[1]).toBe('FIRING: Alert a, not acknowledged within 10 min');
});

test('a summary without a model tells what the sender said', () => {
  const world = reportedWorld();
  const facts = [{ label: 'job', value: '<!here> *shop*' }];
  world.hear({ ...firing('a'), summary: 'Many fail', facts });
  const [incident] = world.open();
  const all = incident ? [incident] : [];
  const text = incident ? incidentSummary({ incident, group: undefined, all }) : '';
  expect(text).toContain('- Cause: Many fail');
  expect(text).toContain('- job: \\<!here\\> \\*shop\\*');
});

test('a postmortem of it is of what the sender said, and of no checks', async () => {
  const world = reportedWorld();
  world.hear({ ...firing('a'), summary: 'Many fail', facts: [{ label: 'job', value: 'shop' }] });
  world.pass(8 * HOUR);
  world.keepUp();
  await world.incidents.close(world.open()[0]?.id ?? '', 'Amy');
  const [incident] = world.all();
  if (!incident) throw new Error('There is no incident.');
  const draft = draftPostmortem({
    found: { incident, group: undefined, all: [incident] },
    service: {
      ...{ monitors: undefined, results: undefined, incidents: undefined, uptime: undefined },
    },
    ...{ place: 'slack:C1', questions: [], nowMs: world.nowMs() },
  });
  const text = draftText(draft);
  expect(text).toContain('**Alert a** (reported by Production) was FIRING from');
  expect(text).toContain('Amy closed it at');
  expect(text).toContain('- According to the sender: Many fail');
  expect(text).toContain('- job: shop');
  expect(text).not.toMatch(/DOWN|uptime|checks|recovered/i);
});
