import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { Message } from '../shared/api-types.ts';
import type { EventStreams } from './event-streams.ts';
import { listedOf } from './history.ts';

/** Private messages of all people together, oldest evicted first. They are never written to disk. */
const MAX_KEPT = 200;

/** Where a private message stands: under `root`, or at the top of the channel. */
export interface PrivatePlace {
  person: string;
  channel: string;
  root: string | undefined;
}

/** Messages that one person alone sees, in memory: in all their tabs, until they are dismissed or the program stops. */
export type PrivateMessages = ReturnType<typeof createPrivateMessages>;

/** Makes the place where they are kept; what changes is sent to the tabs of its reader. */
export function createPrivateMessages(streams: EventStreams) {
  const kept = new Map<string, PrivatePlace & { message: Message }>();
  const allOf = (person: string) => [...kept.values()].filter((one) => one.person === person);
  const shown = ({ channel, message }: PrivatePlace & { message: Message }) =>
    listedOf({ channel, message, replies: [] });

  return {
    /** Shows a message, or what has become of it. */
    put(place: PrivatePlace, message: Message): void {
      const { person, root } = place;
      const one = { ...place, message };
      kept.set(message.id, one);
      forgetOldest(kept, MAX_KEPT);
      if (root !== undefined) streams.send({ kind: 'reply', root, reply: message }, person);
      else streams.send({ kind: 'message', listed: shown(one) }, person);
    },
    /** The message of this id, if it is this person's. */
    of(person: string, id: string) {
      const one = kept.get(id);
      return one?.person === person ? one.message : undefined;
    },
    /** Those at the top of the channels, as a list shows them. */
    listed: (person: string) =>
      allOf(person)
        .filter(({ root }) => root === undefined)
        .map(shown),
    /** Those in a thread. */
    replies: (person: string, root: string) =>
      allOf(person)
        .filter((one) => one.root === root)
        .map(({ message }) => message),
    /** Removes a message that its reader has dismissed, from all their tabs. */
    remove(person: string, message: string) {
      if ((kept.get(message)?.person ?? person) !== person) return;
      kept.delete(message);
      streams.send({ kind: 'removed', message }, person);
    },
  };
}
