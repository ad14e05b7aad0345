import { setTimeout as pause } from 'node:timers/promises';
import type { AskedBed, Question } from './questions.ts';

/** Many answers under way, each in a channel of its own. */
export interface Flight {
  questions: Question[];
  /** Throws unless every answer is still being written. */
  check(): void;
  /** Lets the model finish, and waits until all is shown. */
  land(): Promise<void>;
}

export const IN_FLIGHT = 200;

/** Two minutes at the pace below, in two messages at most: longer than any flight. */
const CHUNKS = Array.from({ length: 240 }, () => 'two words, ');
const CHUNK_MS = 500;

/** Pause between commands: forty per second. */
const APART_MS = 25;

/** Does something so often, at a steady rate; a late answer holds up nobody. */
export async function steadily<T>(
  count: number,
  act: () => Promise<T>,
  apartMs = APART_MS,
): Promise<T[]> {
  const startMs = performance.now();
  const under: Array<Promise<T>> = [];
  for (let at = 0; at < count; at += 1) {
    const waitMs = startMs + at * apartMs - performance.now();
    if (waitMs > 0) await pause(waitMs);
    under.push(act());
  }
  return await Promise.all(under);
}

/** Asks, and waits until every answer has begun. */
export async function takeOff(bed: AskedBed): Promise<Flight> {
  bed.pace(CHUNK_MS);
  const questions = await steadily(IN_FLIGHT, () => bed.ask({ chunks: CHUNKS }));
  const calls = () => questions.map(bed.callOf);
  await bed.until('answers to begin', () => calls().every((call) => (call?.sentChunks ?? 0) > 1));
  return {
    questions,
    check() {
      const over = calls().filter((call) => !call || call.finished || call.aborted);
      if (over.length > 0) throw new Error(`${over.length} answers ended while it was measured.`);
    },
    async land() {
      bed.pace(0);
      await bed.shown(questions);
    },
  };
}
