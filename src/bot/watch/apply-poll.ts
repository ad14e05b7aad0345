import type { Monitor } from '../../contracts/monitoring.ts';
import {
  type ArrangeContext,
  arranged,
  concernedBy,
  quietNow,
  reshaped,
} from '../incidents/arrange.ts';
import {
  alertParentOf,
  firingParents,
  type HoldingBack,
  holdingBack,
  withBehind,
} from '../incidents/dependencies.ts';
import {
  type Changes,
  diff,
  type Extent,
  isNews,
  isRemembered,
  type Snapshot,
} from '../incidents/diff.ts';
import { escalated } from '../incidents/escalations.ts';
import { recentDowns, withCalmRestarted, withFlappingEnded } from '../incidents/flapping.ts';
import { openGroups, refreshed } from '../incidents/groups.ts';
import type { AlertRule, RuleContext } from '../incidents/incidents.ts';
import {
  applyChanges,
  type IncidentContext,
  isOpen,
  type PollContext,
  prune,
  withOpened,
} from '../incidents/incidents.ts';
import { applyMissed, type MissedOutages } from '../incidents/missed-incidents.ts';
import { withMonitoringRecovered } from '../incidents/monitoring-outage.ts';
import { reminded } from '../incidents/reminders.ts';
import {
  type Alert,
  type Incident,
  isReportedId,
  type Watching,
} from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';

/** What a poll needs from outside. */
export interface ApplyContext extends IncidentContext, ArrangeContext {
  /** All that the poll listed, where a part of it is applied; that part when left out. */
  listed?: readonly Monitor[];
}

/** What the service told besides its list. */
interface PollDetails extends Extent {
  missed: readonly MissedOutages[];
  /** Those of which the rest is asked for after the next poll. */
  later: ReadonlySet<string>;
  /** What became of all alerts is looked through after the last batch, one thing at a time. */
  isBatched?: boolean;
}

const NO_DETAILS: PollDetails = { missed: [], later: new Set() };

/** What is known and to be told after a poll; the same document when nothing is different. Pure. */
export function applyPoll(
  watching: Watching | undefined,
  monitors: readonly Monitor[],
  given: ApplyContext,
  between: PollDetails = NO_DETAILS,
): { watching: Watching; dropped: number } {
  const around = watching?.learnt ? given : { ...given, unseenFromMs: 0 };
  const { snapshot, changes: seen } = diff(watching, monitors, between.later, between);
  const all = watching?.alerts ?? [];
  const { known } = snapshot;
  const isAlertDown = firingParents(watching);
  const holding = holdingBack(watching?.held, { listed: monitors, ...around, known, isAlertDown });
  const { changes, revived } = holding.withReleased(seen, between);
  const { missed } = between;
  const news = [...changes.keys(), ...missed.map(({ monitor }) => monitor.id)];
  const { concerned, withOthers } = concernedBy(news, all);
  const recent = recentDowns(watching?.downs, around.nowMs);
  const poll = { ...around, recent, asking: between.later, holding };
  const decided = reconcile(concerned, { monitors, changes, revived, missed }, poll);
  const before = new Set(concerned.map(({ id }) => id));
  const isNew = (alert: Alert): alert is Incident => isOpen(alert) && !before.has(alert.id);
  const opened = new Set(decided.filter(isNew).map(({ id }) => id));
  const shaped = withOthers(reshaped(arranged(decided, opened, around), concerned));
  const held = holding.kept();
  const { alerts, dropped } =
    between.isPart || between.isBatched
      ? { alerts: shaped, dropped: 0 }
      : prune(
          RULES.reduce(
            (now, rule) => rule(now, ruleContext(monitors, around, held)),
            refreshed(shaped, around.nowMs),
          ),
          around.nowMs,
        );
  const downs = recent.kept();
  const isSame =
    snapshot === watching &&
    alerts === watching.alerts &&
    downs === watching.downs &&
    held === watching.held;
  const { closed, reported } = watching ?? {};
  const after = {
    ...{ ...snapshot, alerts, ...(downs && { downs }), ...(closed && { closed }) },
    ...{ ...(reported && { reported }), ...(held && { held }) },
  };
  return { watching: isSame ? watching : after, dropped };
}

/** The rules over all alerts that a poll ends with, in their order. A new one is its pure module and its line here. */
const RULES: readonly AlertRule[] = [withBehind, escalated, reminded];

function ruleContext(
  monitors: readonly Monitor[],
  around: ApplyContext,
  held: Watching['held'],
): RuleContext {
  const { nowMs, settingsOf = () => ({}) } = around;
  const quietOf = quietNow(around);
  // Most polls never ask.
  let listed: Set<string> | undefined;
  return {
    nowMs,
    held,
    parentOf: alertParentOf,
    settingsOf,
    isQuiet: (place) => quietOf(place) !== undefined,
    isListed(id) {
      listed ??= new Set(monitors.map((monitor) => monitor.id));
      // No list says anything of what others report.
      return isReportedId(id) || listed.has(id);
    },
  };
}

/**
 * What a poll with these alerts ends with, each by itself; a crash between two leaves the rest to the next poll. A group may
 * have thousands of members.
 */
export function finishingSteps(
  alerts: readonly Alert[],
  monitors: readonly Monitor[],
  around: ApplyContext & Pick<Watching, 'held'>,
): Array<(alerts: Alert[]) => { alerts: Alert[]; dropped?: number }> {
  return [
    ...openGroups(alerts).map(({ id }) => (now: Alert[]) => ({
      alerts: refreshed(now, around.nowMs, id),
    })),
    ...RULES.map((rule) => (now: Alert[]) => ({
      alerts: rule(now, ruleContext(monitors, around, around.held)),
    })),
    (now) => prune(now, around.nowMs),
  ];
}

/** The alerts with what changed, before outages that began together are put together. */
function reconcile(
  before: Alert[],
  found: {
    monitors: readonly Monitor[];
    changes: Changes;
    revived: Changes;
    missed: readonly MissedOutages[];
  },
  around: PollContext & { holding: HoldingBack },
): Alert[] {
  const { monitors, changes, revived, missed } = found;
  const { nowMs, unseenFromMs } = around;
  const recovered = withMonitoringRecovered(before, nowMs);
  const isLate = unseenFromMs !== undefined || recovered !== before;
  const restarted = isLate ? withCalmRestarted(recovered, nowMs) : recovered;
  const { holding: _, ...unheld } = around;
  const whole = applyChanges(restarted, revived, unheld);
  const corrected = applyMissed(whole, missed, around);
  // One that is down again may look as it did before.
  const open = new Set(corrected.filter(isOpen).map(({ monitorId }) => monitorId));
  const all = new Map(changes);
  for (const { monitor } of missed) {
    if (isDown(monitor) && !open.has(monitor.id) && !changes.get(monitor.id)) {
      all.set(monitor.id, monitor);
    }
  }
  const applied = applyChanges(corrected, all, around);
  const { alerts, downs } = withFlappingEnded(applied, monitors, around);
  return withOpened(alerts, downs, around);
}

/** Monitors with news in one batch: what they come to is a few dozen milliseconds of work. */
const BATCH_SIZE = 500;

/** A part of what a poll found, or all of it. */
export interface Batch extends Required<Extent> {
  monitors: readonly Monitor[];
  missed: readonly MissedOutages[];
}

/**
 * Cuts a list with news of thousands of monitors into some with few, so that none takes long. The one that is no part holds
 * all that were known before, of which the parts before it leave nothing new: it says who is not listed. New monitors come
 * after it, or they would make up for those that are lost. Of either, those that are DOWN come first: whether one is alone
 * is seen only by those in its batch. Pure.
 */
export function batchesOf(
  snapshot: Snapshot | undefined,
  listed: readonly Monitor[],
  missed: readonly MissedOutages[],
  count = BATCH_SIZE,
): Batch[] {
  if (isRemembered(snapshot, listed)) {
    return [{ monitors: listed, isPart: false, isMore: false, missed }];
  }
  const known = new Map(snapshot?.known.map((one) => [one.id, one]));
  const news = listed.filter((monitor) => isNews(known.get(monitor.id), monitor));
  if (news.length <= count) return [{ monitors: listed, isPart: false, isMore: false, missed }];
  const isKnown = ({ id }: Monitor) => known.has(id);
  const whole = { monitors: listed.filter(isKnown), isPart: false, missed: [] };
  const fresh = news.filter((monitor) => !isKnown(monitor));
  const batches = [
    ...partsOf(news.filter(isKnown), missed, count),
    whole,
    ...partsOf(fresh, [], count),
  ];
  return batches.map((batch, at) => ({ ...batch, isMore: at < batches.length - 1 }));
}

function* partsOf(
  monitors: readonly Monitor[],
  missed: readonly MissedOutages[],
  count: number,
): Generator<Omit<Batch, 'isMore'>> {
  const ordered = [...monitors.filter(isDown), ...monitors.filter((one) => !isDown(one))];
  for (let from = 0; from < ordered.length; from += count) {
    const part = ordered.slice(from, from + count);
    const ids = new Set(part.map(({ id }) => id));
    const own = missed.filter(({ monitor }) => ids.has(monitor.id));
    yield { monitors: part, isPart: true, missed: own };
  }
}
