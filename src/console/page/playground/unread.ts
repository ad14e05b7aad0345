import { useEffect, useState } from 'preact/hooks';
import { keep, readKept } from '../shared/storage.ts';
import { type ChatState, isOwn } from './state.ts';

const KEY = 'askwatch-read';

/** Time of the newest message that was read, by channel. */
type ReadMarks = Record<string, number>;

/** Counts other people's messages that were not read in this browser, by channel. */
export function useUnread(state: ChatState, here: string): ReadonlyMap<string, number> {
  const [marks, setMarks] = useState(readMarks);

  useEffect(() => {
    const look = () => {
      if (state.channels.length === 0) return;
      // A new browser has read everything.
      const kept = readMarks() ?? newest(state, state.channels);
      const next = document.hidden ? kept : { ...kept, ...newest(state, [here]) };
      keep('localStorage', KEY, JSON.stringify(next));
      setMarks((now) => (JSON.stringify(now) === JSON.stringify(next) ? now : next));
    };
    look();
    document.addEventListener('visibilitychange', look);
    addEventListener('storage', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      removeEventListener('storage', look);
    };
  }, [state.messages, state.channels, here]);

  const unread = state.messages.filter(
    ({ channel, message }) =>
      marks !== undefined && message.atMs > (marks[channel] ?? 0) && !isOwn(message, state.person),
  );
  return new Map(
    state.channels.map((name) => [name, unread.filter(({ channel }) => channel === name).length]),
  );
}

function newest({ messages }: ChatState, channels: readonly string[]): ReadMarks {
  return Object.fromEntries(
    channels.map((name) => [
      name,
      messages.findLast(({ channel }) => channel === name)?.message.atMs ?? 0,
    ]),
  );
}

function readMarks(): ReadMarks | undefined {
  const kept = readKept('localStorage', KEY);
  return kept === '' ? undefined : (JSON.parse(kept) as ReadMarks);
}
