import { NOTE_HINT, noteFacts } from '../incidents/incident-service.ts';
import { latencyFacts } from '../incidents/latency.ts';
import type { Alert, Delivery, Incident, MonitoringOutage } from '../incidents/watch-state.ts';
import { type Card, type Fact, textCard, textPart } from '../shared/card.ts';
import { isDown } from '../shared/status.ts';
import { shownTarget, targetLink } from '../shared/target-link.ts';
import { counted, inWords, shortened } from '../shared/text-format.ts';
import { groupCard, groupTimes, groupTitle, onlyMember } from './group-card.ts';
import {
  actionsOf,
  careFacts,
  flappingFacts,
  flappingHeadline,
  flappingText,
  lasted,
  timeFacts,
} from './incident-card.ts';

type Line = NonNullable<Delivery['line']>;

/** What a place is to see of an alert now. Pure. */
export function alertCard(alert: Alert, delivery: Pick<Delivery, 'earlier' | 'shownOpen'>): Card {
  if (alert.kind === 'notice') {
    return textCard(alert.endedAtMs === undefined ? 'warning' : 'good', alert.title, alert.text);
  }
  if (alert.kind === 'blindness') return monitoringOutageCard(alert);
  if (alert.kind === 'group') return groupCard(alert, delivery);
  const link = targetLink(alert);
  const text = alert.flapping && flappingText(alert);
  return {
    ...headline(alert, delivery),
    parts: [
      ...(text ? [textPart(text)] : []),
      {
        kind: 'facts',
        facts: [
          ...facts(alert),
          ...earlierFacts(delivery.earlier),
          ...careFacts(alert),
          ...noteFacts(alert),
        ],
      },
    ],
    actions: actionsOf(alert),
    ...(link && { link }),
    // Tells two messages about one outage from two outages.
    footer: `Incident ${alert.id.slice(0, 8)} · ${NOTE_HINT}`,
  };
}

/** The one line under a message of something that is over, or still goes on. Pure. */
export function lineCard(alert: Alert, line: Line): Card {
  const { tone } = alertCard(alert, { shownOpen: true });
  return { tone, title: `${lineTitle(alert)}${lineEnd(alert, line)}`, parts: [] };
}

function lineTitle(alert: Alert): string {
  if (alert.kind === 'group') return groupTitle(alert, { shownOpen: true, isLine: true });
  const { title } = alertCard(alert, { shownOpen: true });
  if (alert.kind !== 'incident' || alert.endedAtMs !== undefined) return title;
  const { flapping } = alert;
  if (flapping) {
    return flappingHeadline({ ...alert, flapping }, { shownOpen: true, isLine: true }).title;
  }
  return `${shortened(alert.name, 100)} is still ${shortened(alert.status, 40)}`;
}

/** What was told before is known by now, but not how long it took. */
function lineEnd(alert: Alert, { atMs }: Line): string {
  if (alert.kind === 'notice' || ('gone' in alert && alert.gone)) return '';
  // What flapped says by itself for how long.
  const one = alert.kind === 'group' ? onlyMember(alert) : alert;
  if (one && 'flapping' in one && one.flapping) return '';
  const untilMs = alert.endedAtMs ?? atMs;
  const words = lasted(alert.kind === 'group' ? groupTimes(alert) : alert, untilMs);
  return alert.endedAtMs === undefined ? `, for ${words} now` : ` after ${words}`;
}

function monitoringOutageCard({ startedAtMs, endedAtMs, why }: MonitoringOutage): Card {
  if (endedAtMs === undefined) {
    return {
      tone: 'warning',
      title: 'Askwatch cannot see the monitors',
      parts: [
        { kind: 'facts', facts: [{ label: 'Since', value: { atMs: startedAtMs } }] },
        textPart(`${why} Until it sees them again, nobody is told of outages.`),
      ],
    };
  }
  return {
    tone: 'good',
    title: 'Askwatch sees the monitors again',
    parts: [
      {
        kind: 'facts',
        facts: [
          { label: 'Blind from', value: { atMs: startedAtMs } },
          { label: 'Blind to', value: { atMs: endedAtMs } },
          { label: 'Duration', value: inWords(endedAtMs - startedAtMs) },
        ],
      },
      textPart('What went down meanwhile, and still is, is told now.'),
    ],
  };
}

function headline(
  incident: Incident,
  { shownOpen, earlier }: Pick<Delivery, 'earlier' | 'shownOpen'>,
): Pick<Card, 'tone' | 'title'> {
  const { flapping } = incident;
  if (flapping)
    return flappingHeadline({ ...incident, flapping }, { shownOpen: shownOpen ?? false });
  const name = shortened(incident.name, 100);
  const { degraded } = incident;
  if (incident.gone) return { tone: 'info', title: `${name} is no longer watched` };
  if (incident.endedAtMs !== undefined && degraded !== undefined) {
    const word = shortened(incident.status, 40);
    return isDown(incident)
      ? { tone: 'warning', title: `${name} was ${degraded}, and then ${word}` }
      : { tone: 'good', title: `${name} is ${word} again, and was ${degraded}` };
  }
  if (incident.endedAtMs !== undefined) {
    return {
      tone: 'good',
      title: `${name} ${shownOpen ? 'recovered' : wasDown(incident, earlier)}`,
    };
  }
  return {
    tone: isDown(incident) ? 'bad' : 'warning',
    title: `${name} is ${shortened(incident.status, 40)}`,
  };
}

/** For those who hear of an outage when it is over: it must be true when it is read. */
function wasDown(incident: Incident, earlier: Delivery['earlier']) {
  return earlier
    ? `was down ${counted(earlier.count + 1, 'time')}`
    : `was down for ${lasted(incident)}`;
}

function facts(incident: Incident): Fact[] {
  const { target, checkType, reason, flapping } = incident;
  return [
    { label: 'Target', value: shortened(shownTarget(target), 300) },
    ...(flapping ? flappingFacts({ ...incident, flapping }) : timeFacts(incident)),
    ...(reason ? [{ label: 'Cause', value: shortened(reason, 500) }] : []),
    ...latencyFacts(incident),
    { label: 'Kind', value: checkType },
  ];
}

function earlierFacts(earlier: Delivery['earlier']): Fact[] {
  if (!earlier) return [];
  return [
    { label: 'Also down before', value: counted(earlier.count, 'time') },
    { label: 'First down', value: { atMs: earlier.fromMs } },
  ];
}
