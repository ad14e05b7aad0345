import { z } from 'zod';
import type { Incidents } from '../incidents/incident-service.ts';
import { newSnooze } from '../incidents/snoozes.ts';
import { type Card, compact, type Fact, factsPart, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { shortened } from '../shared/text-format.ts';
import { DraftMonitor, factsOf, titleOf } from './known-monitor.ts';
import { findMonitor, findMonitorOrAlert } from './monitors.ts';
import { DraftAlert, draftAlerts } from './reported-alerts.ts';
import { subjectField, type WriteContext, writingTool } from './tool.ts';

const Subject = z.union([DraftMonitor, DraftAlert]);

const IncidentDraft = z.object({ subject: Subject, incident: z.string() });

type IncidentMarker = Pick<WriteContext, 'person'> & { incidents: Pick<Incidents, 'mark'> };

/** Acknowledges an incident in every channel that shows it. Resolves to a card if someone else was first. */
export async function acknowledge(
  incident: string,
  { incidents, person }: IncidentMarker,
): Promise<Card | undefined> {
  const by = shortened(person.name, 80);
  const first = await incidents.mark(incident, 'acknowledged', (atMs) => ({ by, atMs }));
  return first && firstCard(`${first.by} acknowledged this first`, 'Acknowledged', first.atMs);
}

/** Holds back new outages of the incident's monitors for an hour. Resolves to a card if someone else was first. */
export async function snooze(
  incident: string,
  { incidents, person }: IncidentMarker,
): Promise<Card | undefined> {
  const first = await incidents.mark(incident, 'snoozed', (atMs) => newSnooze(person.name, atMs));
  return first && firstCard(`${first.by} snoozed this first`, 'Snoozed until', first.untilMs);
}

const firstCard = (title: string, label: string, atMs: number): Card => ({
  tone: 'info',
  title,
  parts: [factsPart({ label, value: { atMs } })],
});

/** Finds a monitor, or an alert that fires in the channel of the question, with its incident. Throws a `CommandError`. */
async function openIncident(
  meant: string,
  { monitoring, incidents, reported, signal }: WriteContext,
): Promise<z.infer<typeof IncidentDraft>> {
  const monitors = await monitoring.list({ signal });
  const subject = reported
    ? findMonitorOrAlert(monitors, draftAlerts(reported()), meant)
    : findMonitor(monitors, meant);
  const incident = incidents.openOf(subject.id);
  if (incident !== undefined) return { subject, incident };
  throw new CommandError(
    `${titleOf(subject)} has no ongoing incident that was posted in a channel. There is nothing to acknowledge or snooze.`,
  );
}

function subjectFacts(subject: z.infer<typeof Subject>): Fact[] {
  if ('target' in subject) return factsOf(subject);
  const { reportedBy, status, cause } = subject;
  return compact<Fact>(
    reportedBy !== undefined && { label: 'Reported by', value: reportedBy },
    { label: 'Status', value: status },
    cause !== undefined && { label: 'Cause', value: cause },
  );
}

export const acknowledgeIncident = writingTool({
  name: 'acknowledge_incident',
  title: 'Acknowledge an incident',
  description:
    'Acknowledges the ongoing incident of one monitor, or of one alert from another system that is firing in this channel. It does so for the person who asks, in every channel that shows it.',
  right: 'anyone',
  input: z.object({ monitor: subjectField }),
  draft: IncidentDraft,
  prepare: ({ monitor }, context) => openIncident(monitor, context),
  summary: ({ subject }) => ({
    title: `Acknowledge the incident of ${titleOf(subject)}?`,
    facts: subjectFacts(subject),
    confirm: 'Acknowledge',
  }),
  async carryOut({ subject, incident }, context) {
    const by = shortened(context.person.name, 80);
    const first = await acknowledge(incident, context);
    return first ?? textCard('good', `${by} acknowledged the incident of ${titleOf(subject)}`);
  },
});

export const snoozeIncident = writingTool({
  name: 'snooze_incident',
  title: 'Snooze an incident for an hour',
  description:
    'For an hour, mutes new outages of one monitor that is down, or one alert from another system that is firing in this channel.',
  right: 'anyone',
  input: z.object({ monitor: subjectField }),
  draft: IncidentDraft,
  prepare: ({ monitor }, context) => openIncident(monitor, context),
  summary: ({ subject }) => ({
    title: `Snooze ${titleOf(subject)} for an hour?`,
    facts: subjectFacts(subject),
    confirm: 'Snooze',
  }),
  async carryOut({ subject, incident }, context) {
    const first = await snooze(incident, context);
    return first ?? textCard('good', `${titleOf(subject)} is snoozed for an hour`);
  },
});

const NO_INCIDENT =
  'This thread does not belong to an alert, so there is no incident to add a note to.';

export const noteIncident = writingTool({
  name: 'note_incident',
  title: 'Add a note to an incident',
  description: 'Adds a note to the incident of this thread.',
  right: 'anyone',
  ofPlace: true,
  input: z.object({ text: z.string().min(1).max(500).describe('The note.') }),
  draft: z.object({ text: z.string(), thread: z.string() }),
  async prepare({ text }, { thread }) {
    if (thread === undefined) throw new CommandError(NO_INCIDENT);
    return { text: text.replace(/\s+/g, ' ').trim(), thread };
  },
  summary: ({ text }) => ({
    title: 'Add this note to the incident?',
    facts: [{ label: 'Note', value: text }],
    confirm: 'Add note',
  }),
  async carryOut({ text, thread }, { incidents, place, person }) {
    const isKept =
      place !== undefined &&
      (await incidents.note({ place, thread }, { by: shortened(person.name, 80), text }));
    if (!isKept) throw new CommandError(NO_INCIDENT);
    return textCard('good', 'The note was added to the incident');
  },
});
