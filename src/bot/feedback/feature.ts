import type { Feature } from '../commands/feature.ts';
import { createFeedback, type Feedback } from './feedback.ts';
import { explain, rate, thumbs } from './rating.ts';
import { ratingsTable } from './ratings-table.ts';

/** Ratings of answers. The command line exports them. */
export const feedback: Feature<Feedback> = {
  name: 'feedback',
  actions: [rate, explain],
  openShared: ({ store, settings }) => createFeedback(store, { days: settings.feedbackDays }),
  open: (_, service) => ({
    service,
    buttonsUnder: thumbs,
    keepCalls: service.evidence.keep,
    usageParts: async (place, fromMs) => ratingsTable(await service.countsIn(place, fromMs)),
    places: service.places,
    forgetThread: service.forgetThread,
    forgetPlaces: service.forgetPlaces,
    forgetOld: service.forgetOld,
  }),
};
