import { type ConsoleCollections, consoleCollections } from '../../../src/console/console.ts';
import type { Store } from '../../../src/store/store.ts';

/** What the console keeps in this store. */
export const collectionsOf = (store: Store): ConsoleCollections => ({
  messages: store.collection(consoleCollections.messages),
  people: store.collection(consoleCollections.people),
  channels: store.collection(consoleCollections.channels),
});
