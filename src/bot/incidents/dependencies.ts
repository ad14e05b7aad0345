import { ALERT_PARENT, MAX_PARENTS, type Monitor } from '../../contracts/monitoring.ts';
import { isDegraded, isDown, isSilenced, statusChangedAtMs } from '../shared/status.ts';
import { shortened } from '../shared/text-format.ts';
import type { ListedChanges } from './diff.ts';
import {
  type Alert,
  groupBy,
  HeldBack,
  type Incident,
  incidentsIn,
  mapChanged,
  type Watching,
} from './watch-state.ts';

/** Longest wait for the checks of a monitor's parents. A child may be seen to be down shortly before its parent. */
export const WAIT_MS = 30_000;

/** Our service confirms a failure after 5 s. */
const SETTLED_MS = 8_000;

/** Time for a check after all parents are up again. */
const GRACE = { intervals: 2, mostMs: 3_600_000 };

interface HoldContext {
  /** The whole list, even if the poll is applied in batches. */
  listed: readonly Monitor[];
  /** The last known state, for monitors that are missing from the list. */
  known: Watching['known'];
  /** Answers for parents that are reported alerts. */
  isAlertDown?: (parent: string) => boolean;
  nowMs: number;
}

/** Most held back incidents that one poll opens. The others open with the next polls. */
const MOST_RELEASED = 500;

/** Batches of one poll share the index of their list. */
const indexes = new WeakMap<readonly Monitor[], Map<string, Monitor>>();

function indexOf(listed: readonly Monitor[]): Map<string, Monitor> {
  const index = indexes.get(listed) ?? new Map(listed.map((monitor) => [monitor.id, monitor]));
  indexes.set(listed, index);
  return index;
}

/**
 * Holds back incidents of monitors whose parents are down, over one poll. The states are listed at `HeldBack`. The real start
 * is stored, so nothing is lost.
 */
export class IncidentHold {
  readonly #before: Watching['held'];
  readonly #poll: HoldContext;
  readonly #held: Map<string, HeldBack>;
  readonly #released = new Set<string>();
  readonly #rootsOf: (monitor: Monitor) => string[];
  #isChanged = false;

  constructor(before: Watching['held'], poll: HoldContext) {
    this.#before = before;
    this.#poll = poll;
    this.#held = new Map((before ?? []).map((one) => [one.monitor.id, one]));
    this.#rootsOf = rootsIn(poll);
  }

  /**
   * Adds the monitors whose incidents open now. `revived` recovered while it waited, before any parent was found to be down,
   * and still gets its alert.
   */
  release(
    changes: ListedChanges,
    { isPart = false } = {},
  ): { changes: ListedChanges; revived: ListedChanges } {
    const all = new Map(changes);
    const revived = new Map<string, Monitor>();
    const index = this.#held.size === 0 ? undefined : indexOf(this.#poll.listed);
    for (const [id, one] of [...this.#held]) {
      const hasNews = changes.has(id);
      if (isPart && !hasNews) continue;
      const monitor = hasNews ? changes.get(id) : index?.get(id);
      if (!monitor) {
        // A monitor that is missing briefly stays.
        if (hasNews) this.#drop(id);
        continue;
      }
      // The row of a monitor that couldn't be read.
      if (monitor.interval_seconds === 0) continue;
      const isOver = one.behind === undefined && !isSameTrouble(one.monitor, monitor);
      if (isOver && this.#rootsOf(monitor).length === 0) revived.set(id, one.monitor);
      if (isOver || !isTrouble(monitor)) this.#drop(id);
      if (!isTrouble(monitor) || hasNews) continue;
      if (this.#update(monitor) || this.#released.size >= MOST_RELEASED) continue;
      this.#drop(id);
      this.#released.add(id);
      all.set(id, monitor);
    }
    return { changes: this.#released.size === 0 ? changes : all, revived };
  }

  /** Decides if the incident of a monitor waits, and remembers it. */
  holds(monitor: Monitor): boolean {
    if (this.#released.has(monitor.id)) return false;
    if (this.#update(monitor)) return true;
    this.#drop(monitor.id);
    return false;
  }

  /** A parent is down, and has been since `endedAtMs`. */
  isBehind(monitor: Monitor, endedAtMs = this.#poll.nowMs): boolean {
    if (parentsOf(monitor).length === 0) return false;
    const { listed, nowMs } = this.#poll;
    return this.#rootsOf(monitor).some((id) => {
      const parent = indexOf(listed).get(id);
      return !parent || (statusChangedAtMs(parent, nowMs) ?? 0) <= endedAtMs;
    });
  }

  /** Returns the same array if nothing changed. */
  kept(): Watching['held'] {
    if (!this.#isChanged) return this.#before;
    return this.#held.size === 0 ? undefined : [...this.#held.values()];
  }

  /** Remembers a monitor that still waits. False if its incident is to open. */
  #update(monitor: Monitor): boolean {
    const before = this.#held.get(monitor.id);
    const now = this.#decide(monitor, before);
    if (now && now !== before) {
      this.#held.set(monitor.id, now);
      this.#isChanged = true;
    }
    return now !== undefined;
  }

  #drop(id: string) {
    if (this.#held.delete(id)) this.#isChanged = true;
  }

  /** `undefined` if the incident is to open. */
  #decide(monitor: Monitor, before: HeldBack | undefined): HeldBack | undefined {
    const { nowMs, listed } = this.#poll;
    const parents = parentsOf(monitor);
    if (parents.length === 0) return undefined;
    const isSame = before && isSameTrouble(before.monitor, monitor);
    const now = isSame ? before : heldBack(monitor, before, nowMs);
    const roots = this.#rootsOf(monitor);
    if (roots.length > 0) return behindThese(now, roots);
    if (now.behind === undefined) {
      return isUnsure(monitor, now.heldAtMs, this.#poll) ? now : undefined;
    }
    const clear = now.clear ?? {
      atMs: recoveredAtMs([...now.behind, ...parents], listed, nowMs),
      seenAtMs: nowMs,
    };
    const graceMs = Math.min(GRACE.intervals * monitor.interval_seconds * 1000, GRACE.mostMs);
    if (checkBeganMs(monitor) > clear.atMs || Math.abs(nowMs - clear.seenAtMs) >= graceMs) {
      return undefined;
    }
    return now.clear ? now : { ...now, clear };
  }
}

/** End of the last outage among these monitors. */
function recoveredAtMs(ids: readonly string[], listed: readonly Monitor[], nowMs: number): number {
  const index = indexOf(listed);
  const times = ids.flatMap((id) => {
    const monitor = index.get(id);
    return monitor ? (statusChangedAtMs(monitor, nowMs) ?? nowMs) : [];
  });
  return times.length === 0 ? nowMs : Math.max(...times);
}

/** One of its parents may be down too, but hasn't been checked yet. */
function isUnsure(monitor: Monitor, heldAtMs: number, { listed, nowMs }: HoldContext): boolean {
  if (Math.abs(nowMs - heldAtMs) >= WAIT_MS) return false;
  const index = indexOf(listed);
  const fromMs = statusChangedAtMs(monitor, nowMs) ?? nowMs;
  return parentsOf(monitor).some((id) => {
    const parent = index.get(id);
    if (!parent?.last_checked_at || parent.check_type === 'HEARTBEAT') return false;
    if (isSilenced(parent)) return false;
    const checkedMs = Date.parse(parent.last_checked_at);
    if (checkedMs < fromMs) return true;
    return checkedMs < fromMs + SETTLED_MS && nowMs < checkedMs + SETTLED_MS;
  });
}

const isTrouble = (monitor: Monitor) => isDown(monitor) || isDegraded(monitor);

const parentsOf = ({ depends_on: parents = [] }: Monitor) => parents.slice(0, MAX_PARENTS);

const isSameTrouble = (was: HeldBack['monitor'], now: Monitor) =>
  was.status === now.status && was.status_changes === now.status_changes;

const isSameList = (a: readonly string[] = [], b: readonly string[]) =>
  a.length === b.length && a.every((id, at) => id === b[at]);

function heldBack(monitor: Monitor, was: HeldBack | undefined, nowMs: number): HeldBack {
  return {
    monitor: HeldBack.shape.monitor.parse(monitor),
    heldAtMs: was?.heldAtMs ?? nowMs,
    behind: was?.behind,
  };
}

function behindThese(one: HeldBack, roots: string[]): HeldBack {
  if (isSameList(one.behind, roots) && !one.clear) return one;
  const { clear: _, ...rest } = one;
  return { ...rest, behind: roots };
}

/** The service reports when the check ended. */
function checkBeganMs({ last_checked_at, response_time_ms }: Monitor): number {
  const endedMs = last_checked_at ? Date.parse(last_checked_at) : Number.NaN;
  return Number.isNaN(endedMs) ? 0 : endedMs - (response_time_ms ?? 0);
}

/**
 * Finds the monitors that cause an outage: its ancestors, over others that are down, that are down by themselves. In a
 * dependency cycle there may be none, and then every monitor gets its alert.
 */
function rootsIn({ listed, known, isAlertDown }: HoldContext): (monitor: Monitor) => string[] {
  let missing: Map<string, string> | undefined;
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
    // Iterating over a set includes values that are added on the way.
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

/** The name that monitors use for a reported alert as their parent. `undefined` for the incident of a monitor. */
export const alertParentOf = ({ intake, name }: Incident) =>
  intake === undefined ? undefined : parentName(intake, name);

const parentName = (intake: string, name: string) => `${ALERT_PARENT}${intake}/${name}`;

/** A warning is no outage, and the state of an alert without news is unknown. */
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

const NAMED = 3;

/** Shortest time between two updates of the names. */
const NAMES_PACE_MS = 15_000;

export function withBehind(
  alerts: Alert[],
  around: { nowMs: number; held?: Watching['held']; parentOf?: typeof alertParentOf },
): Alert[] {
  const { nowMs, held = [], parentOf } = around;
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
}

/** `a, b, c, and 4 more`. Pure. */
export function behindInWords({ behind }: Pick<Incident, 'behind'>): string | undefined {
  if (!behind || behind.count === 0) return undefined;
  const { names, count } = behind;
  const more = count - names.length;
  return more > 0 ? `${names.join(', ')}, and ${more} more` : names.join(', ');
}
