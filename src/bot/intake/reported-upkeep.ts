import {
  type AlertRule,
  type ArrangeContext,
  ruleContext,
  withNews,
} from '../incidents/arrange.ts';
import { escalated } from '../incidents/escalations.ts';
import { isFlapping, recentDowns, withFlappingEnded } from '../incidents/flapping.ts';
import { refreshed } from '../incidents/groups.ts';
import { applyChanges, isOpen, prune, withOpened } from '../incidents/incidents.ts';
import { reminded } from '../incidents/reminders.ts';
import {
  type Alert,
  type Incident,
  incidentsIn,
  isFiring,
  mapChanged,
  type Reported,
  type Watching,
} from '../incidents/watch-state.ts';
import { asMonitor, WORDS_EVERY_MS } from './apply-reported.ts';
import type { Intake } from './intakes.ts';
import { isSilent } from './reported-steps.ts';

/** Alerts that are over are kept to recognize late reports. Ones that fired are kept for monthly reports. */
const DAY_MS = 86_400_000;
const KEEP_OVER_MS = DAY_MS;
const KEEP_FIRED_MS = 35 * DAY_MS;

/** Most changes of one update, a few dozen milliseconds of work. */
const BATCH_SIZE = 500;

interface UpkeepContext extends ArrangeContext {
  /** All intakes by id. */
  intakes: ReadonlyMap<string, Pick<Intake, 'name' | 'repeatMs'>>;
}

/**
 * Applies the passage of time to reported alerts: no news for too long, removed intakes, the end of flapping,
 * escalations, reminders. Returns the same object if nothing changes. If `isMore` is set, call it again at once. Pure.
 */
export function withUpkeep(
  watching: Watching,
  around: UpkeepContext,
): { watching: Watching; dropped: number; isMore: boolean } {
  const { reported = [] } = watching;
  const { nowMs, intakes } = around;
  const isOfNone = reported.length === 0 && !watching.alerts.some(isReportedIncident);
  if (isOfNone) return { watching, dropped: 0, isMore: false };
  const out = reported.filter((one) => !intakes.has(one.intake) || isForgotten(one, nowMs));
  const lost = new Set(out.slice(0, BATCH_SIZE));
  const byId = new Map(reported.map((one) => [one.id, one]));
  const recent = recentDowns(watching.downs, nowMs);
  const gone = [...lost].filter(isFiring).map(({ id }) => id);
  const latest = new Map<string, Incident>();
  for (const one of incidentsIn(watching.alerts)) if (one.reported) latest.set(one.monitorId, one);
  const poll = {
    ...around,
    recent,
    asking: new Set<string>(),
    placesFor({ id }: { id: string }) {
      const place = latest.get(id)?.reported?.place;
      return place === undefined ? [] : [place];
    },
  };
  const arranged = withNews(watching.alerts, gone, around, (concerned) => {
    const before = new Set(concerned.map(({ id }) => id));
    const ended = applyChanges(concerned, new Map(gone.map((id) => [id, undefined])), poll);
    const flapping = ended.filter((alert) => isFlapping(alert) && alert.reported !== undefined);
    const monitors = incidentsIn(flapping).map(({ monitorId: id, name, target }) =>
      asMonitor({ id, name, status: calmStatusOf(byId.get(id)) }, target),
    );
    const calmed = withFlappingEnded(ended, monitors, poll);
    return mapChanged(withOpened(calmed.alerts, calmed.downs, poll), (alert) => {
      const earlier =
        before.has(alert.id) || !isOpen(alert) ? undefined : latest.get(alert.monitorId);
      return earlier && isOpen(alert) ? withSameWords(alert, earlier) : alert;
    });
  });
  const told = withSilence(arranged, byId, around);
  const rules = ruleContext(around, () =>
    watching.known.flatMap(({ id, missing }) => (missing === 0 ? [id] : [])),
  );
  const { alerts, dropped } = prune(
    RULES.reduce((now, rule) => rule(now, rules), refreshed(told.alerts, nowMs)),
    nowMs,
  );
  const kept = lost.size === 0 ? reported : reported.filter((one) => !lost.has(one));
  const downs = recent.kept();
  const isMore = told.isMore || out.length > lost.size;
  if (alerts === watching.alerts && kept === reported && downs === watching.downs) {
    return { watching, dropped, isMore };
  }
  const reportedNow = kept.length > 0 ? kept : undefined;
  return { watching: { ...watching, alerts, downs, reported: reportedNow }, dropped, isMore };
}

/** Polls run these rules too, but reported alerts need no poll. */
const RULES: readonly AlertRule[] = [escalated, reminded];

const isReportedIncident = (alert: Alert) => isOpen(alert) && alert.reported !== undefined;

/** No late report is expected any more. */
const isForgotten = (one: Reported, nowMs: number) =>
  !isFiring(one) &&
  Math.abs(nowMs - one.lastReportAtMs) >= (one.past ? KEEP_FIRED_MS : KEEP_OVER_MS);

/** An alert that a person closed counts as over. */
const calmStatusOf = (alert: Reported | undefined) =>
  alert && alert.status !== 'CLOSED' ? alert.status : 'RESOLVED';

/** An incident that stays open after flapping keeps its details. */
function withSameWords(incident: Incident, { intake, reported, target }: Incident): Incident {
  return {
    ...{ ...incident, target },
    ...(intake !== undefined && { intake }),
    ...(reported && { reported }),
  };
}

/** Marks incidents without news, and shows new words that were held back. */
function withSilence(
  alerts: Alert[],
  byId: ReadonlyMap<string, Reported>,
  { nowMs, intakes }: UpkeepContext,
): { alerts: Alert[]; isMore: boolean } {
  let left = BATCH_SIZE;
  const after = mapChanged(alerts, (alert) => {
    if (!isOpen(alert) || !alert.reported || left <= 0) return alert;
    const { hasNewWords, wordsShownAtMs = 0, silentSinceMs, ...reported } = alert.reported;
    const one = byId.get(alert.monitorId);
    const intake = one && intakes.get(one.intake);
    const isNewlySilent =
      one && intake && silentSinceMs === undefined && isSilent(one, intake, nowMs);
    const isDue = hasNewWords && Math.abs(nowMs - wordsShownAtMs) >= WORDS_EVERY_MS;
    if (!isNewlySilent && !isDue) return alert;
    left -= 1;
    const sinceMs = isNewlySilent ? one.lastReportAtMs : silentSinceMs;
    return {
      ...alert,
      version: alert.version + 1,
      reported: {
        ...{ ...reported, wordsShownAtMs: nowMs },
        silentSinceMs: sinceMs,
      },
    };
  });
  return { alerts: after, isMore: left <= 0 };
}
