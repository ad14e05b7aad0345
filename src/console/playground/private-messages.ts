import type { Message } from '../shared/api-types.ts';
import { forgetOldest } from '../shared/forget-oldest.ts';

/** Of all people together; the oldest go first. What is private is written nowhere. */
const MAX_KEPT = 200;

/** Where a private message stands: under `root`, or at the top of the channel. */
export interface PrivatePlace {
  person: string;
  channel: string;
  root: string | undefined;
}

/** Messages that one person alone sees, in memory: in all their tabs, until they are dismissed or the program stops. */
export type PrivateMessages = ReturnType<typeof createPrivateMessages>;

/** Makes the place where they are kept. */
export function createPrivateMessages() {
  const kept = new Map<string, PrivatePlace & { message: Message }>();
  const of = (person: string) => [...kept.values()].filter((one) => one.person === person);
  return {
    /** Keeps a message, or what has become of it. */
    put(place: PrivatePlace, message: Message) {
      kept.set(message.id, { ...place, message });
      forgetOldest(kept, MAX_KEPT);
    },
    /** Those at the top of the channels, as a list shows them. */
    listed: (person: string) =>
      of(person)
        .filter(({ root }) => root === undefined)
        .map(({ channel, message }) => ({
          channel,
          message,
          thread: { replies: 0, growing: false },
        })),
    /** Those in a thread. */
    replies: (person: string, root: string) =>
      of(person)
        .filter((one) => one.root === root)
        .map(({ message }) => message),
    /** False when this person has no such message. */
    remove: (person: string, id: string) => kept.get(id)?.person === person && kept.delete(id),
  };
}
