import type { GonePlaces } from '../shared/gone-places.ts';
import { isOpen, newDelivery } from './incidents.ts';
import type { Alert, Watching } from './watch-state.ts';

/** Whether the watch has told any of these places of anything, or is about to. Pure. */
export function hasPlace(watching: Watching | undefined, gone: GonePlaces): boolean {
  if (!watching) return false;
  const { alerts, closed = [] } = watching;
  return (
    alerts.some((alert) => mentionsPlace(alert, gone)) ||
    closed.some(({ place }) => gone.has(place))
  );
}

/**
 * The same without what these places were told or are about to be told. Those that hear every alert, since the operator says
 * so, are told anew of what goes on: they may be back before it is over. Pure.
 */
export function withoutPlaces(
  watching: Watching,
  gone: GonePlaces,
  hearAll: readonly string[],
): Watching {
  if (!hasPlace(watching, gone)) return watching;
  const anew = hearAll.filter((place) => gone.has(place));
  const alerts = watching.alerts.flatMap((alert): Alert[] => {
    // A group is of one place.
    if (alert.kind === 'group') return gone.has(alert.place) ? [] : [alert];
    const others = alert.deliveries.filter(({ place }) => !gone.has(place));
    const isToTell = alert.kind === 'incident' && isOpen(alert);
    const more = isToTell ? anew.map((place) => newDelivery(place, alert.id)) : [];
    const isSame = more.length === 0 && others.length === alert.deliveries.length;
    return isSame ? [alert] : [{ ...alert, deliveries: [...others, ...more] }];
  });
  const { closed = [], ...rest } = watching;
  const left = closed.filter(({ place }) => !gone.has(place));
  return { ...rest, alerts, ...(left.length > 0 && { closed: left }) };
}

const mentionsPlace = (alert: Alert, gone: GonePlaces) =>
  (alert.kind === 'group' && gone.has(alert.place)) ||
  alert.deliveries.some(({ place }) => gone.has(place));
