/** Words that the page shares with the bot, whose files it may not import itself. */
export { counted, inWords } from '../bot/words.ts';
