import { runReader } from '../../contracts/reader-process.ts';
import type { FileMonitor, ReadingContext } from './definitions.ts';
import { DefinitionsError, type FileProblem } from './problem.ts';
import type { ReadMessage, ReadTask } from './read-process.ts';

/** With the program this fits into 512 MiB. */
const LIMITS = { timeMs: 60_000, memoryMb: 256, heapMb: 192 } as const;

/** A file or folder of monitors, with the context it is read in; variables come from this process. */
export interface MonitorsFile extends Omit<ReadingContext, 'env'> {
  path: string;
  /** The built program that reads; the file next to this one when absent. */
  program?: URL;
}

/**
 * Reads a file or folder of monitors in a process of its own, because a hostile or large one takes much memory and time. Throws a
 * `DefinitionsError` with all problems.
 */
export async function readMonitorsFile(
  {
    path,
    program = new URL('./monitors-file-process.js', import.meta.url),
    ...settings
  }: MonitorsFile,
  signal?: AbortSignal,
): Promise<FileMonitor[]> {
  const taboo = new Set(settings.taboo);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !taboo.has(name)));
  const task: ReadTask = { path, context: { ...settings, env } };
  const monitors: FileMonitor[] = [];
  let problems: readonly FileProblem[] = [];
  const end = await runReader<ReadMessage>({
    program,
    task,
    limits: LIMITS,
    signal,
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
