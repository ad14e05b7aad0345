import {
  createFacts,
  createLinks,
  isRecord,
  keyOf,
  keyOfLabels,
  lineOf,
  madeKey,
  nameOf,
  PayloadError,
  type PayloadReading,
  readAlerts,
  recordOf,
  severityOf,
  summaryOf,
  timesOf,
  wordOf,
} from './read-payload.ts';
import type { ReportedAlert } from './reported-alert.ts';

/** Words that senders use for a state. The second list means a milder problem. */
const FIRING =
  'firing|fire|triggered|trigger|re triggered|renotify|no data|re no data|alert|alerting|alarm|down|failed|fail|failing|failure|error|critical|problem|open|opened|active|unhealthy|alert failure|alert failure remain|alert degraded failure'.split(
    '|',
  );
const MILD =
  'warn|warning|re warn|degraded|alert degraded|alert degraded remain|alert failure degraded|alert ssl'.split(
    '|',
  );
const RESOLVED =
  'resolved|resolve|recovered|recovery|recover|up|ok|success|successful|succeeded|passed|passing|healthy|normal|closed|close|inactive|fixed|ended|alert recovery|alert degraded recovery'.split(
    '|',
  );
const ACKNOWLEDGED = ['acknowledged', 'acknowledge', 'acked', 'ack'];

/** Sources: the documentation of Datadog, Gatus, Healthchecks and Checkly. */
const STATES = new Map<string, { state: ReportedAlert['state']; isMild?: true }>([
  ...FIRING.map((word) => [word, { state: 'firing' }] as const),
  ...MILD.map((word) => [word, { state: 'firing', isMild: true }] as const),
  ...RESOLVED.map((word) => [word, { state: 'resolved' }] as const),
  ...ACKNOWLEDGED.map((word) => [word, { state: 'acknowledged' }] as const),
]);

/** Fields with a meaning of their own. All others are facts. */
const TOLD = new Set(
  'key state name summary severity started_at ended_at labels links alerts'.split(' '),
);

/**
 * Our own format, for senders with templates: one alert, or several in `alerts`. An empty text counts as absent. Pure.
 */
export function alertsOfGeneric(body: Record<string, unknown>, nowMs: number): PayloadReading {
  const read = (alert: Record<string, unknown>, where: string) => alertOf(alert, { where, nowMs });
  if (body.alerts === undefined) return { alerts: [read(body, 'The alert')], truncated: 0 };
  if (!Array.isArray(body.alerts)) throw new PayloadError('“alerts” must be a list.');
  return { alerts: readAlerts(body.alerts, read), truncated: 0 };
}

function alertOf(
  alert: Record<string, unknown>,
  { where, nowMs }: { where: string; nowMs: number },
): ReportedAlert {
  const labels = recordOf(alert.labels);
  const { state, isMild = false } = stateOf(alert.state, where);
  const given = lineOf(alert.severity, 60);
  const summary = summaryOf(alert.summary);
  const name = nameOf(alert.name) ?? nameOf(labels.alertname) ?? nameOf(alert.summary);
  const key = keyIn(alert, { labels, where });
  const facts = createFacts();
  facts.addAll(labels);
  facts.addAll(alert, TOLD);
  const links = createLinks();
  for (const link of listOf(alert.links)) {
    if (isRecord(link)) links.add(link.label ?? link.text, link.url ?? link.href);
    else links.add(undefined, link);
  }
  return {
    key,
    state,
    name: name ?? key,
    ...(summary !== undefined && summary !== name && { summary }),
    severity: given === undefined && isMild ? 'warning' : severityOf(given),
    ...timesOf(
      { from: alert.started_at, ...(state === 'resolved' && { to: alert.ended_at }) },
      nowMs,
    ),
    facts: facts.list(),
    links: links.list(),
  };
}

function stateOf(value: unknown, where: string) {
  const word = wordOf(value);
  const found = STATES.get(word);
  if (found) return found;
  throw new PayloadError(
    `${where} ${word === '' ? 'has no “state”' : `has an unknown “state”: “${word}”`}. Use one of: ${[...STATES.keys()].join(', ')}.`,
  );
}

function keyIn(
  { key, name }: Record<string, unknown>,
  { labels, where }: { labels: Record<string, unknown>; where: string },
): string {
  if (typeof key === 'string' && key.trim() !== '') return keyOf(key.trim());
  if (typeof key === 'number') return String(key);
  const named = nameOf(name);
  const hasLabels = Object.keys(labels).length > 0;
  if (named === undefined && !hasLabels) {
    throw new PayloadError(
      `${where} must have a “key” that stays the same until it is resolved, or at least a “name”.`,
    );
  }
  if (!hasLabels) return madeKey('name', named);
  return madeKey('name', named, keyOfLabels(labels, where));
}

/** A list, or a single item as one. Bounded. */
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, 20) : [value]);
