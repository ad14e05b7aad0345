import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ConsoleEvent, Snapshot } from '../shared/api-types.ts';
import { keepAlive, writeEvents } from '../shared/event-stream.ts';

/** Events kept for browsers that come back, and their characters in all. */
const MAX_KEPT_EVENTS = 2_000;
const MAX_KEPT_CHARACTERS = 1_000_000;

/** Streams open at once; a browser allows itself six per server. */
const MAX_STREAMS = 64;

/** The browser's pause before it comes back. */
const RETRY_MS = 1_000;

/** The open event streams of all browsers. */
export type EventStreams = ReturnType<typeof createEventStreams>;

interface Kept {
  number: number;
  frame: string;
  person: string | undefined;
}

/** Creates the streams. Nothing is sent while `isHeld` says that this process isn't the one that may speak. */
export function createEventStreams({ isHeld }: { isHeld(): boolean }) {
  /** Ids of events begin with it, so that a browser that comes from an earlier playground begins again. */
  const streamId = randomBytes(4).toString('hex');
  const readers = new Map<ServerResponse, string>();
  const kept: Kept[] = [];
  let keptCharacters = 0;
  let lastNumber = 0;
  let closed = false;
  let heartbeat: NodeJS.Timeout | undefined;

  const frameOf = (number: number, event: ConsoleEvent) =>
    `id: ${streamId}-${number}\ndata: ${JSON.stringify(event)}\n\n`;

  function keep(entry: Kept) {
    kept.push(entry);
    keptCharacters += entry.frame.length;
    while (kept.length > MAX_KEPT_EVENTS || keptCharacters > MAX_KEPT_CHARACTERS) {
      keptCharacters -= kept.shift()?.frame.length ?? 0;
    }
  }

  /** Events that a browser missed; `undefined` if some of them are no longer kept, or `lastEventId` is unknown. */
  function missed(person: string, lastEventId: string | undefined): string | undefined {
    const [id, number = ''] = lastEventId?.split('-') ?? [];
    if (id !== streamId || !/^\d{1,15}$/.test(number)) return undefined;
    const after = Number(number);
    const firstKept = kept[0]?.number ?? lastNumber + 1;
    if (after > lastNumber || after < firstKept - 1) return undefined;
    return kept
      .filter((entry) => entry.number > after)
      .filter((entry) => entry.person === undefined || entry.person === person)
      .map(({ frame }) => frame)
      .join('');
  }

  return {
    /**
     * Answers a request with the stream: the events missed since `lastEventId`, or, if those aren't known, the snapshot. Ask
     * `hasRoom` before the answer's head is written.
     */
    open(
      response: ServerResponse,
      reader: { person: string; lastEventId: string | undefined; snapshot(): Snapshot },
    ) {
      const { person, lastEventId, snapshot } = reader;
      heartbeat ??= keepAlive(() => readers.keys());
      response.write(`retry: ${RETRY_MS}\n\n`);
      response.write(missed(person, lastEventId) ?? frameOf(lastNumber, snapshot()));
      readers.set(response, person);
      response.on('close', () => readers.delete(response));
    },
    /** Sends to everyone, or to all tabs of one person only. */
    send(event: ConsoleEvent, onlyPerson?: string) {
      if (!isHeld()) return;
      lastNumber += 1;
      const frame = frameOf(lastNumber, event);
      keep({ number: lastNumber, frame, person: onlyPerson });
      for (const [response, person] of readers) {
        if (onlyPerson === undefined || onlyPerson === person) writeEvents(response, frame);
      }
    },
    /** True if a tab of this person is open. */
    hasReader: (person: string) => [...readers.values()].includes(person),
    /** False when too many streams are open, or the console has stopped. */
    hasRoom: () => !closed && readers.size < MAX_STREAMS,
    /** Ends all streams and takes no more. */
    close() {
      closed = true;
      clearInterval(heartbeat);
      for (const response of readers.keys()) response.end();
      readers.clear();
    },
  };
}
