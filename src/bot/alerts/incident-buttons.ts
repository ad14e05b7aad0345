import { snoozeFact } from '../incidents/snoozes.ts';
import type { Incident } from '../incidents/watch-state.ts';
import type { CardAction, Fact } from '../shared/card.ts';

/** The buttons under an incident. */
export function actionsOf(incident: Incident): CardAction[] {
  const values = { incident: incident.id };
  const action = (label: string, verb: string): CardAction => ({
    label,
    command: `incident ${verb}`,
    values,
  });
  if (incident.endedAtMs !== undefined) {
    return [
      ...(incident.snoozed ? [action('End snooze', 'unsnooze')] : []),
      ...(incident.gone ? [] : [action('Summarise', 'summary')]),
    ];
  }
  return [
    ...(incident.acknowledged ? [] : [action('Acknowledge', 'acknowledge')]),
    incident.snoozed ? action('End snooze', 'unsnooze') : action('Snooze 1 h', 'snooze'),
    action('Check now', 'check'),
    action('Ask why', 'why'),
  ];
}

/** Who looks after it, and until when it is quiet. */
export function careFacts({ acknowledged, snoozed }: Incident): Fact[] {
  return [
    ...(acknowledged ? [{ label: 'Acknowledged by', value: acknowledged.by }] : []),
    ...(snoozed ? [snoozeFact(snoozed)] : []),
  ];
}
