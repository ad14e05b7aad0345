import { exportedLines } from '../../bot/feedback/export.ts';
import { createFeedback } from '../../bot/feedback/feedback.ts';
import type { ProgramFeature } from '../program.ts';

/** Ratings of answers, which the command line exports. */
export const feedback: ProgramFeature = {
  name: 'feedback',
  open({ store, settings, redact }) {
    const shared = createFeedback(store, { days: settings.bot.feedbackDays });
    return { shared, control: { feedback: (query) => exportedLines(shared, query, redact) } };
  },
};
