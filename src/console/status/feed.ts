import { comingWords, monitorNames } from '../../bot/shared/maintenance-words.ts';
import { inWords } from '../../bot/shared/text-format.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Viewer } from '../login/guards.ts';
import { xmlText } from '../shared/xml-text.ts';
import type { StatusIncident, StatusMaintenance } from './api-types.ts';
import { incidentOf } from './details.ts';
import { ifThere } from './facts.ts';
import { AHEAD_DAYS } from './maintenance.ts';

const DAY_MS = 86_400_000;

/** Writes incidents and planned maintenance as an Atom feed. Pure. Source: RFC 4287. */
export function atomFeed({
  incidents,
  planned,
  origin,
  emptySince,
  nowMs,
}: {
  /** Newest first. */
  incidents: readonly StatusIncident[];
  /** In the order of the begins. */
  planned: readonly StatusMaintenance[];
  nowMs: number;
  /** The address that the feed was asked at, such as `https://status.example.com`. */
  origin: string;
  /** What an empty feed says of its age. */
  emptySince: string;
}): string {
  const page = xmlText(`${origin}/status`);
  const self = xmlText(`${origin}/status/feed.xml`);
  const times = [...incidents.map(updatedAt), ...planned.map((one) => toldAt(one, nowMs))];
  const updated = times.sort().at(-1) ?? emptySince;
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    '<id>urn:askwatch:status</id>',
    '<title>Status incidents</title>',
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
    // The same for good, under whatever address the feed is read.
    `<id>urn:askwatch:incident:${xmlText(encoded(id))}</id>`,
    `<title>${xmlText(title)}</title>`,
    `<published>${started_at}</published>`,
    `<updated>${updatedAt(incident)}</updated>`,
    `<link rel="alternate" type="text/html" href="${page}#/${xmlText(encoded(monitor))}"/>`,
    `<content type="text">${xmlText(contentOf(incident))}</content>`,
    '</entry>',
  ].join('\n');
}

/** When there was last news of it: it began, or its begin came so near that it is told. Never to come, whoever writes it. */
function toldAt({ starts_at }: StatusMaintenance, nowMs: number): string {
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
    `<updated>${toldAt(one, nowMs)}</updated>`,
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

/** As it may stand in a URN; half of a surrogate pair cannot be encoded. */
const encoded = (id: string) => encodeURIComponent(id.replace(/\p{Cs}/gu, ''));

/** How long an answer counts as fresh. */
const FRESH_MS = 30_000;

/** Incidents of all monitors that are asked for. */
const COUNT = 50;

/**
 * Makes what fetches the last incidents of all monitors, newest first, once for all who want to know; none where the service
 * keeps none. It rejects when the service does not answer.
 */
export function createIncidents(monitoring: () => MonitoringClient) {
  let atMs = Number.NEGATIVE_INFINITY;
  let asking: ReturnType<typeof ask> | undefined;

  async function ask() {
    return (await ifThere(monitoring().recentIncidents({ limit: COUNT }))) ?? [];
  }

  return async (viewer: Viewer): Promise<StatusIncident[]> => {
    if (asking === undefined || performance.now() - atMs >= FRESH_MS) {
      atMs = performance.now();
      asking = ask();
    }
    const now = asking;
    try {
      const told = await now;
      return told.flatMap(
        ({ monitor: id, name, ...incident }) =>
          incidentOf({ ...incident, monitor: { id, name: name.slice(0, 200) } }, viewer) ?? [],
      );
    } catch (error) {
      if (asking === now) asking = undefined;
      throw error;
    }
  };
}
