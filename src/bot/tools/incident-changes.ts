import { z } from 'zod';
import type { Incidents } from '../incidents/incident-service.ts';
import { newSnooze } from '../incidents/snoozes.ts';
import { type Card, factsPart, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { shortened } from '../shared/text-format.ts';
import { DraftMonitor, draftMonitor, factsOf, titleOf } from './known-monitor.ts';
import { monitorField, type WriteContext, writingTool } from './tool.ts';

const IncidentDraft = z.object({ monitor: DraftMonitor, incident: z.string() });

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

async function openIncident(meant: string, context: WriteContext) {
  const monitor = await draftMonitor(meant, context);
  const incident = context.incidents.openOf(monitor.id);
  if (incident !== undefined) return { monitor, incident };
  throw new CommandError(
    `${titleOf(monitor)} has no ongoing incident that was posted in a channel. There is nothing to acknowledge or snooze.`,
  );
}

export const acknowledgeIncident = writingTool({
  name: 'acknowledge_incident',
  title: 'Acknowledge an incident',
  description:
    'Acknowledges the ongoing incident of one monitor for the person who asks, in every channel that shows it.',
  right: 'anyone',
  input: z.object({ monitor: monitorField }),
  draft: IncidentDraft,
  prepare: ({ monitor }, context) => openIncident(monitor, context),
  summary: ({ monitor }) => ({
    title: `Acknowledge the incident of ${titleOf(monitor)}?`,
    facts: factsOf(monitor),
    confirm: 'Acknowledge',
  }),
  async carryOut({ monitor, incident }, context) {
    const by = shortened(context.person.name, 80);
    const first = await acknowledge(incident, context);
    return first ?? textCard('good', `${by} acknowledged the incident of ${titleOf(monitor)}`);
  },
});

export const snoozeIncident = writingTool({
  name: 'snooze_incident',
  title: 'Snooze a monitor for an hour',
  description: 'Holds back alerts about new outages of one monitor that is down for an hour.',
  right: 'anyone',
  input: z.object({ monitor: monitorField }),
  draft: IncidentDraft,
  prepare: ({ monitor }, context) => openIncident(monitor, context),
  summary: ({ monitor }) => ({
    title: `Snooze ${titleOf(monitor)} for an hour?`,
    facts: factsOf(monitor),
    confirm: 'Snooze',
  }),
  async carryOut({ monitor, incident }, context) {
    const first = await snooze(incident, context);
    return first ?? textCard('good', `${titleOf(monitor)} is snoozed for an hour`);
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
