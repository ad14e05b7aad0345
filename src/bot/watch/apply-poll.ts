import type { Monitor } from '../../contracts/monitoring.ts';
import {
  type ArrangeContext,
  type RuleContext,
  ruleContext,
  withNews,
} from '../incidents/arrange.ts';
import {
  alertParentOf,
  firingParents,
  IncidentHold,
  withBehind,
} from '../incidents/dependencies.ts';
import {
  diff,
  isNews,
  isRemembered,
  type ListExtent,
  type ListedChanges,
  type PollSnapshot,
} from '../incidents/diff.ts';
import { escalated } from '../incidents/escalations.ts';
import { recentDowns, withCalmRestarted, withFlappingEnded } from '../incidents/flapping.ts';
import { openGroups, refreshed } from '../incidents/groups.ts';
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
import type { Alert, Watching } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';

export interface ApplyContext extends IncidentContext, ArrangeContext {
  /** The whole list of the poll, if only a part of it is applied. */
  listed?: readonly Monitor[];
}

interface PollDetails extends ListExtent {
  missed: readonly MissedOutages[];
  /** Monitors whose missed outages are requested after the next poll. */
  later: ReadonlySet<string>;
  /** The rules over all alerts run after the last batch, in `finishingSteps`. */
  isBatched?: boolean;
}

const NO_DETAILS: PollDetails = { missed: [], later: new Set() };

/** The state after a poll. Returns the same object if nothing changed. Pure. */
export function applyPoll(
  watching: Watching | undefined,
  monitors: readonly Monitor[],
  context: ApplyContext,
  details: PollDetails = NO_DETAILS,
): { watching: Watching; dropped: number } {
  const around = watching?.isLearned ? context : { ...context, unseenFromMs: 0 };
  const { nowMs } = around;
  const { snapshot, changes: listedChanges } = diff(watching, monitors, details.later, details);
  const holding = new IncidentHold(watching?.held, {
    listed: around.listed ?? monitors,
    nowMs,
    known: snapshot.known,
    isAlertDown: firingParents(watching),
  });
  const { changes, revived } = holding.release(listedChanges, details);
  const { missed } = details;
  const recent = recentDowns(watching?.downs, nowMs);
  const poll = { ...around, recent, asking: details.later, holding };
  const news = [...changes.keys(), ...missed.map(({ monitor }) => monitor.id)];
  const arranged = withNews(watching?.alerts ?? [], news, around, (concerned) =>
    reconcile(concerned, { monitors, changes, revived, missed }, poll),
  );
  const held = holding.kept();
  const { alerts, dropped } =
    details.isPart || details.isBatched
      ? { alerts: arranged, dropped: 0 }
      : prune(withRules(refreshed(arranged, nowMs), monitors, { ...around, held }), nowMs);
  const downs = recent.kept();
  const isSame =
    snapshot === watching &&
    alerts === watching.alerts &&
    downs === watching.downs &&
    held === watching.held;
  const { closed, reported } = watching ?? {};
  return {
    watching: isSame ? watching : { ...snapshot, alerts, downs, closed, reported, held },
    dropped,
  };
}

type FinishContext = ApplyContext & Pick<Watching, 'held'>;

/** The rules that a poll ends with, in order. To add one, write a pure module and a line here. */
const RULES: ReadonlyArray<(alerts: Alert[], around: RuleContext & FinishContext) => Alert[]> = [
  (alerts, { nowMs, held }) => withBehind(alerts, { nowMs, held, parentOf: alertParentOf }),
  escalated,
  reminded,
];

function withRules(
  alerts: Alert[],
  monitors: readonly Monitor[],
  around: FinishContext,
  rules = RULES,
): Alert[] {
  const context = ruleContext(around, () => monitors.map(({ id }) => id));
  return rules.reduce((now, rule) => rule(now, { ...around, ...context }), alerts);
}

/**
 * The last steps of a poll in batches, one update each, because a group may have thousands of members. If a crash comes
 * between two steps, the next poll makes up for the rest.
 */
export function finishingSteps(
  alerts: readonly Alert[],
  monitors: readonly Monitor[],
  around: FinishContext,
): Array<(alerts: Alert[]) => { alerts: Alert[]; dropped?: number }> {
  return [
    ...openGroups(alerts).map(({ id }) => (now: Alert[]) => ({
      alerts: refreshed(now, around.nowMs, id),
    })),
    ...RULES.map((rule) => (now: Alert[]) => ({
      alerts: withRules(now, monitors, around, [rule]),
    })),
    (now) => prune(now, around.nowMs),
  ];
}

/** Applies changes, missed outages, and the end of flapping, before incidents are put into messages. */
function reconcile(
  before: Alert[],
  news: {
    monitors: readonly Monitor[];
    changes: ListedChanges;
    revived: ListedChanges;
    missed: readonly MissedOutages[];
  },
  around: PollContext & { holding: IncidentHold },
): Alert[] {
  const { monitors, changes, revived, missed } = news;
  const { nowMs, unseenFromMs } = around;
  const recovered = withMonitoringRecovered(before, nowMs);
  const isLate = unseenFromMs !== undefined || recovered !== before;
  const restarted = isLate ? withCalmRestarted(recovered, nowMs) : recovered;
  const whole = applyChanges(restarted, revived, { ...around, holding: undefined });
  const corrected = applyMissed(whole, missed, around);
  // A monitor that went down again may have the same status as at the last poll.
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

/** News of one batch, a few dozen milliseconds of work. */
const BATCH_SIZE = 500;

export interface PollBatch extends Required<ListExtent> {
  monitors: readonly Monitor[];
  missed: readonly MissedOutages[];
}

/**
 * Cuts a list with much news into batches. Monitors with news come first, in parts. The whole batch follows, with all
 * known monitors, and finds missing ones. New monitors come last, or they would make up for missing ones. DOWN monitors
 * come first in each part, because a lone outage is recognized within its batch. Pure.
 */
export function batchesOf(
  snapshot: PollSnapshot | undefined,
  listed: readonly Monitor[],
  missed: readonly MissedOutages[],
  count = BATCH_SIZE,
): PollBatch[] {
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
): Generator<Omit<PollBatch, 'isMore'>> {
  const ordered = [...monitors.filter(isDown), ...monitors.filter((one) => !isDown(one))];
  for (let from = 0; from < ordered.length; from += count) {
    const part = ordered.slice(from, from + count);
    const ids = new Set(part.map(({ id }) => id));
    const own = missed.filter(({ monitor }) => ids.has(monitor.id));
    yield { monitors: part, isPart: true, missed: own };
  }
}
