import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { orAborted } from './or-aborted.ts';

/** Limits of one reader process. `memoryMb` is its resident memory, `heapMb` the part of that for JavaScript objects. */
export interface ReaderLimits {
  timeMs: number;
  memoryMb: number;
  heapMb: number;
}

/** How a reader process ended: it read everything, or which limit it reached. */
export type ReaderEnd = 'done' | 'time' | 'memory';

/** Characters of a failed reader's error output that are quoted. */
const MAX_ERROR_OUTPUT = 2_000;

/** Readers run one after another: the memory of two might not fit beside the program. */
let queue: Promise<unknown> = Promise.resolve();

/**
 * Reads untrusted data in a process of its own, because only its end gives back all the memory it took. It inherits no variables, and
 * ends at its limits, with the signal and with this process. Rejects with the signal's reason, or the reader's error output.
 */
export function runReader<Message>(options: {
  /** A built file that calls `serveReader`. */
  program: URL;
  task: unknown;
  limits: ReaderLimits;
  signal?: AbortSignal;
  onMessage: (message: Message) => void;
}): Promise<ReaderEnd> {
  const turn = queue;
  const waited = options.signal ? orAborted(turn, options.signal) : turn;
  const run = waited.then(() => forkReader(options));
  queue = Promise.allSettled([turn, run]);
  return run;
}

function forkReader<Message>({
  program,
  task,
  limits,
  signal,
  onMessage,
}: Parameters<typeof runReader<Message>>[0]): Promise<ReaderEnd> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const child = fork(
      fileURLToPath(program),
      [String(process.pid), String(limits.memoryMb * 1_048_576)],
      {
        env: {},
        execArgv: [`--max-old-space-size=${limits.heapMb}`, '--max-semi-space-size=8'],
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      },
    );
    let isLate = false;
    let errorOutput = '';
    const timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, limits.timeMs);
    const onAbort = () => child.kill('SIGKILL');
    signal?.addEventListener('abort', onAbort);
    child.stderr?.on('data', (piece: Buffer) => {
      if (errorOutput.length < MAX_ERROR_OUTPUT) errorOutput += piece;
    });
    child.on('message', (message) => onMessage(message as Message));
    const settle = (act: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      act();
    };
    child.on('error', (error) => settle(() => reject(error)));
    child.on('close', (code, killedBy) => {
      settle(() => {
        if (signal?.aborted) reject(signal.reason);
        else if (code === 0) resolve('done');
        else if (isLate) resolve('time');
        else if (killedBy === 'SIGKILL' || killedBy === 'SIGABRT') resolve('memory');
        else reject(new Error(`a reader process ended: ${errorOutput.slice(0, MAX_ERROR_OUTPUT)}`));
      });
    });
    // A reader that ended before it took the task is reported by 'close'.
    child.send(task as object, () => {});
  });
}

/** Kills its process with the parent, and above its memory. A thread, because the reader itself may be busy for seconds. */
const WATCHDOG = `
const [parent, maxBytes] = process.argv.slice(2).map(Number);
setInterval(() => {
  if (process.ppid !== parent || process.memoryUsage.rss() > maxBytes) process.kill(process.pid, 'SIGKILL');
}, 20);`;

/** Serves one task in a process that `runReader` started, then ends the process. `send` waits until the parent can take more. */
export function serveReader<Task, Message>(
  read: (task: Task, send: (message: Message) => Promise<void>) => Promise<void>,
): void {
  new Worker(WATCHDOG, { eval: true, argv: process.argv.slice(2) }).unref();
  try {
    // Linux kills the process with the highest score first when memory runs out.
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Other systems have no such file; there the watchdog alone limits memory.
  }
  const send = (message: Message) =>
    new Promise<void>((resolve, reject) => {
      process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
    });
  process.once('message', async (task) => {
    await read(task as Task, send);
    process.exit(0);
  });
}
