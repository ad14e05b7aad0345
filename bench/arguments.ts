import { parseArgs } from 'node:util';
import type { Area } from './shared/area.ts';

export interface BenchRequest {
  /** Name of an area, or `all`. */
  area: string;
  quick: boolean;
  only?: string;
  beside?: string;
  /** A file with an earlier run. */
  against?: string;
  json: boolean;
  profile: boolean;
  verbose: boolean;
}

/** Every area, one after the other. */
export const ALL = 'all';

type Areas = ReadonlyMap<string, Pick<Area, 'measures' | 'peers'>>;

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  beside: { type: 'string' },
  against: { type: 'string' },
  json: { type: 'boolean', default: false },
  profile: { type: 'boolean', default: false },
  verbose: { type: 'boolean', default: false },
} as const;

/** Reads the words of the command line. Throws an error for people, with the usage, when they make no sense. */
export function readArguments(words: readonly string[], areas: Areas): BenchRequest {
  const refuse = (why: string) => new Error(`${why}\n\n${usage(areas)}`);
  const { values, positionals } = parse(words, refuse);
  const [area, ...more] = positionals;
  if (area === undefined) throw refuse('An area is missing.');
  if (more.length > 0) throw refuse(`One area at a time, or all of them by '${ALL}'.`);
  const { measures = [], peers = [] } = areas.get(area) ?? {};
  if (area !== ALL && !areas.has(area)) throw refuse(`There is no area '${area}'.`);
  const { only, beside } = values;
  if (only !== undefined && !measures.includes(only)) {
    throw refuse(`${area} has no measure '${only}'.`);
  }
  if (beside !== undefined && !peers.includes(beside)) {
    throw refuse(`${area} cannot be measured beside '${beside}'.`);
  }
  return { ...values, area };
}

function parse(words: readonly string[], refuse: (why: string) => Error) {
  try {
    return parseArgs({ args: [...words], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw refuse((error as Error).message);
  }
}

function usage(areas: Areas): string {
  const lines = [...areas].map(([name, { measures, peers = [] }]) => {
    const beside = peers.length > 0 ? `; beside ${peers.join(', ')}` : '';
    return `Area ${name}: ${measures.join(', ')}${beside}`;
  });
  return `Usage: npm run bench -- <area>|${ALL} [options]

  --quick           fewer and shorter passes
  --only <measure>  one measure alone
  --beside <peer>   another program of the same kind in the same run
  --json            the figures as JSON on standard output, for --against
  --against <file>  how the figures are to those of an earlier run
  --profile         with CPU profiles of what is measured, in a folder that is kept
  --verbose         with every reading

${lines.join('\n')}
`;
}
