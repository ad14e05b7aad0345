import type { ChannelSettings } from '../channels/channel-settings.ts';
import { quietUntilMs, quietWords } from '../channels/quiet-hours.ts';
import { isFlapping } from './flapping.ts';
import { gathered, grouped } from './groups.ts';
import type { AlertContext } from './incidents.ts';
import type { Alert, Incident } from './watch-state.ts';

/** What telling places needs from outside. */
export interface ArrangeContext extends AlertContext {
  /** How places are told; nothing is set when left out. */
  settingsOf?: (place: string) => ChannelSettings;
}

/** The alerts as their places are to be told of them: what is quiet there, and what began together. Pure. */
export function arranged(
  alerts: Alert[],
  opened: ReadonlySet<string>,
  around: ArrangeContext,
): Alert[] {
  const kept = gathered(alerts, { ...around, quietOf: quietNow(around) });
  const isOpened = (alert: Alert): alert is Incident =>
    alert.kind === 'incident' && opened.has(alert.id);
  const others = kept.filter((alert) => !isOpened(alert));
  return opened.size === 0 ? kept : grouped(others, kept.filter(isOpened), around);
}

/**
 * The alerts, with copies of those that were not there before. V8 gives every object that was spread, added to and frozen a
 * shape of its own, and thousands of shapes make each later reading of thousands of alerts several times as slow; such
 * copies share a few. With 5,000 open incidents a poll without news takes 6 ms of CPU, and 18 without the copies.
 */
export function reshaped(alerts: Alert[], before: readonly Alert[]): Alert[] {
  if (alerts === before) return alerts;
  const same = new Set(before);
  return alerts.map((alert) => (same.has(alert) ? alert : Object.assign({}, alert)));
}

/** A function that tells the quiet hours of places where it is quiet now; each is asked once. */
export function quietNow({
  nowMs,
  settingsOf,
}: Pick<ArrangeContext, 'nowMs' | 'settingsOf'>): (place: string) => string | undefined {
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
 * The alerts that news of some things may have to do with: all but outages that have no message of their own and of which
 * there is no news and that do not flap, of which there are thousands when everything is down. `withOthers` puts those back
 * among what became of these. Pure.
 */
export function concernedBy(
  news: Iterable<string>,
  alerts: Alert[],
): { concerned: Alert[]; withOthers: (after: Alert[]) => Alert[] } {
  const ids = new Set(news);
  for (const alert of alerts) if (isFlapping(alert)) ids.add(alert.monitorId);
  const concerned = alerts.filter(
    (alert) => alert.kind !== 'incident' || alert.deliveries.length > 0 || ids.has(alert.monitorId),
  );
  if (concerned.length === alerts.length)
    return { concerned: alerts, withOthers: (after) => after };
  return {
    concerned,
    withOthers(after) {
      if (after === concerned) return alerts;
      const before = new Set(concerned);
      const left = new Map(after.map((alert) => [alert.id, alert]));
      const all: Alert[] = [];
      for (const alert of alerts) {
        if (!before.has(alert)) {
          all.push(alert);
          continue;
        }
        const now = left.get(alert.id);
        left.delete(alert.id);
        if (now) all.push(now);
      }
      // New ones come last.
      all.push(...left.values());
      return all;
    },
  };
}
