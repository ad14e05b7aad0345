import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { EventLog, NumberedEvent } from '../../bot/platform.ts';
import type { ConsoleEvent } from '../shared/api-types.ts';
import { keepAlive, writeEvents } from '../shared/event-stream.ts';

/** Events kept for browsers that come back, and their characters in all. */
const MAX_KEPT_EVENTS = 2_000;
const MAX_KEPT_CHARACTERS = 1_000_000;

/** Streams open at once; a browser allows itself six per server. */
const MAX_STREAMS = 64;

/**
 * How long a browser that has heard more than this process waits until the process has heard it, too: after a standstill on a
 * busy machine that takes seconds, and what the process has until then is older than what the browser shows.
 */
const CATCH_UP_MS = 10_000;

/** How long whoever tells something waits until it is stored. */
const STORED_WITHIN_MS = 5_000;

/** The browser's pause before it comes back. */
const RETRY_MS = 1_000;

/** The open event streams of all browsers. */
export type EventStreams = ReturnType<typeof createEventStreams>;

interface Kept {
  number: number;
  json: string;
  person: string | undefined;
}

/** What a console tells, in the log that all processes share. */
const StreamedEvent = z.object({
  /** Who alone is to hear of it. */
  person: z.string().optional(),
  // Written by a console, and read by pages, which pass over what they do not know.
  event: z.custom<ConsoleEvent>((value) => typeof value === 'object' && value !== null),
});
export type StreamedEvent = z.infer<typeof StreamedEvent>;

/** Where events go, so that those of each process reach the browsers of all. */
export const consoleEvents = { name: 'console-events', schema: StreamedEvent };

/** Who gives a browser its beginning, and has to know what other processes tell. */
export interface EventListener {
  /** What a person whose browser begins anew is sent first. */
  snapshot(person: string): ConsoleEvent;
  /** Other processes have told this; browsers are told once it is taken note of. */
  heard(events: readonly StreamedEvent[]): Promise<void>;
  /** Some of what other processes have told was missed. */
  missed(): Promise<void>;
}

/** Makes the streams over the log, which browsers hear once `follow` is called. */
export function createEventStreams(log: EventLog<StreamedEvent>) {
  const readers = new Map<ServerResponse, string>();
  const kept: Kept[] = [];
  let keptCharacters = 0;
  let lastNumber = 0;
  let closed = false;
  /** Which log the numbers belong to. */
  let logId = '';
  let following: { listener: EventListener; stop(): void } | undefined;

  const frameOf = (json: string, number: number) => `id: ${logId}-${number}\ndata: ${json}\n\n`;

  const beginning = (person: string) =>
    frameOf(JSON.stringify(following?.listener.snapshot(person)), lastNumber);

  const heartbeat = keepAlive(() => readers.keys());

  function keep(entry: Kept) {
    kept.push(entry);
    keptCharacters += entry.json.length;
    while (kept.length > MAX_KEPT_EVENTS || keptCharacters > MAX_KEPT_CHARACTERS) {
      keptCharacters -= kept.shift()?.json.length ?? 0;
    }
  }

  function sendAll(events: ReadonlyArray<NumberedEvent<StreamedEvent>>) {
    for (const { number, event: streamed } of events) {
      const { event, person: onlyPerson } = streamed;
      lastNumber = number;
      const json = JSON.stringify(event);
      keep({ number, json, person: onlyPerson });
      const frame = frameOf(json, number);
      for (const [response, person] of readers) {
        if (onlyPerson === undefined || onlyPerson === person) writeEvents(response, frame);
      }
    }
  }

  async function beginAnew(number: number) {
    await following?.listener.missed();
    lastNumber = number;
    kept.length = 0;
    keptCharacters = 0;
    for (const [response, person] of readers) writeEvents(response, beginning(person));
  }

  /** The number of an event that a browser has heard; `undefined` when it is none of this log. */
  function numberIn(lastEventId: string | undefined): number | undefined {
    const [ofLog, number = ''] = lastEventId?.split('-') ?? [];
    return ofLog === logId && /^\d{1,15}$/.test(number) ? Number(number) : undefined;
  }

  /** Waits until this process has heard what a browser has heard at another one. */
  async function catchUp(number: number) {
    const untilMs = performance.now() + CATCH_UP_MS;
    while (number > lastNumber && performance.now() < untilMs) await pause(20);
  }

  /** What a browser missed; `undefined` when that cannot be known any more. */
  function missed(person: string, after: number): string | undefined {
    const firstKept = kept[0]?.number ?? lastNumber + 1;
    if (after > lastNumber || after < firstKept - 1) return undefined;
    return kept
      .filter((entry) => entry.number > after)
      .filter((entry) => entry.person === undefined || entry.person === person)
      .map((entry) => frameOf(entry.json, entry.number))
      .join('');
  }

  const append = (event: ConsoleEvent, person: string | undefined, isStill?: () => boolean) =>
    log.append({ event, ...(person !== undefined && { person }) }, isStill);

  return {
    /** Begins to tell browsers what all processes tell. To be called before there are any. */
    async follow(listener: EventListener) {
      following = { listener, stop() {} };
      const followed = await log.follow({
        told(events) {
          const others = events.filter(({ isOwn }) => !isOwn).map(({ event }) => event);
          if (others.length === 0) return sendAll(events);
          return listener.heard(others).then(() => sendAll(events));
        },
        missed: beginAnew,
      });
      logId = followed.id.slice(0, 8);
      lastNumber = followed.lastNumber;
      following = { listener, stop: followed.stop };
    },
    /**
     * Answers a request with the stream: what was missed since the event `lastEventId`, or, when that is unknown, the
     * snapshot. Ask `hasRoom` before the answer's head is written.
     */
    async open(
      response: ServerResponse,
      { person, lastEventId }: { person: string; lastEventId: string | undefined },
    ) {
      response.write(`retry: ${RETRY_MS}\n\n`);
      const after = numberIn(lastEventId);
      if (after !== undefined && after > lastNumber) await catchUp(after);
      if (closed) return void response.end();
      if (response.destroyed) return;
      const news = after === undefined ? undefined : missed(person, after);
      response.write(news ?? beginning(person));
      readers.set(response, person);
      response.on('close', () => readers.delete(response));
    },
    /** Sends to everyone, or to all tabs of one person only, whichever process they came to. */
    send(event: ConsoleEvent, onlyPerson?: string) {
      void append(event, onlyPerson);
    },
    /**
     * The same; resolves once they will hear it, also when this process dies: before that, nothing counts as shown. While it
     * cannot be stored, that takes no longer than a stop may. Nothing is sent once it is another process that `isOurs` says
     * shows it. Never rejects.
     */
    async tell(
      event: ConsoleEvent,
      { to, isOurs }: { to?: string; isOurs?: (() => boolean) | undefined } = {},
    ): Promise<void> {
      const late = pause(STORED_WITHIN_MS, undefined, { ref: false });
      await Promise.race([append(event, to, isOurs), late]);
    },
    /** Whether a tab of this person is open at this process. */
    hasReader: (person: string) => [...readers.values()].includes(person),
    /** False when too many streams are open, or the console has stopped. */
    hasRoom: () => !closed && readers.size < MAX_STREAMS,
    /** Ends all streams and takes no more. */
    close() {
      closed = true;
      clearInterval(heartbeat);
      following?.stop();
      for (const response of readers.keys()) response.end();
      readers.clear();
    },
  };
}
