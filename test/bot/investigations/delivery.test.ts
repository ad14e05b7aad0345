import { expect, test } from 'vitest';
import { nextFor } from '../../../src/bot/incidents/delivery.ts';
import { unreachableSinceMs } from '../../../src/bot/incidents/fallback.ts';
import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import type {
  Alert,
  Incident,
  Investigation,
  Watching,
} from '../../../src/bot/incidents/watch-state.ts';
import { DeliveryError } from '../../../src/bot/shared/errors.ts';
import { placeKey } from '../../../src/bot/shared/place.ts';
import { MINUTE, OPS, openAlertWorld } from '../../helpers/bot/alert-world.ts';
import { incident, NOTHING_WATCHED } from '../../helpers/bot/watch-changes.ts';

const PLACE = placeKey(OPS);

function investigationOf({ id: of, openedAtMs, deliveries }: Incident): Investigation {
  const id = `investigation of ${of}`;
  return {
    ...{ kind: 'investigation', id, version: 1, openedAtMs, place: PLACE, of },
    ...{ deliveries: [newDelivery(PLACE, id)], monitorIds: [], startedAtMs: openedAtMs },
    under: deliveries[0]?.posted ?? { message: of, thread: of },
    ...{ state: 'running', card: { tone: 'info', title: 'Looking', parts: [] }, actions: [] },
  };
}

test('sends an alert before the message of an investigation that began earlier', () => {
  const first = incident('a');
  const watching: Watching = {
    ...NOTHING_WATCHED,
    alerts: [investigationOf(first), incident('b')],
  };
  expect(nextFor(watching, PLACE, first.openedAtMs)?.alert.id).toBe('b');
});

test('sends an alert while the message of an investigation waits until the platform takes it', async () => {
  const world = await openAlertWorld({ startsAt: '2026-06-01T08:00:00Z' });
  await world.see({ a: 'UP', b: 'UP' });
  await world.see({ a: 'DOWN' });
  await world.pass(2 * MINUTE);
  const [alert] = world.alerts();
  if (alert?.kind !== 'incident') throw new Error('There is no incident.');
  const investigation = investigationOf(alert);
  const { title } = investigation.card;
  const slowDown = new DeliveryError('slow down', { permanent: false, retryAfterMs: 10 * MINUTE });
  world.slack.failWith(({ card }) => (card.title === title ? slowDown : undefined));
  await world.change((now) => now && { ...now, alerts: [...now.alerts, investigation] });
  await world.see({ b: 'DOWN' });
  expect(world.titles()).toEqual(['Name of a is down', 'Name of b is down']);
  world.slack.failWith(undefined);
  await world.pass(10 * MINUTE);
  expect(world.titles()).toEqual(['Name of a is down', 'Name of b is down', title]);
});

test('takes no channel for unreachable because the message of an investigation fails', () => {
  const failing = ({ deliveries, ...alert }: Incident | Investigation) => ({
    ...{ ...alert, deliveries: deliveries.map((one) => ({ ...one, failingSinceMs: 1 })) },
  });
  const sinceMs = (alert: Incident | Investigation) =>
    unreachableSinceMs({ ...NOTHING_WATCHED, alerts: [failing(alert) as Alert] }, PLACE);
  expect(sinceMs(incident('a'))).toBe(1);
  expect(sinceMs(investigationOf(incident('a')))).toBeUndefined();
});
