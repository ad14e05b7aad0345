import {
  createFacts,
  createLinks,
  isRecord,
  keyOf,
  lineOf,
  madeKey,
  nameOf,
  PayloadError,
  summaryOf,
  timesOf,
} from './read-payload.ts';
import type { ReportedAlert, ReportedAlerts } from './reported-alert.ts';

/** Source: Uptime Kuma, `server/model/monitor.js`. */
const STATUS = { down: 0, up: 1, pending: 2, maintenance: 3 } as const;

/** Types whose `url` is their target. For others it is a default. */
const WEB = new Set(['http', 'keyword', 'json-query', 'real-browser', 'websocket-upgrade']);

/** Notices about no monitor begin with this: `[Shop][https://shop.example] …`. */
const NOTICE = /^\[(?<name>[^\]]*)\](?:\[[^\]]*\])?\s*(?<text>.+)$/;

/**
 * Reads a message of Uptime Kuma's webhook. Certificate notices have no monitor and never end, so they are warnings,
 * identified by their text without numbers. Source: its `notification-providers/webhook.js`. Pure.
 */
export function alertsOfUptimeKuma(body: Record<string, unknown>, nowMs: number): ReportedAlerts {
  const { heartbeat, monitor } = body;
  if (!isRecord(heartbeat) && !isRecord(monitor)) return noticeOf(body.msg);
  if (!isRecord(heartbeat) || !isRecord(monitor)) {
    throw new PayloadError(
      'An Uptime Kuma message must have “heartbeat” and “monitor”. In Uptime Kuma, choose the preset body “application/json”.',
    );
  }
  const id = lineOf(monitor.id, 100);
  if (id === undefined) throw new PayloadError('“monitor.id” is missing.');
  const state = stateOf(heartbeat.status);
  if (state === undefined) {
    return {
      alerts: [],
      truncated: 0,
      note: 'No alert is posted for a monitor that is pending or in maintenance.',
    };
  }
  const summary = summaryOf(heartbeat.msg);
  const alert: ReportedAlert = {
    key: keyOf(id),
    state,
    name: nameOf(monitor.name) ?? `Monitor ${id}`,
    summary,
    severity: 'critical',
    ...timesOf(
      state === 'firing' ? { from: heartbeat.time } : { from: undefined, to: heartbeat.time },
      nowMs,
    ),
    facts: factsOf(monitor, heartbeat),
    links: linksOf(monitor),
  };
  return { alerts: [alert], truncated: 0 };
}

function stateOf(status: unknown): 'firing' | 'resolved' | undefined {
  const code = Number(lineOf(status, 10) ?? Number.NaN);
  if (code === STATUS.down) return 'firing';
  if (code === STATUS.up) return 'resolved';
  if (code === STATUS.pending || code === STATUS.maintenance) return undefined;
  throw new PayloadError('“heartbeat.status” must be 0 for down or 1 for up.');
}

function noticeOf(msg: unknown): ReportedAlerts {
  const text = summaryOf(msg);
  if (text === undefined) {
    throw new PayloadError('An Uptime Kuma message must have “heartbeat” and “monitor”, or “msg”.');
  }
  if (/ Testing$/.test(text)) {
    return {
      alerts: [],
      truncated: 0,
      note: 'This is a test message from Uptime Kuma: the address works.',
    };
  }
  const found = NOTICE.exec(text)?.groups;
  const alert: ReportedAlert = {
    key: madeKey('notice', text.replace(/\d+/g, '')),
    state: 'firing',
    name: nameOf(found?.name) ?? nameOf(text) ?? 'Uptime Kuma',
    summary: found?.text ?? text,
    severity: 'warning',
    facts: [],
    links: [],
  };
  return { alerts: [alert], truncated: 0 };
}

function factsOf(
  monitor: Record<string, unknown>,
  heartbeat: Record<string, unknown>,
): ReportedAlert['facts'] {
  const facts = createFacts();
  facts.add('type', monitor.type);
  if (WEB.has(String(monitor.type))) facts.add('url', monitor.url);
  const host = lineOf(monitor.hostname, 250);
  const port = lineOf(monitor.port, 10);
  if (host !== undefined) facts.add('host', port === undefined ? host : `${host}:${port}`);
  if (monitor.pathName !== monitor.name) facts.add('path', monitor.pathName);
  facts.add('description', monitor.description);
  if (typeof heartbeat.ping === 'number') facts.add('ping', `${heartbeat.ping} ms`);
  for (const tag of Array.isArray(monitor.tags) ? monitor.tags.slice(0, 100) : []) {
    if (isRecord(tag))
      facts.add(lineOf(tag.name, 60) ?? 'tag', tag.value === '' ? 'yes' : tag.value);
  }
  return facts.list();
}

function linksOf({ type, url }: Record<string, unknown>) {
  const links = createLinks();
  if (WEB.has(String(type))) links.add('Page', url);
  return links.list();
}
