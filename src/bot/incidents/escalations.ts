import { hash } from 'node:crypto';
import type { Escalation } from '../channels/channel-settings.ts';
import { isUp } from '../shared/status.ts';
import type { RuleContext } from './arrange.ts';
import { newGroup, withMembers } from './groups.ts';
import { goesOn, needsAttention, openIncidentsIn } from './incidents.ts';
import type { Alert, Delivery, Group, Incident } from './watch-state.ts';

type EscalationGroup = Group & { escalation: NonNullable<Group['escalation']> };

export const isEscalation = (alert: Alert): alert is EscalationGroup =>
  alert.kind === 'group' && alert.escalation !== undefined;

/** Platforms mark the mention of a person with @. */
export const calledId = ({ id, isPerson }: NonNullable<Escalation['mention']>) =>
  isPerson ? `@${id}` : id;

/**
 * Escalates incidents that nobody acknowledged in time. An incident waits in its channel (not acknowledged, snoozed or
 * over), is due after the channel's `afterMs`, and is then escalated once (`escalatedFrom`). The result is one message
 * in another channel for all open incidents of the original message, or a line under that message if only a person or
 * group is named. Returns the same array if nothing is due. Pure.
 */
export function escalated(alerts: Alert[], around: EscalationContext): Alert[] {
  const openOf = openIncidentsIn(alerts);
  const due = alerts.flatMap((alert) => dueOf(alert, openOf, around));
  if (due.length === 0) return alerts;
  const changed = new Map(alerts.map((alert) => [alert.id, alert]));
  const groups: Group[] = [];
  for (const one of due) {
    const { alert, delivery, all, escalation } = one;
    if (escalation.place !== undefined) {
      groups.push(newEscalation(one, escalation.place, around.nowMs));
    } else {
      const now = changed.get(alert.id) ?? alert;
      changed.set(alert.id, withEscalationLine(now, one, around.nowMs));
    }
    for (const incident of all) {
      const now = changed.get(incident.id) as Incident;
      const escalatedFrom = [...(now.escalatedFrom ?? []), delivery.place];
      changed.set(incident.id, { ...now, escalatedFrom });
    }
  }
  return [...changed.values(), ...groups];
}

type EscalationContext = Pick<RuleContext, 'nowMs' | 'settingsOf'>;

interface DueEscalation {
  alert: Incident | Group;
  delivery: Delivery;
  /** Unacknowledged incidents of the message, including ones that aren't due yet. */
  all: Incident[];
  escalation: Escalation;
}

function dueOf(
  alert: Alert,
  openOf: (alert: Alert) => Incident[],
  { nowMs, settingsOf }: EscalationContext,
): DueEscalation[] {
  if ((alert.kind !== 'incident' && alert.kind !== 'group') || !goesOn(alert)) return [];
  if (isEscalation(alert)) return [];
  return alert.deliveries.flatMap((delivery): DueEscalation[] => {
    const { place } = delivery;
    const { escalation } = settingsOf(place);
    if (!escalation || isSnoozed(delivery, nowMs)) return [];
    // A line needs a posted message, which can have one line at a time.
    const mayHaveLine = delivery.posted && !delivery.line && delivery.dead === undefined;
    if (escalation.place === undefined && !(mayHaveLine && escalation.mention)) return [];
    const all = openOf(alert).filter(
      (incident) =>
        needsAttention(incident, nowMs) &&
        !isUp(incident) &&
        !incident.escalatedFrom?.includes(place),
    );
    const isDue = all.some(({ openedAtMs }) => nowMs - openedAtMs >= escalation.afterMs);
    return isDue ? [{ alert, delivery, all, escalation }] : [];
  });
}

const isSnoozed = ({ posted, heldUntilMs = 0 }: Delivery, nowMs: number) =>
  !posted && heldUntilMs > nowMs;

function withEscalationLine(
  alert: Alert,
  { delivery, escalation: { mention } }: DueEscalation,
  nowMs: number,
): Alert {
  const line: Delivery['line'] = {
    what: 'escalation',
    id: `${delivery.postId}/escalation/${nowMs}`,
    atMs: nowMs,
    attempted: false,
    mention: mention && calledId(mention),
  };
  const deliveries = alert.deliveries.map((one) =>
    one.postId === delivery.postId ? { ...one, line } : one,
  );
  return { ...alert, deliveries };
}

function newEscalation(
  { alert: { id: of }, delivery, all, escalation }: DueEscalation,
  to: string,
  nowMs: number,
): Group {
  const { afterMs, mention } = escalation;
  const { place: from, postId } = delivery;
  // Stable, because storing may be tried again, and short, because buttons contain it.
  const id = hash('sha256', JSON.stringify([of, from, nowMs]), 'hex').slice(0, 32);
  const called = mention?.name;
  const group = newGroup(to, { nowMs, newId: () => id }, all[0]?.intake);
  const origin = { of, from, postId, afterMs, mention: mention && calledId(mention), called };
  return withMembers({ ...group, escalation: origin }, all);
}
