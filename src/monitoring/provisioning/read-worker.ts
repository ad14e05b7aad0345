import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { type ReadingContext, readDefinitions, type WantedMonitor } from './definitions.ts';
import { DefinitionsError, type Problem } from './problem.ts';
import { readSourceFiles } from './source-files.ts';

/** What the thread is given, and what it tells: monitors in pieces, since taking over ten thousand at once takes a while. */
export interface ReadTask {
  path: string;
  context: Omit<ReadingContext, 'env'>;
}
export type ReadTold =
  | { kind: 'monitors'; monitors: WantedMonitor[] }
  | { kind: 'end'; hash: string }
  | { kind: 'problems'; problems: readonly Problem[] };

const PIECE = 250;

const tell = (told: ReadTold) => parentPort?.postMessage(told);

async function read({ path, context }: ReadTask): Promise<void> {
  const hash = createHash('sha256');
  try {
    const files = await readSourceFiles(path);
    for (const { name, text } of files) hash.update(JSON.stringify([name, text]));
    const monitors = await readDefinitions(files, { ...context, env: process.env });
    for (let at = 0; at < monitors.length; at += PIECE) {
      tell({ kind: 'monitors', monitors: monitors.slice(at, at + PIECE) });
    }
    tell({ kind: 'end', hash: hash.digest('hex') });
  } catch (error) {
    if (!(error instanceof DefinitionsError)) throw error;
    tell({ kind: 'problems', problems: error.problems });
  }
}

await read(workerData as ReadTask);
