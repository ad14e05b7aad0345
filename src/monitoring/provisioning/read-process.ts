import { serveReader } from '../../contracts/reader-process.ts';
import { type FileMonitor, type ReadingContext, readDefinitions } from './definitions.ts';
import { DefinitionsError, type FileProblem } from './problem.ts';
import { readSourceFiles } from './source-files.ts';

export interface ReadTask {
  path: string;
  context: ReadingContext;
}

/** Monitors are sent in pieces, because receiving ten thousand at once would block the program. */
export type ReadMessage =
  | { kind: 'monitors'; monitors: FileMonitor[] }
  | { kind: 'problems'; problems: readonly FileProblem[] };

const PIECE = 250;

serveReader<ReadTask, ReadMessage>(async ({ path, context }, send) => {
  try {
    const monitors = await readDefinitions(await readSourceFiles(path), context);
    for (let at = 0; at < monitors.length; at += PIECE) {
      await send({ kind: 'monitors', monitors: monitors.slice(at, at + PIECE) });
    }
  } catch (error) {
    if (!(error instanceof DefinitionsError)) throw error;
    await send({ kind: 'problems', problems: error.problems });
  }
});
