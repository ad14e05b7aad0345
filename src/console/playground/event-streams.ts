import type { ServerResponse } from 'node:http';
import type { ConsoleEvent, ConsoleSnapshot } from '../shared/api-types.ts';
import { keepAlive, writeEvents } from '../shared/event-stream.ts';

const MAX_STREAMS = 64;

/** The browser's pause before it reconnects. */
const RETRY_MS = 1_000;

export type EventStreams = ReturnType<typeof createEventStreams>;

/**
 * The open event streams of all browsers. Each begins with a snapshot, also after a lost connection, so no event has to be kept.
 * Nothing is sent while this process doesn't hold the bot.
 */
export function createEventStreams({ isHeld }: { isHeld(): boolean }) {
  const readers = new Map<ServerResponse, string>();
  let isClosed = false;
  let heartbeat: NodeJS.Timeout | undefined;

  return {
    /** Call `hasRoom` before you write the response's head. */
    open(response: ServerResponse, person: string, snapshot: ConsoleSnapshot) {
      heartbeat ??= keepAlive(() => readers.keys());
      response.write(`retry: ${RETRY_MS}\n\n`);
      response.write(frameOf(snapshot));
      readers.set(response, person);
      response.on('close', () => readers.delete(response));
    },
    send(event: ConsoleEvent, onlyPerson?: string) {
      if (!isHeld()) return;
      const frame = frameOf(event);
      for (const [response, person] of readers) {
        if (onlyPerson === undefined || onlyPerson === person) writeEvents(response, frame);
      }
    },
    hasReader: (person: string) => [...readers.values()].includes(person),
    /** False when too many streams are open, or the console has stopped. */
    hasRoom: () => !isClosed && readers.size < MAX_STREAMS,
    close() {
      isClosed = true;
      clearInterval(heartbeat);
      for (const response of readers.keys()) response.end();
      readers.clear();
    },
  };
}

const frameOf = (event: ConsoleEvent) => `data: ${JSON.stringify(event)}\n\n`;
