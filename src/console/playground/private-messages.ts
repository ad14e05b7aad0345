import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import type { Message } from '../shared/api-types.ts';
import type { EventStreams, StreamedEvent } from './event-streams.ts';
import { listedOf } from './history.ts';

/** Of all people together; the oldest go first. What is private is written nowhere but where events are, for minutes. */
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

  async function put(place: PrivatePlace, message: Message, isOurs?: () => boolean): Promise<void> {
    const { person, root } = place;
    const one = { ...place, message };
    kept.set(message.id, one);
    forgetOldest(kept, MAX_KEPT);
    const to = { to: person, isOurs };
    if (root !== undefined) await streams.tell({ kind: 'reply', root, reply: message }, to);
    else await streams.tell({ kind: 'message', listed: shown(one) }, to);
  }

  /** False for one that is somebody else's. */
  function forget(person: string, message: string): boolean {
    const isTheirs = (kept.get(message)?.person ?? person) === person;
    if (isTheirs) kept.delete(message);
    return isTheirs;
  }

  return {
    /** Shows a message, or what has become of it; resolves once its reader's tabs will hear of it. */
    put,
    /** Takes note of what another process has told somebody. */
    heard({ event, person }: StreamedEvent) {
      if (person === undefined) return;
      if (event.kind === 'removed') forget(person, event.message);
      else if (event.kind === 'message') {
        const { channel, message } = event.listed;
        kept.set(message.id, { person, channel, root: undefined, message });
      } else if (event.kind === 'reply') {
        const { root, reply } = event;
        kept.set(reply.id, { person, channel: '', root, message: reply });
      }
      forgetOldest(kept, MAX_KEPT);
    },
    /** The message of this id, whosever it is. */
    find: (id: string) => kept.get(id)?.message,
    /** The same, if it is this person's. */
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
    /** Takes away a message that its reader wants to see no longer; processes that started before this one may have it, too. */
    remove(person: string, message: string) {
      if (forget(person, message)) streams.send({ kind: 'removed', message }, person);
    },
  };
}
