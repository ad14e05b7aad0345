import type { IncidentPage } from '../../clients/monitoring.ts';
import type {
  CheckRecord,
  Incident as ServiceIncident,
} from '../../contracts/monitoring-additions.ts';
import type { ThreadIncident } from '../incidents/incident-service.ts';
import {
  groupBy,
  type Incident,
  incidentsIn,
  isFiring,
  type Reported,
} from '../incidents/watch-state.ts';
import { compact } from '../shared/card.ts';
import { placeKey } from '../shared/place.ts';
import { isUp } from '../shared/status.ts';
import { hostOf, shownTarget } from '../shared/target-link.ts';
import { counted } from '../shared/text-format.ts';
import { isoTime } from '../tools/tool.ts';
import { BEFORE_DAYS, earlierFacts, lasted } from './earlier-outages.ts';
import {
  because,
  type FoundFact,
  type LookUpOptions,
  type LookUpSubject,
  noteFacts,
  outside,
  shownName,
  type UnnumberedFact,
  urlOf,
} from './found-fact.ts';
import { isInTrouble, relatedMonitors } from './related.ts';

/** Everything that was looked up about an incident by rules. */
export interface LookedUp {
  /** The ones about the incident itself first. */
  facts: FoundFact[];
  /** In people's words. */
  runbook?: string;
  /** The look-ups that failed, in words. */
  missing: string[];
}

/** Without an answer in this time, the other facts are used. */
const WAIT_MS = 5_000;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Alerts and outages so near to the beginning may have to do with it. */
const NEAR_MS = 30 * MINUTE_MS;
const TOGETHER_MS = 5 * MINUTE_MS;

const CHECKS = 30;
const MAX_MEMBERS = 10;
const MAX_CHANGES = 10;
const MAX_ALERTS = 10;

/** Looks up what may explain an incident. Throws only if the signal aborts. */
export async function lookUp(found: ThreadIncident, options: LookUpOptions): Promise<LookedUp> {
  const { monitoring, nowMs, signal } = options;
  const { incident, group } = found;
  const { monitorId, reported } = incident;
  const within = { signal, timeoutMs: WAIT_MS };
  const from = isoTime(nowMs - BEFORE_DAYS * DAY_MS);
  const range = { from, to: isoTime(nowMs), ...within };
  const [listed, checked, ended, own, all] = await Promise.allSettled([
    monitoring.list(within),
    // The service doesn't know reported alerts.
    reported ? [] : monitoring.results(monitorId, { limit: CHECKS, ...within }),
    reported ? NO_INCIDENTS : monitoring.incidentList({ monitor: monitorId, limit: 100, ...range }),
    reported ? undefined : monitoring.show(monitorId, within),
    monitoring.incidentList({ limit: 1_000, ...range }),
  ]);
  signal.throwIfAborted();
  const subject: LookUpSubject = {
    ...options,
    found,
    startedAtMs: Math.min(...(group?.members ?? [incident]).map((one) => one.startedAtMs)),
    monitors: fetched(listed) ?? [],
  };
  const facts = [
    ...incidentFacts(subject),
    ...checkFacts(fetched(checked) ?? [], subject),
    ...settingFacts(subject),
    ...keywordFact(fetched(own)),
    ...monitorFacts(subject),
    ...changeFacts(fetched(all)?.incidents ?? [], subject),
    ...reportedFacts(subject),
    ...(await earlierFacts(fetched(ended), fetched(all)?.incidents ?? [], subject)),
    ...noteFacts([...(group?.notes ?? []), ...(incident.notes ?? [])]),
  ];
  return {
    facts: facts.map((fact, at) => ({ id: `F${at + 1}`, ...fact })),
    // Without the details, at least the beginning is known.
    runbook: own.status === 'fulfilled' ? own.value?.runbook : incident.runbook,
    missing: compact(
      listed.status === 'rejected' && 'the list of monitors',
      checked.status === 'rejected' && 'its last checks',
      [ended, all].some(({ status }) => status === 'rejected') && 'earlier incidents',
    ),
  };
}

const NO_INCIDENTS: IncidentPage = { incidents: [], total: 0, complete: true };

const fetched = <T>(settled: PromiseSettledResult<T>) =>
  settled.status === 'fulfilled' ? settled.value : undefined;

function incidentFacts({ found, monitors, pagesUrl }: LookUpSubject): UnnumberedFact[] {
  const { incident, group, all } = found;
  const members = group?.members ?? [];
  const others = members.filter(({ monitorId }) => monitorId !== incident.monitorId);
  const named = others.slice(0, MAX_MEMBERS);
  const hosts = new Set(all.map(({ target }) => hostOf(target)).filter((host) => host !== ''));
  const { behind, acknowledged } = incident;
  return compact<UnnumberedFact>(
    {
      text: `${shownName(incident)} (${sourceOf(incident)}) became ${beganAs(incident)}${because(incident.reason)}`,
      atMs: incident.startedAtMs,
      url: monitors.some(({ id }) => id === incident.monitorId)
        ? urlOf(incident.monitorId, pagesUrl)
        : incident.reported?.links[0]?.url,
    },
    ...named.map((member) => ({
      text: `${shownName(member)} became ${beganAs(member)}${because(member.reason)}`,
      atMs: member.startedAtMs,
    })),
    others.length > named.length && {
      text: `${counted(others.length - named.length, 'more monitor')} became DOWN together with it`,
    },
    hosts.size > 1 && { text: `The monitors in trouble check ${hosts.size} different hosts` },
    ...(incident.reported?.facts ?? []).slice(0, MAX_ALERTS).map(({ label, value }) => ({
      text: `${shownName(incident)} has ${outside(label, 60)}: ${outside(value)}`,
    })),
    behind && {
      text: `${counted(behind.count, 'monitor')} that depend on it are down, too: ${outside(behind.names.join(', '))}`,
    },
    acknowledged && {
      text: `${outside(acknowledged.by, 80)} acknowledged it`,
      atMs: acknowledged.atMs,
    },
  );
}

const beganAs = ({ degraded, status }: Pick<Incident, 'degraded' | 'status'>) =>
  outside(degraded ?? status, 40);

const sourceOf = ({ reported, target, checkType }: Incident) =>
  reported ? `reported by ${outside(target, 100)}` : `${outside(checkType, 40)} ${where(target)}`;

const where = (target: string) => outside(shownTarget(target), 200);

/** The last passed check, the first failed ones and the newest, and response times: newest checks come first. */
function checkFacts(
  checks: readonly CheckRecord[],
  { found, pagesUrl }: LookUpSubject,
): UnnumberedFact[] {
  const url = urlOf(found.incident.monitorId, pagesUrl);
  const of = (check: CheckRecord | undefined): UnnumberedFact | undefined =>
    check && {
      text: check.ok
        ? `A check passed in ${Math.round(check.response_time_ms)} ms`
        : `A check failed (${outside(check.outcome, 40)}) after ${Math.round(check.response_time_ms)} ms${because(check.reason)}`,
      atMs: Date.parse(check.at),
      url,
    };
  const passedAt = checks.findIndex(({ ok }) => ok);
  const failed = (passedAt === -1 ? checks : checks.slice(0, passedAt)).toReversed();
  const passed = checks.filter(({ ok }) => ok);
  const [first, ...later] = failed;
  const last = later.at(-1);
  return compact(
    passedAt !== -1 && of(checks[passedAt]),
    of(first),
    last && (last.reason !== first?.reason || last.outcome !== first?.outcome) && of(last),
    failed.length > 1 && { text: `The last ${failed.length} checks failed`, url },
    passed.length > 2 && {
      text: `Response times of its last passed checks, oldest first: ${passed
        .slice(0, 10)
        .toReversed()
        .map(({ response_time_ms: ms }) => `${Math.round(ms)} ms`)
        .join(', ')}`,
      url,
    },
  );
}

/** The certificate and the age of the settings. */
function settingFacts({ found, monitors, startedAtMs, pagesUrl }: LookUpSubject): UnnumberedFact[] {
  const ids = idsOf(found);
  return monitors
    .filter(({ id }) => ids.has(id))
    .slice(0, MAX_MEMBERS)
    .flatMap((monitor) => {
      const url = urlOf(monitor.id, pagesUrl);
      const endsAtMs = timeOf(monitor.certificate_ends_at);
      const createdAtMs = timeOf(monitor.created_at);
      const changedAtMs = timeOf(monitor.settings_changed_at);
      return compact<UnnumberedFact>(
        endsAtMs !== undefined &&
          endsAtMs < startedAtMs + 14 * DAY_MS && {
            text: `The certificate of ${shownName(monitor)} ${endsAtMs < startedAtMs ? 'expired' : 'expires'}`,
            atMs: endsAtMs,
            url,
          },
        createdAtMs !== undefined &&
          startedAtMs - createdAtMs < DAY_MS && {
            text: `${shownName(monitor)} was added to the monitors`,
            atMs: createdAtMs,
            url,
          },
        changedAtMs !== undefined &&
          startedAtMs - changedAtMs < DAY_MS && {
            text: `Somebody changed the settings of ${shownName(monitor)} (what it checks or expects)`,
            atMs: changedAtMs,
            url,
          },
      );
    });
}

/** The keyword of a check. The reason of a failure doesn't quote it. */
function keywordFact({ config }: { config?: Record<string, unknown> } = {}): UnnumberedFact[] {
  const { target_keyword: keyword, inverted } = config ?? {};
  if (typeof keyword !== 'string') return [];
  const how = inverted === true ? 'without' : 'with';
  return [{ text: `Its check expects a page ${how} “${outside(keyword, 100)}”` }];
}

const timeOf = (time: string | null | undefined) => (time ? Date.parse(time) : undefined);

/** The state of related monitors, of others that failed at the same time, and of all together. */
function monitorFacts({ found, monitors, startedAtMs, pagesUrl }: LookUpSubject): UnnumberedFact[] {
  const ids = idsOf(found);
  const others = monitors.filter(({ id }) => !ids.has(id));
  const down = others.filter(isInTrouble);
  const together = down.filter(
    ({ status_changed_at: at }) => Math.abs(Date.parse(at ?? '') - startedAtMs) <= TOGETHER_MS,
  );
  const related = relatedMonitors(monitors, ids);
  const relatedIds = new Set(related.map(({ monitor }) => monitor.id));
  const unrelated = together
    .filter(({ id }) => !relatedIds.has(id))
    .slice(0, MAX_MEMBERS)
    .map((monitor) => ({ monitor, relation: undefined }));
  const states = [...related, ...unrelated].map(({ monitor, relation }) => ({
    text: `${shownName(monitor)} (${relation === undefined ? '' : `${relation}, `}${where(monitor.target)}) is ${outside(monitor.status, 40)}${isUp(monitor) ? '' : because(monitor.status_reason)}`,
    atMs: timeOf(isUp(monitor) ? monitor.last_checked_at : monitor.status_changed_at),
    url: urlOf(monitor.id, pagesUrl),
  }));
  if (others.length === 0) return states;
  const text =
    down.length === 0
      ? `No other monitor is in trouble (${counted(others.length, 'monitor')} in all)`
      : `Also in trouble: ${down.length} of ${counted(others.length, 'other monitor')}, ${together.length} of them since within 5 minutes of this`;
  return [...states, { text, url: pagesUrl && `${pagesUrl}/status` }];
}

/** Ids of the monitors and alerts of the incident. */
const idsOf = ({ all, group }: ThreadIncident) =>
  new Set([...all, ...(group?.members ?? [])].map(({ monitorId }) => monitorId));

/** Outages of other monitors in the day before, the related and the nearest ones first. */
function changeFacts(
  incidents: IncidentPage['incidents'],
  { found: subject, monitors, startedAtMs, pagesUrl }: LookUpSubject,
): UnnumberedFact[] {
  const ids = idsOf(subject);
  const related = new Set(relatedMonitors(monitors, ids).map(({ monitor }) => monitor.id));
  const ageMs = (one: ServiceIncident) => startedAtMs - Date.parse(one.started_at);
  const isRelated = ({ monitor = '' }: { monitor?: string }) => related.has(monitor);
  const found = incidents
    .filter(({ monitor = '' }) => !ids.has(monitor))
    .filter((one) => one.ended_at !== null && ageMs(one) < DAY_MS)
    .filter((one) => isRelated(one) || Math.abs(ageMs(one)) < NEAR_MS)
    .sort(
      (a, b) =>
        Number(isRelated(b)) - Number(isRelated(a)) || Math.abs(ageMs(a)) - Math.abs(ageMs(b)),
    );
  return [...groupBy(found, ({ monitor }) => monitor).values()]
    .slice(0, MAX_CHANGES)
    .map(([nearest, ...others]) => ({
      text: `${outside(nearest.name ?? 'Another monitor', 100)} was DOWN for ${lasted(nearest)}${others.length > 0 ? `, and ${counted(others.length, 'more time')} that day` : ''}${because(nearest.cause)}`,
      atMs: Date.parse(nearest.started_at),
      url: nearest.monitor === undefined ? undefined : urlOf(nearest.monitor, pagesUrl),
    }));
}

/** Alerts from other systems in this channel, near in time, and times in which Askwatch saw nothing. */
function reportedFacts({ watching, place, found, startedAtMs }: LookUpSubject): UnnumberedFact[] {
  const key = placeKey(place);
  const ids = idsOf(found);
  const incidents = new Map(
    incidentsIn(watching?.alerts ?? []).map((one) => [one.monitorId, one] as const),
  );
  const isNear = ({ startedAtMs: atMs, endedAtMs = Number.POSITIVE_INFINITY }: Reported) =>
    Math.abs(atMs - startedAtMs) <= NEAR_MS || (atMs < startedAtMs && endedAtMs > startedAtMs);
  const alerts = (watching?.reported ?? [])
    .filter((one) => one.place === key && !ids.has(one.id) && isNear(one))
    .sort((a, b) => Math.abs(a.startedAtMs - startedAtMs) - Math.abs(b.startedAtMs - startedAtMs))
    .slice(0, MAX_ALERTS)
    .map((one): UnnumberedFact => {
      const { reason, target, reported } = incidents.get(one.id) ?? {};
      const facts = (reported?.facts ?? []).map(({ label, value }) => `${label}: ${value}`);
      return {
        text: `Alert “${shownName(one)}”${target ? ` from ${outside(target, 80)}` : ''} ${isFiring(one) ? 'is firing' : 'fired'}${because(reason)}${facts.length > 0 ? ` (${outside(facts.join(', '))})` : ''}`,
        atMs: one.startedAtMs,
        url: reported?.links[0]?.url,
      };
    });
  const blind = (watching?.alerts ?? [])
    .filter((alert) => alert.kind === 'monitoring-outage')
    .filter((alert) => Math.abs(alert.startedAtMs - startedAtMs) <= NEAR_MS)
    .map((alert): UnnumberedFact => {
      return {
        text: `Askwatch could not see the monitors${because(alert.why)}`,
        atMs: alert.startedAtMs,
      };
    });
  return [...alerts, ...blind];
}
