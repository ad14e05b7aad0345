import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { Message } from '../shared/api-types.ts';
import type { EventStreams } from './event-streams.ts';
import { listedOf } from './history.ts';

/** Private messages of all people together, oldest evicted first. They are never written to disk. */
const MAX_KEPT = 200;

export interface PrivatePlace {
  person: string;
  channel: string;
  root: string | undefined;
}

export type PrivateMessages = ReturnType<typeof createPrivateMessages>;

/**
 * Messages that only one person sees, in all their tabs. They stay in memory until the person dismisses them or the program stops.
 * Changes are sent to that person's tabs.
 */
export function createPrivateMessages(streams: EventStreams) {
  const kept = new Map<string, PrivatePlace & { message: Message }>();
  const allOf = (person: string) => [...kept.values()].filter((one) => one.person === person);
  const shown = ({ channel, message }: PrivatePlace & { message: Message }) =>
    listedOf({ channel, message, replies: [] });

  return {
    put(place: PrivatePlace, message: Message): void {
      const { person, root } = place;
      const one = { ...place, message };
      kept.set(message.id, one);
      forgetOldest(kept, MAX_KEPT);
      if (root !== undefined) streams.send({ kind: 'reply', root, reply: message }, person);
      else streams.send({ kind: 'message', listed: shown(one) }, person);
    },
    of(person: string, id: string) {
      const one = kept.get(id);
      return one?.person === person ? one.message : undefined;
    },
    listed: (person: string) =>
      allOf(person)
        .filter(({ root }) => root === undefined)
        .map(shown),
    replies: (person: string, root: string) =>
      allOf(person)
        .filter((one) => one.root === root)
        .map(({ message }) => message),
    remove(person: string, message: string) {
      if ((kept.get(message)?.person ?? person) !== person) return;
      kept.delete(message);
      streams.send({ kind: 'removed', message }, person);
    },
  };
}
