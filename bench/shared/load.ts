import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createMessageReader } from './message-reader.ts';

/** One request, asked over and over. */
export interface LoadOptions {
  port: number;
  connections: number;
  /** Head and body. */
  request: Buffer;
  /** Returns the error in a response body; `first` is true once per connection. */
  problemOf(body: Buffer, first: boolean): string | undefined;
  /** Between the starts of two connections, so that paced answers do not march in step. */
  staggerMs?: number;
}

/** Responses since the last reading. */
export interface Tally {
  answered: number;
  latenciesMs: number[];
  /** From the request to the first byte of each body. */
  firstBytesMs: number[];
}

/** A closed loop: each connection asks again as soon as its answer is whole. */
export interface Load {
  /** Answers since the last `take`. */
  answered(): number;
  /** The tally since the last call. */
  take(): Tally;
  /** Lets answers under way end, and closes the connections. Throws when any answer was wrong. */
  close(): Promise<void>;
}

/** An answer was wrong, late or cut. */
export class WrongAnswerError extends Error {
  override name = 'WrongAnswerError' as const;
}

const READ_BYTES = 64 * 1024;
const LONGEST_BODY_BYTES = 1024 * 1024;
const DRAIN_LIMIT_MS = 10_000;
/** Wrong responses that are reported at most. */
const PROBLEM_LIMIT = 50;

const newTally = (): Tally => ({ answered: 0, latenciesMs: [], firstBytesMs: [] });

/** Opens the connections and starts to ask. Throws when one is refused. */
export async function startLoad(options: LoadOptions): Promise<Load> {
  const { port, connections, request, problemOf, staggerMs = 0 } = options;
  let tally = newTally();
  let stopping = false;
  const problems: string[] = [];

  function complain(problem: string) {
    problems.push(problem);
    if (problems.length >= PROBLEM_LIMIT) stopping = true;
  }

  async function open() {
    let status = '';
    let body = Buffer.allocUnsafe(16 * 1024);
    let length = 0;
    let startedMs = 0;
    let firstByteMs = 0;
    let waiting = false;
    let first = true;

    function ask() {
      length = 0;
      firstByteMs = 0;
      waiting = true;
      startedMs = performance.now();
      socket.write(request);
    }

    const read = createMessageReader({
      head(text) {
        status = text.slice(9, 12);
      },
      body(bytes) {
        if (length === 0) firstByteMs = performance.now();
        const needed = length + bytes.length;
        if (needed > LONGEST_BODY_BYTES) throw new Error('the answer does not end');
        if (needed > body.length) body = Buffer.concat([body], 2 ** Math.ceil(Math.log2(needed)));
        bytes.copy(body, length);
        length = needed;
      },
      end() {
        const endedMs = performance.now();
        waiting = false;
        const whole = body.subarray(0, length);
        const problem =
          status === '200'
            ? problemOf(whole, first)
            : `status ${status}: ${whole.toString('utf8', 0, 200)}`;
        first = false;
        if (problem === undefined) {
          tally.answered += 1;
          tally.latenciesMs.push(endedMs - startedMs);
          tally.firstBytesMs.push(firstByteMs - startedMs);
        } else complain(problem);
        if (stopping) socket.end();
        else ask();
      },
    });

    const socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      // One buffer for all reads of the connection: the load shall cost little beside what it loads.
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback(size, buffer) {
          try {
            read((buffer as Buffer).subarray(0, size));
          } catch (error) {
            complain(error instanceof Error ? error.message : String(error));
            socket.destroy();
          }
          return true;
        },
      },
    });
    await once(socket, 'connect');
    const closed = new Promise<void>((resolve) => {
      socket.on('error', () => socket.destroy());
      socket.once('close', () => {
        if (waiting) complain('the connection was closed before the answer was whole');
        else if (!stopping) complain('the connection was closed between two answers');
        resolve();
      });
    });
    return { ask, closed, socket, isWaiting: () => waiting };
  }

  const opened = await Promise.all(Array.from({ length: connections }, open));
  const starts = opened.map(({ ask }, at) => setTimeout(ask, at * staggerMs));

  return {
    answered: () => tally.answered,
    take() {
      const taken = tally;
      tally = newTally();
      return taken;
    },
    async close() {
      stopping = true;
      for (const start of starts) clearTimeout(start);
      for (const { socket, isWaiting } of opened) if (!isWaiting()) socket.end();
      const late = new AbortController();
      const inTime = Promise.all(opened.map(({ closed }) => closed)).then(() => true);
      const limit = pause(DRAIN_LIMIT_MS, false, { signal: late.signal }).catch(() => false);
      if (!(await Promise.race([inTime, limit]))) complain('an answer did not come in time');
      late.abort();
      for (const { socket } of opened) socket.destroy();
      if (problems.length > 0) throw new WrongAnswerError(summary(problems));
    },
  };
}

function summary(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return `wrong answers (${problems.length}): ${distinct.slice(0, 5).join('; ')}`;
}
