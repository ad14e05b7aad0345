/**
 * Functions of the bot for the page, which may not import the bot's files. None of them needs zod, so that it stays out of
 * the page.
 */
export { overallOf } from '../../bot/incidents/monitor-order.ts';
export { encodeAction, factText, hostLink, linkOf, ratingOfButton } from '../../bot/shared/card.ts';
export {
  type ChartBox,
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
