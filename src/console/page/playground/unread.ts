import { useEffect, useState } from 'preact/hooks';
import { isOwn, type State } from './state.ts';

const KEY = 'askwatch-read';

/** When the newest message was written that somebody has read, by channel. */
type Marks = Record<string, number>;

/** How many messages of others each channel has that were not read in this browser. */
export function useUnread(state: State, here: string): ReadonlyMap<string, number> {
  const [marks, setMarks] = useState(readMarks);

  useEffect(() => {
    const look = () => {
      if (state.channels.length === 0) return;
      // In a browser that is new, everything was read.
      const kept = readMarks() ?? newest(state, state.channels);
      const next = document.hidden ? kept : { ...kept, ...newest(state, [here]) };
      writeMarks(next);
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

function newest({ messages }: State, channels: readonly string[]): Marks {
  return Object.fromEntries(
    channels.map((name) => [
      name,
      messages.findLast(({ channel }) => channel === name)?.message.atMs ?? 0,
    ]),
  );
}

function readMarks(): Marks | undefined {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(KEY) ?? 'null');
    return typeof read === 'object' && read !== null ? (read as Marks) : undefined;
  } catch {
    // The browser keeps nothing for this page, or what it kept is none of ours.
    return undefined;
  }
}

function writeMarks(marks: Marks) {
  try {
    localStorage.setItem(KEY, JSON.stringify(marks));
  } catch {
    // A browser that keeps nothing forgets at the next load what was read.
  }
}
