import { parseUntrustedJson } from '../../contracts/parse-json.ts';
import { parsePlace } from '../shared/place.ts';
import type { Case, Feedback } from './feedback.ts';

/** Which rated answers are exported. */
export interface ExportQuery {
  /** First rating, Unix time. */
  sinceMs?: number;
  /** Only answers with a bad rating. */
  down?: boolean;
}

/** Characters with a meaning in terminals or code: U+0080 to 9F, line ends, directions of writing. */
const NOT_PLAIN = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** User name and password in an address. */
const CREDENTIALS = /(:\/\/)[^\s/"\\]+@/g;

/**
 * Rated answers as lines of JSON, oldest first, without people, places and threads: learning from them doesn't need those.
 * `redact` replaces secrets in a line.
 */
export async function* exportedLines(
  feedback: Pick<Feedback, 'since'>,
  { sinceMs = 0, down = false }: ExportQuery,
  redact: (line: string) => string,
): AsyncGenerator<string> {
  for (const { id, document } of await feedback.since(sinceMs)) {
    const line = lineOf(id, document);
    if (down && line.down === 0) continue;
    const text = redact(JSON.stringify(line)).replace(CREDENTIALS, '$1[secret]@');
    yield `${text.replace(NOT_PLAIN, escaped)}\n`;
  }
}

const escaped = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One line. `question` is absent if only the ratings are stored: the answer was private, or no texts are kept. */
function lineOf(id: string, { place, thread, ratings, model, times, atMs, said }: Case) {
  const all = Object.values(ratings);
  const bad = all.filter(({ as }) => as === 'bad');
  const wrong = bad.flatMap(({ reason, what }) =>
    reason === undefined && what === undefined ? [] : [{ reason, what }],
  );
  const { askedAtMs, firstTextAtMs, wholeAtMs } = times;
  return {
    id,
    ratedAt: inIso(atMs),
    platform: parsePlace(place)?.platform,
    ...(thread === undefined && { private: true }),
    model,
    up: all.filter(({ as }) => as === 'good').length,
    down: bad.length,
    ...(wrong.length > 0 && { wrong }),
    ...(said && {
      question: said.question,
      answer: said.answer,
      tools: said.calls.map(({ tool }) => tool),
      calls: said.calls.map(({ input, result, ...call }) => ({
        ...call,
        input: parsed(input),
        result: parsed(result),
      })),
      ...(said.isCut && { cut: true }),
    }),
    askedAt: inIso(askedAtMs),
    firstTextAt: inIso(firstTextAtMs),
    wholeAt: inIso(wholeAtMs),
  };
}

const inIso = (atMs: number | undefined) =>
  atMs === undefined ? undefined : new Date(atMs).toISOString();

function parsed(text: string): unknown {
  try {
    return parseUntrustedJson(text);
  } catch {
    // Written by a model, or cut.
    return text;
  }
}
