import {
  createFacts,
  createLinks,
  firstOf,
  isRecord,
  keyOf,
  madeKey,
  nameOf,
  PayloadError,
  recordOf,
  severityOf,
  summaryOf,
  timesOf,
  wordOf,
} from './read-payload.ts';
import type { ReportedAlert, ReportedAlerts } from './reported-alert.ts';

const STATES = {
  trigger: 'firing',
  acknowledge: 'acknowledged',
  resolve: 'resolved',
} as const satisfies Record<string, ReportedAlert['state']>;

/** Source: PagerDuty docs, "Send an Alert Event", `dedup_key`. */
const MAX_KEY_LENGTH = 255;

/** Source: the same page. */
const REQUIRED = ['summary', 'source'] as const;

/** Messages of Uptime Kuma about no monitor (a test, or a certificate) share one key. */
const OF_NO_MONITOR = /^Uptime Kuma\/(?:test|undefined|null)$/;

/**
 * Reads a PagerDuty event, "Events API v2". Equal triggers without a key are one alert, so a repeated request isn't
 * posted twice. Pure.
 */
export function alertsOfPagerDuty(body: Record<string, unknown>, nowMs: number): ReportedAlerts {
  const action = wordOf(body.event_action);
  const state = Object.hasOwn(STATES, action) ? STATES[action as keyof typeof STATES] : undefined;
  if (state === undefined) {
    throw new PayloadError(
      `“event_action” must be trigger, acknowledge or resolve, ${action === '' ? 'but is missing' : `not “${action}”`}.`,
    );
  }
  const payload = recordOf(body.payload);
  if (state === 'firing') {
    for (const name of REQUIRED) {
      if (summaryOf(payload[name]) === undefined) {
        throw new PayloadError(`A trigger event must have “payload.${name}”.`);
      }
    }
  }
  const summary = summaryOf(payload.summary);
  const isOfNoMonitor = typeof body.dedup_key === 'string' && OF_NO_MONITOR.test(body.dedup_key);
  if (isOfNoMonitor && / Testing$/.test(summary ?? '')) {
    return {
      alerts: [],
      truncated: 0,
      note: 'This is a test message from Uptime Kuma: the address works.',
    };
  }
  const key = keyIn(body, { state, summary, isOfNoMonitor });
  const name = firstOf(nameOf, payload.summary, payload.class, payload.component) ?? key;
  const facts = createFacts();
  for (const field of ['source', 'component', 'group', 'class']) facts.add(field, payload[field]);
  if (isRecord(payload.custom_details)) facts.addAll(payload.custom_details);
  else facts.add('details', payload.custom_details);
  const alert: ReportedAlert = {
    key,
    state,
    name,
    ...(summary !== undefined && summary !== name && { summary }),
    severity: isOfNoMonitor ? 'warning' : severityOf(payload.severity),
    ...timesOf(
      state === 'resolved'
        ? { from: undefined, to: payload.timestamp }
        : { from: state === 'firing' ? payload.timestamp : undefined },
      nowMs,
    ),
    facts: facts.list(),
    links: linksOf(body),
  };
  return { alerts: [alert], truncated: 0 };
}

function keyIn(
  body: Record<string, unknown>,
  {
    state,
    summary,
    isOfNoMonitor,
  }: { state: ReportedAlert['state']; summary: string | undefined; isOfNoMonitor: boolean },
): string {
  const { dedup_key: given } = body;
  if (isOfNoMonitor) return madeKey('notice', (summary ?? '').replace(/\d+/g, ''));
  if (typeof given === 'string' && given !== '') {
    if (given.length <= MAX_KEY_LENGTH) return keyOf(given);
    throw new PayloadError(
      `“dedup_key” has ${given.length} characters. The limit is ${MAX_KEY_LENGTH}.`,
    );
  }
  if (given !== undefined && given !== null && given !== '') {
    throw new PayloadError('“dedup_key” must be a string.');
  }
  if (state === 'firing') {
    const { routing_key: _, ...event } = body;
    return madeKey('event', event);
  }
  throw new PayloadError(
    `An event with the “event_action” ${state === 'resolved' ? 'resolve' : 'acknowledge'} must have the “dedup_key” of its trigger event.`,
  );
}

function linksOf({ links: given, images, client, client_url }: Record<string, unknown>) {
  const links = createLinks();
  for (const { href, text } of some(given)) links.add(text, href);
  links.add(client ?? 'Source', client_url);
  for (const { href, src, alt } of some(images)) links.add(alt ?? 'Image', href ?? src);
  return links.list();
}

/** The first objects of a list. Bounded. */
const some = (value: unknown) =>
  Array.isArray(value) ? value.slice(0, 20).filter(isRecord) : ([] as Record<string, unknown>[]);
