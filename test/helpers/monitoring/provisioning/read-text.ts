import {
  type ReadingContext,
  readDefinitions,
  type SourceFile,
} from '../../../../src/monitoring/provisioning/definitions.ts';
import { DefinitionsError } from '../../../../src/monitoring/provisioning/problem.ts';

/** Reads texts as files of monitors: what they declare, or what is wrong with them. */
export async function readTexts(
  texts: Record<string, string>,
  context: Partial<ReadingContext> = {},
) {
  const files = Object.entries(texts).map(([name, text]): SourceFile => ({ name, text }));
  const all = { env: {}, taboo: [], allowPrivate: [], platforms: ['slack', 'discord'], ...context };
  try {
    return { monitors: await readDefinitions(files, all), problems: [] };
  } catch (error) {
    if (!(error instanceof DefinitionsError)) throw error;
    return { monitors: [], problems: error.problems };
  }
}
