import { beginTurn } from '../../contracts/event-loop.ts';
import { alertsOfAlertmanager } from './alertmanager.ts';
import { alertsOfGeneric } from './generic.ts';
import { alertsOfPagerDuty } from './pagerduty.ts';
import { DeliveryError, isRecord, type Reading } from './read-payload.ts';
import type { IntakeKind, ReportedAlert, ReportedAlerts } from './reported-alert.ts';
import { alertsOfUptimeKuma } from './uptime-kuma.ts';

export { DeliveryError };

type Body = Record<string, unknown>;

/** How often one alert may change in a delivery: each time costs as much as a delivery of hundreds of alerts. */
const MAX_CHANGES = 50;

/** How to tell whose a body is, the surest first, and how each is read. */
const FORMATS: Record<
  'pagerduty' | 'uptime-kuma' | 'grafana' | 'alertmanager' | 'generic',
  {
    title: string;
    fits: (body: Body) => boolean;
    read: (body: Body, nowMs: number) => Reading;
  }
> = {
  pagerduty: {
    title: 'a PagerDuty event',
    fits: ({ event_action, routing_key }) =>
      event_action !== undefined || routing_key !== undefined,
    read: alertsOfPagerDuty,
  },
  'uptime-kuma': {
    title: 'an Uptime Kuma message',
    fits: (body) => isRecord(body.heartbeat) || ('heartbeat' in body && 'monitor' in body),
    read: alertsOfUptimeKuma,
  },
  grafana: {
    title: 'a Grafana delivery',
    fits: (body) => isGroup(body) && body.orgId !== undefined,
    read: (body, nowMs) => alertsOfAlertmanager(body, { title: 'Grafana', nowMs }),
  },
  alertmanager: {
    title: 'an Alertmanager delivery',
    fits: (body) => isGroup(body),
    read: (body, nowMs) => alertsOfAlertmanager(body, { title: 'Alertmanager', nowMs }),
  },
  generic: {
    title: 'a generic alert',
    fits: ({ state, key, name }) => state !== undefined && (key ?? name) !== undefined,
    read: alertsOfGeneric,
  },
};

/**
 * What a delivery says, each alert bounded and on one line wherever people see it. `body` is what JSON made of it, with its
 * size and depth bounded. Throws `DeliveryError` for what is no delivery of this kind. Pure.
 */
export function parseDelivery(kind: IntakeKind, body: unknown, nowMs: number): ReportedAlerts {
  const { alerts, ...rest } = readingOf(kind, body, nowMs);
  return { ...rest, alerts: [...alerts] };
}

/** The same, for deliveries of any number of alerts: everything else has its turn meanwhile. */
export async function parseDeliveryInTurns(
  kind: IntakeKind,
  body: unknown,
  nowMs: number,
): Promise<ReportedAlerts> {
  const { alerts, ...rest } = readingOf(kind, body, nowMs);
  const turn = beginTurn();
  const read: ReportedAlert[] = [];
  const times = new Map<string, number>();
  for (const alert of alerts) {
    const count = (times.get(alert.key) ?? 0) + 1;
    if (count > MAX_CHANGES) {
      throw new DeliveryError(
        `This delivery has the same alert more than ${MAX_CHANGES} times. Send each alert once, in its current state.`,
      );
    }
    times.set(alert.key, count);
    read.push(alert);
    if (turn.isOver()) await turn.next();
  }
  return { ...rest, alerts: read };
}

function readingOf(kind: IntakeKind, body: unknown, nowMs: number): Reading {
  if (!isRecord(body)) {
    throw new DeliveryError(`This address accepts ${FORMATS[kind].title} as a JSON object.`);
  }
  const found = FORMATS[kind].fits(body) ? kind : kindOf(body);
  if (found !== undefined && !isSame(found, kind)) {
    throw new DeliveryError(
      `This looks like ${FORMATS[found].title}, but this address accepts ${FORMATS[kind].title}. Send it to an intake of that kind: /monitor intake add ${found} creates one.`,
    );
  }
  return FORMATS[kind].read(body, nowMs);
}

const kindOf = (body: Body): IntakeKind | undefined =>
  (Object.keys(FORMATS) as IntakeKind[]).find((kind) => FORMATS[kind].fits(body));

const GROUPED: readonly IntakeKind[] = ['alertmanager', 'grafana'];

/** Grafana sends what an Alertmanager does, and more. */
const isSame = (a: IntakeKind, b: IntakeKind) =>
  a === b || (GROUPED.includes(a) && GROUPED.includes(b));

/** A group of alerts: these fields are no words of the generic form. */
function isGroup({ alerts, groupLabels, groupKey, commonLabels, receiver }: Body): boolean {
  if (!Array.isArray(alerts)) return false;
  const isNamed = [groupLabels, groupKey, commonLabels, receiver].some((one) => one !== undefined);
  const first: unknown = alerts[0];
  return isNamed || (isRecord(first) && first.state === undefined && 'fingerprint' in first);
}
