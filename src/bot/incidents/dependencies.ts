import { ALERT_PARENT, MAX_PARENTS, type Monitor } from '../../contracts/monitoring.ts';
import { isDegraded, isDown, isSilenced, statusChangedAtMs } from '../shared/status.ts';
import { shortened } from '../shared/text-format.ts';
import type { Changes } from './diff.ts';
import type { AlertRule } from './incidents.ts';
import {
  groupBy,
  type HeldBack,
  type Incident,
  incidentsIn,
  mapChanged,
  type Watching,
} from './watch-state.ts';

/**
 * How long the incident of a monitor waits at most for what is found of its parents: checks do not come at the same moment, and a
 * child may be seen to be down a little before what brought it down.
 */
export const WAIT_MS = 30_000;

/** A failure is confirmed, or was none, so long after it: our service checks again after 5 s. */
const SETTLED_MS = 8_000;

/** When its parents are well again, a monitor is given so many intervals to be checked, and no longer than this. */
const GRACE = { intervals: 2, mostMs: 3_600_000 };

/** What holds back the incidents of monitors whose parents are down, over one poll. */
export type HoldingBack = ReturnType<typeof holdingBack>;

/** Where what is needed of a poll stands. */
interface Seen {
  /** All that the poll listed, also where what is looked at is a part of it. */
  listed: readonly Monitor[];
  /** As it was last seen, for what is missing in this list. */
  known: Watching['known'];
  /** Whether an alert of another system goes on, by what a monitor names as its parent. */
  isAlertDown?: ((parent: string) => boolean) | undefined;
  nowMs: number;
}

/** Incidents that one poll opens at most of what was held back: the others open with the next ones. */
const MOST_RELEASED = 500;

/** Lists by their monitors' ids: one list is asked about in many batches. */
const indexes = new WeakMap<readonly Monitor[], Map<string, Monitor>>();

function indexOf(listed: readonly Monitor[]): Map<string, Monitor> {
  const index = indexes.get(listed) ?? new Map(listed.map((monitor) => [monitor.id, monitor]));
  indexes.set(listed, index);
  return index;
}

/**
 * Decides about monitors that are in trouble and depend on others whether their incidents open now. While a parent is DOWN none
 * does; when it is well again, one opens once a check that began after that found the trouble too. Before any parent is down, one
 * waits a moment for what is found of them. What is held back is remembered with the real start, so that nothing is lost.
 */
export function holdingBack(before: Watching['held'], seen: Seen) {
  const { nowMs } = seen;
  const held = new Map((before ?? []).map((one) => [one.monitor.id, one]));
  const released = new Set<string>();
  const rootsOf = rootsIn(seen);
  let isChanged = false;

  function keep(one: HeldBack) {
    if (held.get(one.monitor.id) === one) return;
    held.set(one.monitor.id, one);
    isChanged = true;
  }

  function drop(id: string) {
    if (held.delete(id)) isChanged = true;
  }

  /** What is to be remembered of a monitor that is held back; `undefined` when its incident is to open. */
  function decide(monitor: Monitor, was: HeldBack | undefined): HeldBack | undefined {
    const parents = parentsOf(monitor);
    if (parents.length === 0) return undefined;
    const now = was && isSameTrouble(was.monitor, monitor) ? was : heldBack(monitor, was, nowMs);
    const roots = rootsOf(monitor);
    if (roots.length > 0) return behindThese(now, roots);
    if (now.behind === undefined) return isUnsure(monitor, parents, now) ? now : undefined;
    const clear = now.clear ?? {
      atMs: recoveredAtMs([...now.behind, ...parents]),
      seenAtMs: nowMs,
    };
    const graceMs = Math.min(GRACE.intervals * monitor.interval_seconds * 1000, GRACE.mostMs);
    if (checkBeganMs(monitor) > clear.atMs || Math.abs(nowMs - clear.seenAtMs) >= graceMs) {
      return undefined;
    }
    return now.clear ? now : { ...now, clear };
  }

  /** Since when all of these are well, as far as the service tells. */
  function recoveredAtMs(parents: readonly string[]): number {
    const index = indexOf(seen.listed);
    const times = parents.flatMap((id) => {
      const monitor = index.get(id);
      return monitor ? (statusChangedAtMs(monitor, nowMs) ?? nowMs) : [];
    });
    return times.length === 0 ? nowMs : Math.max(...times);
  }

  /** Whether one of its parents may turn out to be down as well. */
  function isUnsure(monitor: Monitor, parents: readonly string[], { heldAtMs }: HeldBack) {
    if (Math.abs(nowMs - heldAtMs) >= WAIT_MS) return false;
    const index = indexOf(seen.listed);
    const fromMs = statusChangedAtMs(monitor, nowMs) ?? nowMs;
    return parents.some((id) => {
      const parent = index.get(id);
      if (!parent?.last_checked_at || parent.check_type === 'HEARTBEAT') return false;
      if (isSilenced(parent)) return false;
      const checkedMs = Date.parse(parent.last_checked_at);
      if (checkedMs < fromMs) return true;
      return checkedMs < fromMs + SETTLED_MS && nowMs < checkedMs + SETTLED_MS;
    });
  }

  return {
    /**
     * What a poll changes, with what was held back and is to open now. `revived` was held back for a moment and is over before
     * a parent was found to be down: as it was, so that it is told all the same.
     */
    withReleased(
      changes: Changes,
      { isPart = false } = {},
    ): { changes: Changes; revived: Changes } {
      const all = new Map(changes);
      const revived = new Map<string, Monitor>();
      const index = held.size === 0 ? undefined : indexOf(seen.listed);
      for (const [id, one] of [...held]) {
        const isOther = changes.has(id);
        if (isPart && !isOther) continue;
        const monitor = isOther ? changes.get(id) : index?.get(id);
        if (!monitor) {
          // What is missing for a moment stays; what is gone is no outage that anybody knows of.
          if (isOther) drop(id);
          continue;
        }
        // A row that could not be read stands for what was known.
        if (monitor.interval_seconds === 0) continue;
        const isLost = one.behind === undefined && !isSameTrouble(one.monitor, monitor);
        if (isLost && rootsOf(monitor).length === 0) revived.set(id, one.monitor);
        if (isLost || !isTrouble(monitor)) drop(id);
        if (!isTrouble(monitor) || isOther) continue;
        const now = decide(monitor, held.get(id));
        if (now) keep(now);
        else if (released.size < MOST_RELEASED) {
          drop(id);
          released.add(id);
          all.set(id, monitor);
        }
      }
      return { changes: released.size === 0 ? changes : all, revived };
    },
    /** Whether no incident opens now of a monitor that has none; what it does then is remembered. */
    holds(monitor: Monitor): boolean {
      if (released.has(monitor.id)) return false;
      const now = decide(monitor, held.get(monitor.id));
      if (now) keep(now);
      else drop(monitor.id);
      return now !== undefined;
    },
    /** Whether something that a monitor depends on is down, since before a time where that is given. */
    isBehind(monitor: Monitor, endedAtMs = nowMs): boolean {
      if (parentsOf(monitor).length === 0) return false;
      const index = indexOf(seen.listed);
      return rootsOf(monitor).some((id) => {
        const parent = index.get(id);
        return !parent || (statusChangedAtMs(parent, nowMs) ?? 0) <= endedAtMs;
      });
    },
    /** All that is held back; the same array when nothing is different. */
    kept: (): Watching['held'] => {
      if (!isChanged) return before;
      return held.size === 0 ? undefined : [...held.values()];
    },
  };
}

const isTrouble = (monitor: Monitor) => isDown(monitor) || isDegraded(monitor);

const parentsOf = ({ depends_on: parents = [] }: Monitor) => parents.slice(0, MAX_PARENTS);

/** Whether it is the outage that was seen before, and not another one. */
const isSameTrouble = (was: HeldBack['monitor'], now: Monitor) =>
  was.status === now.status && was.status_changes === now.status_changes;

const isSameList = (a: readonly string[] = [], b: readonly string[]) =>
  a.length === b.length && a.every((id, at) => id === b[at]);

function heldBack(monitor: Monitor, was: HeldBack | undefined, nowMs: number): HeldBack {
  const { id, name, check_type, target, status, interval_seconds } = monitor;
  const { status_changed_at, status_changes, status_reason } = monitor;
  return {
    monitor: {
      ...{ id, name, check_type, target, status, interval_seconds },
      ...(status_changed_at !== undefined && { status_changed_at }),
      ...(status_changes !== undefined && { status_changes }),
      ...(status_reason !== undefined && { status_reason }),
    },
    heldAtMs: was?.heldAtMs ?? nowMs,
    ...(was?.behind && { behind: was.behind }),
  };
}

function behindThese(one: HeldBack, roots: string[]): HeldBack {
  if (isSameList(one.behind, roots) && !one.clear) return one;
  const { clear: _, ...rest } = one;
  return { ...rest, behind: roots };
}

/** When the last check of a monitor began; the service tells when it ended. */
function checkBeganMs({ last_checked_at, response_time_ms }: Monitor): number {
  const endedMs = last_checked_at ? Date.parse(last_checked_at) : Number.NaN;
  return Number.isNaN(endedMs) ? 0 : endedMs - (response_time_ms ?? 0);
}

/**
 * A function that gives those on whose account a monitor is in trouble: the ones above it, over others that are down, that are
 * down by themselves. Where dependencies go round there may be none: then everybody is told of all.
 */
function rootsIn({ listed, known, isAlertDown }: Seen): (monitor: Monitor) => string[] {
  let missing: Map<string, string> | undefined;
  /** As it was seen last, while it is missing in a list that may not be whole. */
  function lastStatusOf(id: string) {
    missing ??= new Map(known.map(({ id, status }) => [id, status]));
    return missing.get(id);
  }
  function isParentDown(id: string): boolean {
    if (id.startsWith(ALERT_PARENT)) return isAlertDown?.(id) ?? false;
    const status = indexOf(listed).get(id)?.status ?? lastStatusOf(id);
    return status !== undefined && isDown({ status });
  }
  const downParentsOf = (id: string) => {
    const monitor = indexOf(listed).get(id);
    return monitor ? parentsOf(monitor).filter(isParentDown) : [];
  };
  /** Thousands may have the same parents. */
  const rootsOfParents = new Map<string, string[]>();
  function rootsAbove(parents: readonly string[]): string[] {
    const above = new Set(parents.filter(isParentDown));
    const roots: string[] = [];
    // A set takes up what is added while it is gone through.
    for (const id of above) {
      const own = downParentsOf(id);
      if (own.length === 0) roots.push(id);
      for (const parent of own) above.add(parent);
    }
    return roots.sort();
  }
  return (monitor) => {
    const parents = parentsOf(monitor);
    const key = parents.length === 1 ? (parents[0] ?? '') : JSON.stringify(parents);
    const roots = rootsOfParents.get(key) ?? rootsAbove(parents);
    rootsOfParents.set(key, roots);
    return roots;
  };
}

/** What monitors that depend on an alert of another system name it by; `undefined` for the incident of a monitor. */
export const alertParentOf = ({ intake, name }: Incident) =>
  intake === undefined ? undefined : parentName(intake, name);

const parentName = (intake: string, name: string) => `${ALERT_PARENT}${intake}/${name}`;

/**
 * A function that tells whether an alert of another system fires, by what a monitor names as its parent. A warning is no outage, and
 * of one that nothing was heard of for long nobody knows.
 */
export function firingParents(
  watching: Pick<Watching, 'reported' | 'alerts'> | undefined,
): (parent: string) => boolean {
  let firing: Set<string> | undefined;
  return (parent) => {
    firing ??= namesOfFiring(watching);
    return firing.has(parent);
  };
}

function namesOfFiring(watching: Pick<Watching, 'reported' | 'alerts'> | undefined): Set<string> {
  const silent = new Set(
    incidentsIn(watching?.alerts ?? []).flatMap(({ monitorId, reported, endedAtMs }) =>
      reported?.silentSinceMs !== undefined && endedAtMs === undefined ? [monitorId] : [],
    ),
  );
  return new Set(
    (watching?.reported ?? [])
      .filter(({ id, status }) => status === 'FIRING' && !silent.has(id))
      .map(({ intake, name }) => parentName(intake, name)),
  );
}

/** Monitors that are named as behind another. */
const NAMED = 3;

/** How often the message of a parent says anew who is behind it. */
const NAMES_PACE_MS = 15_000;

/** Open incidents with who is held back on their account, told now and then. Pure. */
export const withBehind: AlertRule = (alerts, { nowMs, held = [], parentOf }) => {
  const pairs = held.flatMap(({ monitor: { name }, behind = [], clear }) =>
    clear ? [] : behind.map((root) => ({ root, name })),
  );
  const byRoot = groupBy(pairs, ({ root }) => root);
  return mapChanged(alerts, (alert) => {
    if (alert.kind !== 'incident' || alert.endedAtMs !== undefined) return alert;
    const all = byRoot.get(parentOf?.(alert) ?? alert.monitorId)?.map(({ name }) => name) ?? [];
    const { behind } = alert;
    const names = all.slice(0, NAMED).map((name) => shortened(name, 60));
    if (all.length === (behind?.count ?? 0) && isSameList(behind?.names, names)) return alert;
    if (behind && Math.abs(nowMs - behind.atMs) < NAMES_PACE_MS) return alert;
    const after: Incident['behind'] = { names, count: all.length, atMs: nowMs };
    return { ...alert, version: alert.version + 1, behind: after };
  });
};

/** `a, b, c, and 4 more`, of those that are behind an incident; `undefined` when there are none. Pure. */
export function behindInWords({ behind }: Pick<Incident, 'behind'>): string | undefined {
  if (!behind || behind.count === 0) return undefined;
  const { names, count } = behind;
  const more = count - names.length;
  return more > 0 ? `${names.join(', ')}, and ${more} more` : names.join(', ');
}
