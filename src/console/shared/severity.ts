/** How bad a status is, for the page, which has no other way to the bot's rules. */
export { severityOf } from '../../bot/shared/status.ts';
