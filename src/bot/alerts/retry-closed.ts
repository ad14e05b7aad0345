import { withReopened } from '../incidents/closed-places.ts';
import type { WatchState } from '../incidents/watch-state.ts';
import { parsePlace } from '../shared/place.ts';

export function createRetryClosed(options: {
  state: Pick<WatchState, 'current' | 'update'>;
  nowMs: () => number;
  onChange: () => void;
}) {
  const { state, nowMs, onChange } = options;
  return async (platform: string, mayBeOpen: (channel: string) => boolean): Promise<void> => {
    const isConcerned = (key: string) => {
      const place = parsePlace(key);
      return place?.platform === platform && mayBeOpen(place.channel);
    };
    if (!state.current()?.closed?.some(({ place }) => isConcerned(place))) return;
    await state.update((watching) => watching && withReopened(watching, isConcerned, nowMs()));
    onChange();
  };
}
