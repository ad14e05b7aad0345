import { Worker } from 'node:worker_threads';
import type { ReadingContext, WantedMonitor } from './definitions.ts';
import { DefinitionsError, type Problem } from './problem.ts';
import type { ReadTask, ReadTold } from './read-worker.ts';

/** For all that files may hold; beyond it the thread is ended. */
const LIMITS = { timeMs: 60_000, memoryMb: 1024 } as const;

/** What was read of a file or folder. */
export interface Definitions {
  monitors: WantedMonitor[];
  /** Of what stands in it. */
  hash: string;
}

/** Reads a file or folder of monitors. Throws a `DefinitionsError` with all that is wrong. */
export type ReadMonitorsFile = (signal?: AbortSignal) => Promise<Definitions>;

/**
 * Reads in a thread of its own, because a large file takes a second of work. Its program lies beside this one unless `workerUrl` says
 * where; it has the variables of this process.
 */
export function createFileReader({
  path,
  context,
  workerUrl = new URL('./monitors-file-worker.js', import.meta.url),
}: {
  path: string;
  context: Omit<ReadingContext, 'env'>;
  workerUrl?: URL | undefined;
}): ReadMonitorsFile {
  return async (signal) => {
    const task: ReadTask = { path, context };
    const worker = new Worker(workerUrl, {
      workerData: task,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: LIMITS.memoryMb },
    });
    try {
      return await told(worker, path, signal);
    } finally {
      await worker.terminate();
    }
  };
}

function told(worker: Worker, path: string, signal: AbortSignal | undefined) {
  return new Promise<Definitions>((resolve, reject) => {
    const monitors: WantedMonitor[] = [];
    const refuse = (message: string) => reject(new DefinitionsError([wholeFile(path, message)]));
    const timer = setTimeout(
      () => refuse(`reading it takes longer than ${LIMITS.timeMs / 1000} s; write fewer monitors`),
      LIMITS.timeMs,
    );
    const onAbort = () => reject(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    const settled = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    worker.on('message', (message: ReadTold) => {
      if (message.kind === 'monitors') {
        monitors.push(...message.monitors);
        return;
      }
      settled();
      if (message.kind === 'end') resolve({ monitors, hash: message.hash });
      else reject(new DefinitionsError(message.problems));
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      settled();
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
        refuse(`it takes more than ${LIMITS.memoryMb} MB of memory to read; write fewer monitors`);
      } else reject(error);
    });
    worker.on('exit', () => {
      settled();
      refuse('reading it broke off; try again');
    });
  });
}

const wholeFile = (file: string, message: string): Problem => ({
  ...{ file, line: 1, column: 1 },
  message,
});
