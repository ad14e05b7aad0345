/** What a button carries as text, for the page too: it stands apart from the schemas, which the page does without. */
export { decodeAction, encodeAction } from '../bot/card-action.ts';
