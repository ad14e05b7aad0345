import { parseArgs } from 'node:util';
import { TAGS } from './cases/case.ts';
import { CAUSE_KINDS } from './incidents/case.ts';

export interface EvalsRequest {
  model: string;
  /** A gateway other than Askwatch's own. */
  gateway?: { baseUrl: string; apiKey: string };
  judge?: string;
  tries: number;
  /** Only cases with one of these; all when empty. */
  tags: string[];
  /** Only this case. */
  only?: string;
  out?: string;
  /** Investigations of incidents, whose tags are kinds of causes, instead of questions. */
  incidents: boolean;
}

const OPTIONS = {
  model: { type: 'string' },
  gateway: { type: 'string' },
  key: { type: 'string' },
  judge: { type: 'string' },
  tries: { type: 'string', default: '3' },
  tag: { type: 'string', multiple: true, default: [] as string[] },
  case: { type: 'string' },
  out: { type: 'string' },
  add: { type: 'boolean', default: false },
  incidents: { type: 'boolean', default: false },
} as const;

const USAGE = `Usage: npm run evals -- --model <id> [options]

  --judge <id>            the model that judges what code cannot; without it that is reported as not judged
  --gateway <url>         a gateway other than Askwatch's, with --key <key>
  --tries <n>             how often each case is asked; 3
  --tag <tag>             only cases with it, or with another one that is named: ${TAGS.join(', ')}
  --case <id>             one case alone
  --out <file.json>       keeps results as they come; a run that was interrupted goes on from it

npm run evals -- --incidents --model <id> [options]
                          investigates incidents with known causes; tags are ${CAUSE_KINDS.join(', ')}

npm run evals -- --add    reads lines of feedback and writes drafts of cases
`;

/** Reads the words of the command line. Throws an error for people, with the usage, when they make no sense. */
export function readArguments(words: readonly string[]): EvalsRequest | 'add' {
  const refuse = (why: string) => new Error(`${why}\n\n${USAGE}`);
  const { add, incidents, model, gateway, key, judge, tries, ...rest } = parse(words, refuse);
  const { tag, case: only, out } = rest;
  if (add) return 'add';
  if (model === undefined) throw refuse('A model is missing.');
  if ((gateway === undefined) !== (key === undefined)) {
    throw refuse('--gateway and --key go together.');
  }
  const times = Number(tries);
  if (!Number.isInteger(times) || times < 1) throw refuse(`'${tries}' isn't a number of tries.`);
  const tags: readonly string[] = incidents ? CAUSE_KINDS : TAGS;
  const unknown = tag.filter((one) => !tags.includes(one));
  if (unknown.length > 0) throw refuse(`There is no tag '${unknown[0]}'.`);
  return {
    model,
    ...(gateway !== undefined &&
      key !== undefined && { gateway: { baseUrl: gateway, apiKey: key } }),
    judge,
    tries: times,
    tags: tag,
    ...{ only, out, incidents },
  };
}

function parse(words: readonly string[], refuse: (why: string) => Error) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS }).values;
  } catch (error) {
    throw refuse((error as Error).message);
  }
}
