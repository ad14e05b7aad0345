import { z } from 'zod';
import { oneLine } from '../../contracts/one-line.ts';
import { parseUntrustedJson } from '../../contracts/parse-json.ts';
import { unfoundedFigures } from '../ask/unfounded-figures.ts';
import { unfoundedNames } from '../ask/unfounded-names.ts';
import { CommandError } from '../shared/errors.ts';
import { shortened } from '../shared/text-format.ts';
import type { FoundFact } from './found-fact.ts';

/** How sure a conclusion is, in words for people. */
export const CONFIDENCE = { high: 'Very likely', medium: 'Likely', low: 'Possibly' } as const;

/** A model's answer. Everything in it is unchecked. */
const ModelConclusion = z.object({
  cause: z.string(),
  confidence: z.enum(['high', 'medium', 'low']).catch('low'),
  evidence: z
    .array(z.object({ fact: z.string(), quote: z.string().optional() }))
    .max(50)
    .catch([]),
  ruled_out: z
    .array(z.object({ what: z.string(), fact: z.string() }))
    .max(50)
    .catch([]),
  next_step: z.string().catch(''),
  not_seen: z.array(z.string()).max(50).catch([]),
});

/** The result of a model's call of a tool: `T1` for the first one. */
export interface ToolFact {
  id: string;
  /** The tool's title. */
  title: string;
  /** JSON, unless the model wrote something else. */
  input: string;
  result: string;
  atMs: number;
  url?: string;
}

/** A model's conclusion, with only the parts that look-ups back. */
export interface Conclusion {
  /** `undefined` if no evidence is left for it: then it isn't shown. */
  cause?: string;
  confidence: keyof typeof CONFIDENCE;
  /** The look-ups' own words. */
  evidence: Array<Omit<FoundFact, 'id'>>;
  ruledOut: Array<Omit<FoundFact, 'id'>>;
  nextStep?: string;
  notSeen: string[];
  /** Figures and names in the model's words that no look-up returned. */
  unbacked: string[];
}

const MAX_EVIDENCE = 6;
const MAX_RULED_OUT = 3;
const MAX_NOT_SEEN = 4;
const MAX_CAUSE = 160;
const MAX_STEP = 200;
const MAX_QUOTE = 200;
const MIN_QUOTE = 4;

/**
 * Reads a model's JSON and keeps what look-ups back: evidence by the id of a fact, and quotes that the result of a tool
 * contains. Throws a `CommandError` for a text without a conclusion. Pure.
 */
export function readConclusion(
  text: string,
  {
    facts,
    tools,
    runbook = '',
  }: { facts: readonly FoundFact[]; tools: readonly ToolFact[]; runbook?: string },
): Conclusion {
  const said = parsedConclusion(text);
  const factById = new Map(facts.map(({ id, ...fact }) => [id, fact]));
  const evidence = said.evidence
    .map(({ fact, quote }) => factById.get(fact.trim()) ?? quotedFact(tools, fact.trim(), quote))
    .filter((one) => one !== undefined);
  const others = said.ruled_out
    .map(({ what, fact }) => ({ what: unlinked(what, 80), found: factById.get(fact.trim()) }))
    .filter(({ found }) => found)
    .slice(0, MAX_RULED_OUT);
  const cause = unlinked(said.cause, MAX_CAUSE);
  const nextStep = unlinked(said.next_step, MAX_STEP);
  const notSeen = said.not_seen.map((one) => unlinked(one, 80)).filter((one) => one !== '');
  const words = [cause, nextStep, ...others.map(({ what }) => what), ...notSeen].join('\n');
  const sources = [...facts.map(textWithTime), ...tools.map(({ result }) => result), runbook];
  const names = unfoundedNames(words, sources).map((name) => `“${name}”`);
  const isFound = cause !== '' && evidence.length > 0;
  return {
    cause: isFound ? cause : undefined,
    confidence: said.confidence,
    evidence: unique(evidence).slice(0, MAX_EVIDENCE),
    ruledOut: others.map(({ what, found }) => ({ ...found, text: `${what} (${found?.text})` })),
    nextStep: nextStep === '' ? undefined : nextStep,
    notSeen: notSeen.slice(0, MAX_NOT_SEEN),
    unbacked: [...names, ...unfoundedFigures(words, sources)],
  };
}

/** A fact as a model reads it. Pure. */
export const textWithTime = ({ text, atMs }: Omit<FoundFact, 'id'>) =>
  atMs === undefined ? text : `${new Date(atMs).toISOString().slice(0, 19)}Z ${text}`;

function parsedConclusion(text: string): z.infer<typeof ModelConclusion> {
  const json = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  try {
    return ModelConclusion.parse(parseUntrustedJson(json));
  } catch {
    throw new CommandError('The model’s answer had no conclusion that Askwatch could read.');
  }
}

/** A quote from the result of a tool; `undefined` if the result doesn't contain it, or may have it from the model. */
function quotedFact(
  tools: readonly ToolFact[],
  id: string,
  quote: string | undefined,
): Omit<FoundFact, 'id'> | undefined {
  const tool = tools.find((one) => one.id === id);
  const inputs = tools.map(({ input }) => input).join('\n');
  const words = oneLine((quote ?? '').slice(0, MAX_QUOTE));
  if (!tool || words.length < MIN_QUOTE) return undefined;
  const isIn = (text: string) => squeezed(text).includes(squeezed(words));
  if (!isIn(tool.result) || isIn(inputs)) return undefined;
  return { text: `${words} (${tool.title})`, atMs: tool.atMs, url: tool.url };
}

/** Models change white space, and results are JSON, whose quotes are escaped. */
const squeezed = (text: string) =>
  text
    .replace(/\\[nrt]/g, ' ')
    .replace(/[\s\\"'“”‘’`]+/g, ' ')
    .toLowerCase();

const line = (text: string, max: number) => shortened(oneLine(text.slice(0, 2 * max)), max);

/** A scheme with all colons and slashes around, so that none is left to form another one. */
const SCHEME = /(?:[a-z][a-z\d+.-]{0,20})?[:/]*:\/\/[:/]*/gi;

/** The model's own words. Without its scheme, an address that it repeats from a hostile text is no link. */
const unlinked = (text: string, max: number) =>
  line(text.slice(0, 2 * max).replace(SCHEME, ''), max);

const unique = <T extends { text: string }>(all: readonly T[]): T[] => [
  ...new Map(all.map((one) => [one.text, one])).values(),
];
