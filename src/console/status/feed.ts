import { comingWords, monitorNames } from '../../bot/shared/maintenance-words.ts';
import { inWords } from '../../bot/shared/text-format.ts';
import { ifOffered } from '../../bot/tools/monitors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { HttpError } from '../../http/errors.ts';
import type { Viewer } from '../login/guards.ts';
import { xmlText } from '../shared/xml-text.ts';
import type { StatusIncident, StatusMaintenance } from './api-types.ts';
import { incidentOf } from './details.ts';
import { AHEAD_DAYS } from './maintenance.ts';

const DAY_MS = 86_400_000;

/** Writes incidents and planned maintenance as an Atom feed. Pure. Source: RFC 4287. */
export function atomFeed(props: {
  /** Newest first. */
  incidents: readonly StatusIncident[];
  /** Earliest first. */
  planned: readonly StatusMaintenance[];
  nowMs: number;
  /** The address of the feed's request, such as `https://status.example.com`. */
  origin: string;
  /** Only for monitors with it. */
  tag?: string;
  /** The time of an empty feed. */
  emptySince: string;
}): string {
  const { incidents, planned, origin, tag, emptySince, nowMs } = props;
  const query = tag === undefined ? '' : `?tag=${encodeURIComponent(tag)}`;
  const page = xmlText(`${origin}/status${query}`);
  const self = xmlText(`${origin}/status/feed.xml${query}`);
  const times = [...incidents.map(updatedAt), ...planned.map((one) => announcedAt(one, nowMs))];
  const updated = times.sort().at(-1) ?? emptySince;
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>urn:askwatch:status${xmlText(query)}</id>`,
    `<title>Status incidents${tag === undefined ? '' : xmlText(`: ${tag}`)}</title>`,
    `<updated>${updated}</updated>`,
    '<author><name>Askwatch</name></author>',
    `<link rel="alternate" type="text/html" href="${page}"/>`,
    `<link rel="self" type="application/atom+xml" href="${self}"/>`,
    ...planned.map((one) => plannedEntry(one, page, nowMs)),
    ...incidents.map((incident) => entryOf(incident, page)),
    '</feed>',
    '',
  ].join('\n');
}

const updatedAt = ({ started_at, ended_at }: StatusIncident) => ended_at ?? started_at;

function entryOf(incident: StatusIncident, page: string): string {
  const { id, name, monitor, started_at, ended_at } = incident;
  const lastedMs = ended_at === null ? 0 : Date.parse(ended_at) - Date.parse(started_at);
  const title = ended_at === null ? `${name} is down` : `${name} was down for ${inWords(lastedMs)}`;
  return [
    '<entry>',
    // An id never changes, at any address of the feed.
    `<id>urn:askwatch:incident:${xmlText(encoded(id))}</id>`,
    `<title>${xmlText(title)}</title>`,
    `<published>${started_at}</published>`,
    `<updated>${updatedAt(incident)}</updated>`,
    `<link rel="alternate" type="text/html" href="${page}#/${xmlText(encoded(monitor))}"/>`,
    `<content type="text">${xmlText(contentOf(incident))}</content>`,
    '</entry>',
  ].join('\n');
}

/** The time of the last news: maintenance began, or came near enough to be announced. Never in the future. */
function announcedAt({ starts_at }: StatusMaintenance, nowMs: number): string {
  const startsMs = Date.parse(starts_at);
  return new Date(startsMs <= nowMs ? startsMs : startsMs - AHEAD_DAYS * DAY_MS).toISOString();
}

function plannedEntry(one: StatusMaintenance, page: string, nowMs: number): string {
  const { starts_at, ends_at, monitors, more, reason } = one;
  const startsMs = Date.parse(starts_at);
  const names = monitorNames(one);
  const title = `${startsMs > nowMs ? 'Planned maintenance' : 'Maintenance'}: ${names}, ${comingWords(one, nowMs)}`;
  const id = [starts_at, ends_at, monitors[0]?.id ?? '', monitors.length + more].join(':');
  return [
    '<entry>',
    `<id>urn:askwatch:maintenance:${xmlText(encoded(id))}</id>`,
    `<title>${xmlText(title)}</title>`,
    `<published>${new Date(startsMs - AHEAD_DAYS * DAY_MS).toISOString()}</published>`,
    `<updated>${announcedAt(one, nowMs)}</updated>`,
    `<link rel="alternate" type="text/html" href="${page}"/>`,
    `<content type="text">${xmlText(`From ${starts_at} to ${ends_at}.${reason ? ` ${reason}` : ''}`)}</content>`,
    '</entry>',
  ].join('\n');
}

function contentOf({ started_at, ended_at, outcome, ended_as, cause }: StatusIncident): string {
  const began = `Down since ${started_at} (${outcome})`;
  const end = ended_at === null ? '.' : `, until ${ended_at}; ${ended_as ?? 'over'} since then.`;
  return began + end + (cause ? ` ${cause}` : '');
}

/** Encodes an id for a URN, without halves of surrogate pairs, which can't be encoded. */
const encoded = (id: string) => encodeURIComponent(id.replace(/\p{Cs}/gu, ''));

const FRESH_MS = 30_000;

const MAX_INCIDENTS = 50;

/**
 * Creates a function that reads the last incidents of all monitors, newest first, once for all visitors. Without any if the
 * service keeps none. It throws an `HttpError` if the service doesn't answer.
 */
export function createIncidents(monitoring: () => MonitoringClient) {
  let atMs = Number.NEGATIVE_INFINITY;
  let reading: ReturnType<typeof read> | undefined;

  async function read() {
    return (await ifOffered(monitoring().recentIncidents({ limit: MAX_INCIDENTS }))) ?? [];
  }

  return async (viewer: Viewer): Promise<StatusIncident[]> => {
    if (reading === undefined || performance.now() - atMs >= FRESH_MS) {
      atMs = performance.now();
      reading = read();
    }
    const now = reading;
    try {
      return (await now).flatMap(
        ({ monitor: id, name, ...incident }) =>
          incidentOf({ ...incident, monitor: { id, name: name.slice(0, 200) } }, viewer) ?? [],
      );
    } catch (error) {
      if (reading === now) reading = undefined;
      throw new HttpError(
        502,
        'monitoring_unreachable',
        "Couldn't load incidents from the monitoring service. Try again.",
        { cause: error },
      );
    }
  };
}
