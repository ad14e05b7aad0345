import { hash } from 'node:crypto';
import type { Escalation } from '../channels/channel-settings.ts';
import { isSilenced, isUp } from '../shared/status.ts';
import { newGroup, withMembers } from './groups.ts';
import { goesOn, isOpen, type RuleContext } from './incidents.ts';
import {
  type Alert,
  type Delivery,
  type Group,
  type Incident,
  incidentsIn,
} from './watch-state.ts';

/** What tells a place of incidents that nobody acknowledged where they were told first. */
type EscalationGroup = Group & { escalation: NonNullable<Group['escalation']> };

/** Whether it is a message in the place that was named for what nobody acknowledges. */
export const isEscalation = (alert: Alert): alert is EscalationGroup =>
  alert.kind === 'group' && alert.escalation !== undefined;

/** Mentions as platforms are given them: that of a person begins with @. */
export const calledId = ({ id, isPerson }: NonNullable<Escalation['mention']>) =>
  isPerson ? `@${id}` : id;

/**
 * The alerts with what nobody has acknowledged in time: one message in the place that is named for that, for all of a message
 * that are open by then, or a line under that message if only a person or a group is named. Gives the same array when nothing
 * is due. Pure.
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

interface Due {
  alert: Incident | Group;
  /** How the place was told where nobody acknowledged it. */
  delivery: Delivery;
  /** All of its message that nobody looks after, also what is not due yet. */
  all: Incident[];
  escalation: Escalation;
}

function dueOf(
  alert: Alert,
  openOf: (alert: Incident | Group) => Incident[],
  around: Pick<RuleContext, 'nowMs' | 'settingsOf'>,
): Due[] {
  if ((alert.kind !== 'incident' && alert.kind !== 'group') || !goesOn(alert)) return [];
  if (isEscalation(alert)) return [];
  return alert.deliveries.flatMap((delivery): Due[] => {
    const { escalation } = around.settingsOf(delivery.place);
    if (!escalation || isSnoozed(delivery, around.nowMs)) return [];
    // A line needs a message to stand under, and there is room for one.
    const isFree = delivery.posted && !delivery.line && delivery.dead === undefined;
    if (escalation.place === undefined && !isFree) return [];
    const all = openOf(alert).filter((incident) => needsCare(incident, delivery.place, around));
    const isDue = all.some(({ openedAtMs }) => around.nowMs - openedAtMs >= escalation.afterMs);
    return isDue ? [{ alert, delivery, all, escalation }] : [];
  });
}

/** What was never posted is held back by a snooze. */
const isSnoozed = ({ posted, heldUntilMs = 0 }: Delivery, nowMs: number) =>
  !posted && heldUntilMs > nowMs;

/** It is an outage, nobody looks after it or wants to hear nothing of it, and it was not escalated from there. */
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
  told: Omit<Due, 'alert'> & { to: string },
  { nowMs }: Pick<RuleContext, 'nowMs'>,
): Group {
  const { delivery, all, to, escalation } = told;
  const { afterMs, mention } = escalation;
  // The same at every try to store it, and short: buttons carry it.
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
