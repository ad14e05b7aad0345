import { beginTurn } from '../../contracts/event-loop.ts';
import type { IntakeKind } from '../../contracts/intake-kinds.ts';
import { alertsOfAlertmanager } from './alertmanager.ts';
import { alertsOfGeneric } from './generic.ts';
import { alertsOfPagerDuty } from './pagerduty.ts';
import { isRecord, PayloadError, type PayloadReading } from './read-payload.ts';
import type { ReportedAlert, ReportedAlerts } from './reported-alert.ts';
import { alertsOfUptimeKuma } from './uptime-kuma.ts';

type PayloadBody = Record<string, unknown>;

/** Most changes of one alert in a delivery. Each costs as much as hundreds of alerts. */
const MAX_CHANGES = 50;

/** Formats, the most specific first. */
const FORMATS: Record<
  IntakeKind,
  {
    title: string;
    fits: (body: PayloadBody) => boolean;
    read: (body: PayloadBody, nowMs: number) => PayloadReading;
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
 * Reads a delivery. Each alert is bounded and on one line. `body` must come from bounded JSON. Other work runs in between.
 * Throws `PayloadError` if it isn't a delivery of this kind.
 */
export async function parseDelivery(
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
      throw new PayloadError(
        `This delivery has the same alert more than ${MAX_CHANGES} times. Send each alert once, in its current state.`,
      );
    }
    times.set(alert.key, count);
    read.push(alert);
    if (turn.isOver()) await turn.next();
  }
  return { ...rest, alerts: read };
}

function readingOf(kind: IntakeKind, body: unknown, nowMs: number): PayloadReading {
  if (!isRecord(body)) {
    throw new PayloadError(`This address accepts ${FORMATS[kind].title} as a JSON object.`);
  }
  const found = FORMATS[kind].fits(body) ? kind : kindOf(body);
  if (found !== undefined && !isSame(found, kind)) {
    throw new PayloadError(
      `This looks like ${FORMATS[found].title}, but this address accepts ${FORMATS[kind].title}. Send it to an intake of that kind: /monitor intake add ${found} creates one.`,
    );
  }
  return FORMATS[kind].read(body, nowMs);
}

const kindOf = (body: PayloadBody): IntakeKind | undefined =>
  (Object.keys(FORMATS) as IntakeKind[]).find((kind) => FORMATS[kind].fits(body));

const GROUPED: readonly IntakeKind[] = ['alertmanager', 'grafana'];

/** Grafana sends the same format with more fields. */
const isSame = (a: IntakeKind, b: IntakeKind) =>
  a === b || (GROUPED.includes(a) && GROUPED.includes(b));

/** A group of alerts, which the generic format doesn't have. */
function isGroup({ alerts, groupLabels, groupKey, commonLabels, receiver }: PayloadBody): boolean {
  if (!Array.isArray(alerts)) return false;
  const isNamed = [groupLabels, groupKey, commonLabels, receiver].some((one) => one !== undefined);
  const first: unknown = alerts[0];
  return isNamed || (isRecord(first) && first.state === undefined && 'fingerprint' in first);
}
