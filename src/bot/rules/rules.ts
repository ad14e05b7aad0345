import { speechOf } from './answers/speech.ts';
import { kinds } from './kinds.ts';
import { english } from './languages/english.ts';
import { german } from './languages/german.ts';
import { guessLanguage, type Language } from './languages/language.ts';
import { spanish } from './languages/spanish.ts';
import { createReader } from './readers.ts';
import { folded, readWords } from './words.ts';

/** A question that rules can answer. */
export interface Understood {
  /** By which it is answered: the name of a tool of the registry and its input. */
  tool: string;
  input: Record<string, unknown>;
  /** The answer in Markdown, from what the tool gave. Pure. */
  answer(output: Record<string, unknown>): string;
  /** What is said of a change that somebody has to confirm first, in the language of the question. */
  waits: string;
}

/** Questions of each language that rules can answer. */
const EXAMPLES: Record<Language, string[]> = {
  en: [
    'What is down, since when and why?',
    'How many incidents were there in the last 7 days?',
    'Which monitor is the slowest?',
  ],
  de: [
    'Was ist ausgefallen, seit wann und warum?',
    'Wie viele Vorfälle gab es in den letzten 7 Tagen?',
    'Welcher Monitor ist am langsamsten?',
  ],
  es: [
    '¿Qué está caído, desde cuándo y por qué?',
    '¿Cuántos incidentes hubo en los últimos 7 días?',
    '¿Qué monitor es el más lento?',
  ],
};

/** How much of a long question tells its language. */
const MAX_GUESSED = 1_000;

/** Made at the first question: who has a model never needs them. */
let readers: Array<[Language, ReturnType<typeof createReader>]> | undefined;

/** What a question asks for; `undefined` when that is not surely understood. Pure, linear in the length of the question. */
export function understand(question: string, nowMs: number): Understood | undefined {
  const words = readWords(question);
  if (!words) return undefined;
  readers ??= [english, german, spanish].map((grammar) => [
    grammar.language,
    createReader(grammar),
  ]);
  const found = readers.flatMap(([language, read]) =>
    read(words, question, nowMs).flatMap((said) => {
      const { tool, input, answer } = kinds[said.kind];
      const given = input(said);
      return given
        ? [{ language, tool, input: given, said, answer, asked: JSON.stringify([tool, given]) }]
        : [];
    }),
  );
  const [first] = found;
  // What can mean two things is not understood.
  if (!first || found.some(({ asked }) => asked !== first.asked)) return undefined;
  const guessed = guessLanguage(words.map((word) => word.folded));
  const { language, tool, input, said, answer } =
    found.find((one) => one.language === guessed) ?? first;
  const speech = speechOf(language);
  return {
    tool,
    input,
    answer: (output) => answer(output, speech, said),
    waits: speech.words.waits,
  };
}

/** Three questions that work, in the language of a question, for who was not understood. */
export function examples(question: string): string[] {
  const words = folded(question.slice(0, MAX_GUESSED)).split(/[^\p{L}\p{N}¿¡]+|(?<=[¿¡])/u);
  return EXAMPLES[guessLanguage(words)];
}
