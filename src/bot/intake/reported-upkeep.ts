import {
  type ArrangeContext,
  arranged,
  concernedBy,
  quietNow,
  reshaped,
} from '../incidents/arrange.ts';
import { escalated } from '../incidents/escalations.ts';
import { isFlapping, recentDowns, withFlappingEnded } from '../incidents/flapping.ts';
import { refreshed } from '../incidents/groups.ts';
import { type AlertRule, applyChanges, isOpen, prune, withOpened } from '../incidents/incidents.ts';
import { reminded } from '../incidents/reminders.ts';
import {
  type Alert,
  type Incident,
  incidentsIn,
  isFiring,
  isReportedId,
  mapChanged,
  type Reported,
  type Watching,
} from '../incidents/watch-state.ts';
import { asMonitor, WORDS_EVERY_MS } from './apply-reported.ts';
import type { Intake } from './intakes.ts';
import { isSilent } from './reported-steps.ts';

/** What is over is remembered for so long, so that a late word of it is known to be old; what fired, for reports of a month. */
const DAY_MS = 86_400_000;
const KEEP_OVER_MS = DAY_MS;
const KEEP_FIRED_MS = 35 * DAY_MS;

/** Alerts of which something becomes in one go: what they come to is a few dozen milliseconds of work. */
const BATCH_SIZE = 500;

interface UpkeepContext extends ArrangeContext {
  /** All intakes there are, by their ids; of one that is not there nothing will be heard. */
  intakes: ReadonlyMap<string, Pick<Intake, 'name' | 'repeatMs'>>;
}

/**
 * What becomes of reported alerts while nobody says anything of them: nothing was heard of some for too long, some are of intakes
 * that are gone, some have flapped, people are reminded of those that go on, and others are told of what nobody acknowledges. The same document when nothing does;
 * `isMore` says that it is to be asked again at once. Pure.
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
  const { concerned, withOthers } = concernedBy(gone, watching.alerts);
  const latest = new Map<string, Incident>();
  for (const one of incidentsIn(concerned)) if (one.reported) latest.set(one.monitorId, one);
  const poll = {
    ...{ ...around, recent, asking: new Set<string>() },
    placesFor({ id }: { id: string }) {
      const place = latest.get(id)?.reported?.place;
      return place === undefined ? [] : [place];
    },
  };
  const ended = applyChanges(concerned, new Map(gone.map((id) => [id, undefined])), poll);
  const flapping = ended.filter((alert) => isFlapping(alert) && alert.reported !== undefined);
  const monitors = incidentsIn(flapping).map(({ monitorId, name, target }) =>
    asMonitor({ id: monitorId, name, status: byId.get(monitorId)?.status ?? 'RESOLVED' }, target),
  );
  const calmed = withFlappingEnded(ended, monitors.map(asCalm), poll);
  const before = new Set(concerned.map(({ id }) => id));
  const decided = mapChanged(withOpened(calmed.alerts, calmed.downs, poll), (alert) => {
    const earlier =
      before.has(alert.id) || !isOpen(alert) ? undefined : latest.get(alert.monitorId);
    return earlier && isOpen(alert) ? withSameWords(alert, earlier) : alert;
  });
  const opened = new Set(
    decided.filter((alert) => isOpen(alert) && !before.has(alert.id)).map(({ id }) => id),
  );
  const shaped = withOthers(reshaped(arranged(decided, opened, around), concerned));
  const told = withSilence(shaped, byId, around);
  const rules = ruleContext(watching, around);
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
  const { reported: _, ...rest } = watching;
  const after: Watching = {
    ...{ ...rest, alerts, ...(downs && { downs }) },
    ...(kept.length > 0 && { reported: kept }),
  };
  return { watching: after, dropped, isMore };
}

/** The rules that a poll ends with, too; they are asked here as well, since what others report needs no poll. */
const RULES: readonly AlertRule[] = [escalated, reminded];

const isReportedIncident = (alert: Alert) => isOpen(alert) && alert.reported !== undefined;

/** Whether a late word of it is no longer expected. */
const isForgotten = (one: Reported, nowMs: number) =>
  !isFiring(one) && Math.abs(nowMs - one.heardAtMs) >= (one.past ? KEEP_FIRED_MS : KEEP_OVER_MS);

/** What a person has closed does not go on, as far as anybody cares. */
const asCalm = (monitor: ReturnType<typeof asMonitor>) =>
  monitor.status === 'CLOSED' ? { ...monitor, status: 'RESOLVED' } : monitor;

/** One that goes on after it flapped, with what was known of it then. */
function withSameWords(incident: Incident, { intake, reported, target }: Incident): Incident {
  return {
    ...{ ...incident, target },
    ...(intake !== undefined && { intake }),
    ...(reported && { reported }),
  };
}

/** The alerts with those of which nothing was heard for too long, and with words that nobody was shown yet. */
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
    const sinceMs = isNewlySilent ? one.heardAtMs : silentSinceMs;
    return {
      ...alert,
      version: alert.version + 1,
      reported: {
        ...{ ...reported, wordsShownAtMs: nowMs },
        ...(sinceMs !== undefined && { silentSinceMs: sinceMs }),
      },
    };
  });
  return { alerts: after, isMore: left <= 0 };
}

function ruleContext(watching: Watching, around: UpkeepContext) {
  const { nowMs, settingsOf = () => ({}) } = around;
  const quietOf = quietNow(around);
  let listed: Set<string> | undefined;
  return {
    ...{ nowMs, settingsOf },
    isQuiet: (place: string) => quietOf(place) !== undefined,
    isListed(id: string) {
      // As the last poll saw them.
      listed ??= new Set(watching.known.flatMap((one) => (one.missing === 0 ? [one.id] : [])));
      return isReportedId(id) || listed.has(id);
    },
  };
}
