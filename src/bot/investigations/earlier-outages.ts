import type { IncidentPage } from '../../clients/monitoring.ts';
import type { Incident as ServiceIncident } from '../../contracts/monitoring-additions.ts';
import { conversationKey } from '../ask/conversations.ts';
import { POSTMORTEM } from '../commands/incident-actions.ts';
import { incidentsIn } from '../incidents/watch-state.ts';
import { placeKey } from '../shared/place.ts';
import { inShort } from '../shared/text-format.ts';
import {
  type LookUpSubject,
  noteFacts,
  outside,
  shownName,
  type UnnumberedFact,
  urlOf,
} from './found-fact.ts';
import { causeKey } from './related.ts';

export const BEFORE_DAYS = 90;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MAX_EARLIER = 6;
const MAX_OTHERS = 3;

/** Earlier outages of 90 days, the ones with the same cause first, and how they ended. */
export async function earlierFacts(
  own: IncidentPage | undefined,
  all: IncidentPage['incidents'],
  subject: LookUpSubject,
): Promise<UnnumberedFact[]> {
  const { found, startedAtMs, pagesUrl } = subject;
  const { incident } = found;
  const cause = causeKey(incident.reason);
  const isAlike = (one: ServiceIncident) => cause !== '' && causeKey(one.cause) === cause;
  const isEarlier = (one: ServiceIncident) => Date.parse(one.started_at) < startedAtMs;
  const sorted = (own?.incidents ?? [])
    .filter(isEarlier)
    .sort((a, b) => Number(isAlike(b)) - Number(isAlike(a)))
    .slice(0, MAX_EARLIER);
  const others = all
    .filter((one) => isEarlier(one) && isAlike(one) && one.monitor !== incident.monitorId)
    .filter((one) => startedAtMs - Date.parse(one.started_at) > DAY_MS)
    .slice(0, MAX_OTHERS);
  const facts = await Promise.all(
    sorted.map(async (one): Promise<UnnumberedFact[]> => {
      const atMs = Date.parse(one.started_at);
      const outcome = await outcomeOf(atMs, subject);
      return [
        {
          text: `Earlier outage of ${shownName(incident)}, ${lasted(one)}${isAlike(one) ? ', same cause' : ''}: ${outside(one.cause)}`,
          atMs,
          url: urlOf(incident.monitorId, pagesUrl),
        },
        ...outcome,
      ];
    }),
  );
  return [
    ...facts.flat(),
    own?.complete && sorted.length === 0 && !incident.reported
      ? { text: `${shownName(incident)} had no outage in the last ${BEFORE_DAYS} days` }
      : undefined,
    ...others.map((one) => ({
      text: `Earlier outage of ${outside(one.name ?? 'another monitor', 100)} with the same cause, ${lasted(one)}: ${outside(one.cause)}`,
      atMs: Date.parse(one.started_at),
    })),
  ].filter((fact) => fact !== undefined);
}

/** Notes and the postmortem of an earlier outage, if this channel still has its alert. */
async function outcomeOf(
  startedAtMs: number,
  { watching, place, found, conversations }: LookUpSubject,
): Promise<UnnumberedFact[]> {
  const alerts = watching?.alerts ?? [];
  const incident = incidentsIn(alerts).find(
    (one) =>
      one.monitorId === found.incident.monitorId &&
      Math.abs(one.startedAtMs - startedAtMs) < MINUTE_MS,
  );
  if (!incident) return [];
  const key = placeKey(place);
  const alert = alerts.find(
    (one) =>
      (one === incident ||
        (one.kind === 'group' &&
          one.place === key &&
          one.members.some(({ incidentId }) => incidentId === incident.id))) &&
      one.deliveries.some((delivery) => delivery.place === key && delivery.posted),
  );
  // Without an alert here, the notes are of another channel.
  if (!alert) return [];
  const notes = [...(incident.notes ?? []), ...(alert.kind === 'group' ? (alert.notes ?? []) : [])];
  const thread = alert.deliveries.find((one) => one.place === key)?.posted?.thread;
  const turns =
    thread === undefined ? [] : await conversations.turns(conversationKey(place, thread));
  const postmortem = turns.findLast(({ question }) => question === POSTMORTEM);
  const cause =
    postmortem &&
    /^#+ *Cause\s+([\s\S]{1,1000}?)(?=\n#|$(?![\s\S]))/im.exec(postmortem.answer)?.[1];
  return [
    ...noteFacts(notes, ' in that outage'),
    ...(cause
      ? [{ text: `Its postmortem says about the cause: ${outside(cause)}`, atMs: postmortem.atMs }]
      : []),
  ];
}

export const lasted = ({ started_at, ended_at }: ServiceIncident) =>
  inShort(Date.parse(ended_at ?? started_at) - Date.parse(started_at));
