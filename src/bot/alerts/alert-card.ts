import { latencyFacts } from '../incidents/latency.ts';
import { NOTE_HINT, noteFacts } from '../incidents/notes.ts';
import type { Blindness, Delivery, Incident, Topic } from '../incidents/watch-state.ts';
import type { Card, Fact } from '../shared/card.ts';
import { isDown } from '../shared/status.ts';
import { shownTarget, targetLink } from '../shared/target-link.ts';
import { counted, inWords, shortened } from '../shared/text-format.ts';
import { flappingFacts, flappingHeadline, flappingText } from './flapping-card.ts';
import { groupCard, groupTimes, groupTitle, onlyMember } from './group-card.ts';
import { actionsOf, careFacts } from './incident-buttons.ts';
import { lasted, timeFacts } from './incident-times.ts';

type Line = NonNullable<Delivery['line']>;

/** What a place is to see of a topic now. Pure. */
export function alertCard(topic: Topic, delivery: Pick<Delivery, 'earlier' | 'shownOpen'>): Card {
  if (topic.kind === 'notice') {
    return {
      tone: topic.endedAtMs === undefined ? 'warning' : 'good',
      title: topic.title,
      parts: [{ kind: 'text', text: topic.text }],
    };
  }
  if (topic.kind === 'blindness') return blindnessCard(topic);
  if (topic.kind === 'group') return groupCard(topic, delivery);
  const link = targetLink(topic);
  const text = topic.flapping && flappingText(topic);
  return {
    ...headline(topic, delivery),
    parts: [
      ...(text ? [{ kind: 'text' as const, text }] : []),
      {
        kind: 'facts',
        facts: [
          ...facts(topic),
          ...earlierFacts(delivery.earlier),
          ...careFacts(topic),
          ...noteFacts(topic),
        ],
      },
    ],
    actions: actionsOf(topic),
    ...(link && { link }),
    // Tells two messages about one outage from two outages.
    footer: `Incident ${topic.id.slice(0, 8)} · ${NOTE_HINT}`,
  };
}

/** The one line under a message of something that is over, or still goes on. Pure. */
export function lineCard(topic: Topic, line: Line): Card {
  const { tone } = alertCard(topic, { shownOpen: true });
  return { tone, title: `${lineTitle(topic)}${lineEnd(topic, line)}`, parts: [] };
}

function lineTitle(topic: Topic): string {
  if (topic.kind === 'group') return groupTitle(topic, { shownOpen: true, isLine: true });
  const { title } = alertCard(topic, { shownOpen: true });
  if (topic.kind !== 'incident' || topic.endedAtMs !== undefined) return title;
  const { flapping } = topic;
  if (flapping) {
    return flappingHeadline({ ...topic, flapping }, { shownOpen: true, isLine: true }).title;
  }
  return `${shortened(topic.name, 100)} is still ${shortened(topic.status, 40)}`;
}

/** What was told before is known by now, but not how long it took. */
function lineEnd(topic: Topic, { atMs }: Line): string {
  if (topic.kind === 'notice' || ('gone' in topic && topic.gone)) return '';
  // What flapped says by itself for how long.
  const one = topic.kind === 'group' ? onlyMember(topic) : topic;
  if (one && 'flapping' in one && one.flapping) return '';
  const untilMs = topic.endedAtMs ?? atMs;
  const words = lasted(topic.kind === 'group' ? groupTimes(topic) : topic, untilMs);
  return topic.endedAtMs === undefined ? `, for ${words} now` : ` after ${words}`;
}

function blindnessCard({ startedAtMs, endedAtMs, why }: Blindness): Card {
  if (endedAtMs === undefined) {
    return {
      tone: 'warning',
      title: 'Askwatch cannot see the monitors',
      parts: [
        { kind: 'facts', facts: [{ label: 'Since', value: { atMs: startedAtMs } }] },
        { kind: 'text', text: `${why} Until it sees them again, nobody is told of outages.` },
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
      { kind: 'text', text: 'What went down meanwhile, and still is, is told now.' },
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
