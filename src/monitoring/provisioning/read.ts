import { runReader } from '../../contracts/reader-process.ts';
import type { ReadingContext, WantedMonitor } from './definitions.ts';
import { DefinitionsError, type Problem } from './problem.ts';
import type { ReadMessage, ReadTask } from './read-process.ts';

/** With the program this fits into 512 MiB. */
const LIMITS = { timeMs: 60_000, memoryMb: 256, heapMb: 192 } as const;

/** What a file or folder of monitors is read with; variables are those of this process. */
export interface MonitorsFile extends Omit<ReadingContext, 'env'> {
  path: string;
  /** The built program that reads; the file next to this one when absent. */
  program?: URL | undefined;
}

/**
 * Reads a file or folder of monitors in a process of its own, because a hostile or large one takes much memory and time. Throws a
 * `DefinitionsError` with all that is wrong.
 */
export async function readMonitorsFile(
  {
    path,
    program = new URL('./monitors-file-process.js', import.meta.url),
    ...given
  }: MonitorsFile,
  signal?: AbortSignal,
): Promise<WantedMonitor[]> {
  const taboo = new Set(given.taboo);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !taboo.has(name)));
  const task: ReadTask = { path, context: { ...given, env } };
  const monitors: WantedMonitor[] = [];
  let problems: readonly Problem[] = [];
  const end = await runReader<ReadMessage>({
    ...{ program, task, limits: LIMITS, signal },
    onMessage(message) {
      if (message.kind === 'monitors') monitors.push(...message.monitors);
      else ({ problems } = message);
    },
  });
  if (end !== 'done') problems = [{ file: path, line: 1, column: 1, message: TOO_MUCH[end] }];
  if (problems.length > 0) throw new DefinitionsError(problems);
  return monitors;
}

const TOO_MUCH = {
  time: `reading it takes longer than ${LIMITS.timeMs / 1000} s; declare fewer monitors`,
  memory: `reading it takes more than ${LIMITS.memoryMb} MB of memory; declare fewer monitors`,
} as const;
