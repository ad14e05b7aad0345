/** What a button carries and where a link leads, for the page too: it stands apart from the schemas, which the page does without. */
export { decodeAction, encodeAction, linkOf } from '../../bot/shared/card.ts';
