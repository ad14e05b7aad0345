/** Words that the page shares with the bot, whose files it may not import itself. */

export {
  type ObservedSpan as Watched,
  observedSpans as watchedSpans,
} from '../../bot/shared/observed-spans.ts';
export { counted, inWords } from '../../bot/shared/text-format.ts';
