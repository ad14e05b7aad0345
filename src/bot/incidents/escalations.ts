import { hash } from 'node:crypto';
import type { Escalation } from '../channels/channel-settings.ts';
import { isSilenced, isUp } from '../shared/status.ts';
import type { RuleContext } from './arrange.ts';
import { newGroup, withMembers } from './groups.ts';
import { goesOn, isOpen } from './incidents.ts';
import {
  type Alert,
  type Delivery,
  type Group,
  type Incident,
  incidentsIn,
} from './watch-state.ts';

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
export const escalated = (
  alerts: Alert[],
  around: Pick<RuleContext, 'nowMs' | 'settingsOf'>,
): Alert[] => {
  let incidents: Map<string, Incident> | undefined;
  const openOf = (alert: Incident | Group): Incident[] => {
    if (alert.kind === 'incident') return isOpen(alert) ? [alert] : [];
    incidents ??= new Map(incidentsIn(alerts).map((incident) => [incident.id, incident]));
    return alert.members.flatMap(({ incidentId, endedAtMs }) => {
      const incident = endedAtMs === undefined ? incidents?.get(incidentId) : undefined;
      return incident && isOpen(incident) ? [incident] : [];
    });
  };
  const due = alerts.flatMap((alert) => dueOf(alert, openOf, around));
  if (due.length === 0) return alerts;

  const changed = new Map<string, Alert>();
  const now = <T extends Alert>(alert: T) => (changed.get(alert.id) ?? alert) as T;
  const made: Group[] = [];
  for (const { alert, delivery, all, escalation } of due) {
    const { place: to, mention } = escalation;
    if (to === undefined) {
      if (!mention) continue;
      const id = `${delivery.postId}/escalation/${around.nowMs}`;
      const line = {
        ...{ what: 'escalation' as const, id, atMs: around.nowMs, attempted: false },
        mention: calledId(mention),
      };
      const own = now(alert);
      const deliveries = own.deliveries.map((one) =>
        one.postId === delivery.postId ? { ...one, line } : one,
      );
      changed.set(alert.id, { ...own, deliveries });
    } else {
      made.push(newEscalation(alert, { delivery, all, escalation, to }, around));
    }
    for (const incident of all) {
      const own = now(incident);
      changed.set(incident.id, {
        ...own,
        escalatedFrom: [...(own.escalatedFrom ?? []), delivery.place],
      });
    }
  }
  if (changed.size === 0 && made.length === 0) return alerts;
  return [...alerts.map((alert) => changed.get(alert.id) ?? alert), ...made];
};

interface DueEscalation {
  alert: Incident | Group;
  /** The original message. */
  delivery: Delivery;
  /** Unacknowledged incidents of the message, including ones that aren't due yet. */
  all: Incident[];
  escalation: Escalation;
}

function dueOf(
  alert: Alert,
  openOf: (alert: Incident | Group) => Incident[],
  around: Pick<RuleContext, 'nowMs' | 'settingsOf'>,
): DueEscalation[] {
  if ((alert.kind !== 'incident' && alert.kind !== 'group') || !goesOn(alert)) return [];
  if (isEscalation(alert)) return [];
  return alert.deliveries.flatMap((delivery): DueEscalation[] => {
    const { escalation } = around.settingsOf(delivery.place);
    if (!escalation || isSnoozed(delivery, around.nowMs)) return [];
    // A line needs a posted message, which can have one line at a time.
    const isFree = delivery.posted && !delivery.line && delivery.dead === undefined;
    if (escalation.place === undefined && !isFree) return [];
    const all = openOf(alert).filter((incident) => needsCare(incident, delivery.place, around));
    const isDue = all.some(({ openedAtMs }) => around.nowMs - openedAtMs >= escalation.afterMs);
    return isDue ? [{ alert, delivery, all, escalation }] : [];
  });
}

const isSnoozed = ({ posted, heldUntilMs = 0 }: Delivery, nowMs: number) =>
  !posted && heldUntilMs > nowMs;

function needsCare(
  incident: Incident,
  place: string,
  { nowMs }: Pick<RuleContext, 'nowMs'>,
): boolean {
  const { acknowledged, snoozed, degraded, escalatedFrom = [] } = incident;
  return (
    !acknowledged &&
    (snoozed?.untilMs ?? 0) <= nowMs &&
    degraded === undefined &&
    !isSilenced(incident) &&
    !isUp(incident) &&
    !escalatedFrom.includes(place)
  );
}

function newEscalation(
  { id: of }: Alert,
  told: Omit<DueEscalation, 'alert'> & { to: string },
  { nowMs }: Pick<RuleContext, 'nowMs'>,
): Group {
  const { delivery, all, to, escalation } = told;
  const { afterMs, mention } = escalation;
  // Stable, because storing may be tried again, and short, because buttons contain it.
  const id = hash('sha256', JSON.stringify([of, delivery.place, nowMs]), 'hex').slice(0, 32);
  return withMembers(
    {
      ...newGroup(to, { nowMs, newId: () => id }, all[0]?.intake),
      escalation: {
        ...{ of, from: delivery.place, postId: delivery.postId, afterMs },
        ...(mention && { mention: calledId(mention) }),
        ...(mention?.name !== undefined && { called: mention.name }),
      },
    },
    all,
  );
}
