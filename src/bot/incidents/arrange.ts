import type { ChannelSettings } from '../channels/channel-settings.ts';
import { quietUntilMs, quietWords } from '../channels/quiet-hours.ts';
import { isFlapping } from './flapping.ts';
import { withGroups, withQuietDigests } from './groups.ts';
import { type AlertContext, isOpen } from './incidents.ts';
import { type Alert, type Incident, isReportedId } from './watch-state.ts';

export interface ArrangeContext extends AlertContext {
  settingsOf?: (place: string) => ChannelSettings;
}

/** Input of the rules that run over all alerts after each change. */
export interface RuleContext {
  nowMs: number;
  settingsOf: (place: string) => ChannelSettings;
  isQuiet: (place: string) => boolean;
  /** False for monitors that are missing from the last list. Nothing is known about them now. */
  isListed: (monitorId: string) => boolean;
}

/** A rule over all alerts. Returns the same array if nothing changes. Pure. */
export type AlertRule<Context = RuleContext> = (alerts: Alert[], around: Context) => Alert[];

/** `listedIds` is called once, and only if a rule asks. */
export function ruleContext(
  around: ArrangeContext,
  listedIds: () => Iterable<string>,
): RuleContext {
  const { nowMs, settingsOf = () => ({}) } = around;
  const quietOf = quietNow(around);
  let listed: Set<string> | undefined;
  return {
    nowMs,
    settingsOf,
    isQuiet: (place) => quietOf(place) !== undefined,
    isListed(id) {
      listed ??= new Set(listedIds());
      // Polls say nothing about reported alerts.
      return isReportedId(id) || listed.has(id);
    },
  };
}

/**
 * Applies news about monitors or reported alerts. `decide` gets the alerts that the news may change. The incidents that it
 * opens are then put into messages: digests of quiet hours, and groups. Pure.
 */
export function withNews(
  alerts: Alert[],
  ids: Iterable<string>,
  around: ArrangeContext,
  decide: (concerned: Alert[]) => Alert[],
): Alert[] {
  const { concerned, withOthers } = concernedBy(ids, alerts);
  const before = new Set(concerned.map(({ id }) => id));
  const isOpened = (alert: Alert): alert is Incident => isOpen(alert) && !before.has(alert.id);
  const decided = decide(concerned);
  const opened = new Set(decided.filter(isOpened).map(({ id }) => id));
  const quiet = withQuietDigests(decided, { ...around, quietOf: quietNow(around) });
  if (opened.size === 0) return withOthers(quiet);
  const isNew = (alert: Alert): alert is Incident => opened.has(alert.id) && isOpen(alert);
  const old = quiet.filter((alert) => !isNew(alert));
  return withOthers(withGroups(old, quiet.filter(isNew), around));
}

function quietNow({ nowMs, settingsOf }: ArrangeContext): (place: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (place) => {
    if (known.has(place)) return known.get(place);
    const quiet = settingsOf?.(place).quiet;
    const isQuiet = quiet && quietUntilMs(quiet, nowMs) !== undefined;
    known.set(place, isQuiet ? quietWords(quiet) : undefined);
    return known.get(place);
  };
}

/**
 * Leaves out incidents that share a message, don't flap, and aren't in the news. When everything is down these are thousands,
 * and every step over them would slow each batch of a poll. `withOthers` puts them back in order.
 */
function concernedBy(
  news: Iterable<string>,
  alerts: Alert[],
): { concerned: Alert[]; withOthers: (after: Alert[]) => Alert[] } {
  const ids = new Set(news);
  for (const alert of alerts) if (isFlapping(alert)) ids.add(alert.monitorId);
  const concerned = alerts.filter(
    (alert) => alert.kind !== 'incident' || alert.deliveries.length > 0 || ids.has(alert.monitorId),
  );
  if (concerned.length === alerts.length) {
    return { concerned: alerts, withOthers: (after) => after };
  }
  return {
    concerned,
    withOthers(after) {
      if (after === concerned) return alerts;
      const before = new Set(concerned);
      const remaining = new Map(after.map((alert) => [alert.id, alert]));
      const all: Alert[] = [];
      for (const alert of alerts) {
        const now = before.has(alert) ? remaining.get(alert.id) : alert;
        remaining.delete(alert.id);
        if (now) all.push(now);
      }
      // New alerts come last.
      return [...all, ...remaining.values()];
    },
  };
}
