import {
  createFacts,
  createLinks,
  DeliveryError,
  firstOf,
  isRecord,
  keyOf,
  madeKey,
  nameOf,
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

/** Longest key. Source: PagerDuty docs, "Send an Alert Event", `dedup_key`. */
const MAX_KEY_LENGTH = 255;

/** What each event must have. Source: the same page. */
const REQUIRED = ['summary', 'source'] as const;

/** What Uptime Kuma sends about no monitor: a press of its button, or a certificate; all of them have one key. */
const OF_NO_MONITOR = /^Uptime Kuma\/(?:test|undefined|null)$/;

/**
 * An event as PagerDuty takes it, "Events API v2". Several triggers without a key that say the same are one alert, so that
 * one that is sent a second time is not told twice. Pure.
 */
export function alertsOfPagerDuty(body: Record<string, unknown>, nowMs: number): ReportedAlerts {
  const action = wordOf(body.event_action);
  const state = Object.hasOwn(STATES, action) ? STATES[action as keyof typeof STATES] : undefined;
  if (state === undefined) {
    throw new DeliveryError(
      `“event_action” must be trigger, acknowledge or resolve, ${action === '' ? 'but is missing' : `not “${action}”`}.`,
    );
  }
  const payload = recordOf(body.payload);
  if (state === 'firing') {
    for (const name of REQUIRED) {
      if (summaryOf(payload[name]) === undefined) {
        throw new DeliveryError(`A trigger event must have “payload.${name}”.`);
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
    throw new DeliveryError(
      `“dedup_key” has ${given.length} characters. The limit is ${MAX_KEY_LENGTH}.`,
    );
  }
  if (given !== undefined && given !== null && given !== '') {
    throw new DeliveryError('“dedup_key” must be a string.');
  }
  if (state === 'firing') {
    const { routing_key: _, ...event } = body;
    return madeKey('event', event);
  }
  throw new DeliveryError(
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

/** The first objects of a list: there is room for no more. */
const some = (value: unknown) =>
  Array.isArray(value) ? value.slice(0, 20).filter(isRecord) : ([] as Record<string, unknown>[]);
