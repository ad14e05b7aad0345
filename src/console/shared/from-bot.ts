/**
 * What the page shares with the bot, whose files it may not import itself: what a button carries and where a link leads, the
 * geometry of a chart, how bad a status is, and how counts, times, maintenance and what was looked at are written. None of it needs the
 * schemas, which the page does without.
 */
export { encodeAction, linkOf, ratingOfButton } from '../../bot/shared/card.ts';
export {
  type ChartLayout,
  layOut,
  momentLabel,
  valueWords,
} from '../../bot/shared/chart-layout.ts';
export { stepInWords } from '../../bot/shared/invocation.ts';
export { comingWords, monitorNames } from '../../bot/shared/maintenance-words.ts';
export { type ObservedSpan, observedSpans } from '../../bot/shared/observed-spans.ts';
export { severityOf } from '../../bot/shared/status.ts';
export { counted, inWords, percentText, splitInstants } from '../../bot/shared/text-format.ts';
