import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ConsoleEvent } from '../shared/api-types.ts';
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
  onlyPerson: string | undefined;
}

/** Makes the streams; `snapshot` is what a person whose browser begins anew is sent first. */
export function createEventStreams(snapshot: (person: string) => ConsoleEvent) {
  // Numbers begin anew with each start, so ids carry which start they belong to.
  const run = randomUUID().slice(0, 8);
  const readers = new Map<ServerResponse, string>();
  const kept: Kept[] = [];
  let keptCharacters = 0;
  let lastNumber = 0;
  let closed = false;

  const frameOf = (event: ConsoleEvent, number: number) =>
    `id: ${run}-${number}\ndata: ${JSON.stringify(event)}\n\n`;

  const heartbeat = keepAlive(() => readers.keys());

  function keep(entry: Kept) {
    kept.push(entry);
    keptCharacters += entry.frame.length;
    while (kept.length > MAX_KEPT_EVENTS || keptCharacters > MAX_KEPT_CHARACTERS) {
      keptCharacters -= kept.shift()?.frame.length ?? 0;
    }
  }

  /** What a browser missed; `undefined` when that cannot be known any more. */
  function missed(person: string, lastEventId: string | undefined): string | undefined {
    const [ofRun, number = ''] = lastEventId?.split('-') ?? [];
    if (ofRun !== run || !/^\d{1,15}$/.test(number)) return undefined;
    const after = Number(number);
    const firstKept = kept[0]?.number ?? lastNumber + 1;
    if (after > lastNumber || after < firstKept - 1) return undefined;
    return kept
      .filter((entry) => entry.number > after)
      .filter(({ onlyPerson }) => onlyPerson === undefined || onlyPerson === person)
      .map(({ frame }) => frame)
      .join('');
  }

  return {
    /**
     * Answers a request with the stream: what was missed since the event `lastEventId`, or, when that is unknown, the
     * snapshot. Ask `hasRoom` before the answer's head is written.
     */
    open(
      response: ServerResponse,
      { person, lastEventId }: { person: string; lastEventId: string | undefined },
    ) {
      response.write(`retry: ${RETRY_MS}\n\n`);
      response.write(missed(person, lastEventId) ?? frameOf(snapshot(person), lastNumber));
      readers.set(response, person);
      response.on('close', () => readers.delete(response));
    },
    /** Sends to everyone, or to all tabs of one person only. */
    send(event: ConsoleEvent, onlyPerson?: string) {
      lastNumber += 1;
      const frame = frameOf(event, lastNumber);
      keep({ number: lastNumber, frame, onlyPerson });
      for (const [response, person] of readers) {
        if (onlyPerson === undefined || onlyPerson === person) writeEvents(response, frame);
      }
    },
    /** Whether a tab of this person is open. */
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
