import { conceptsOf, wordsIn } from '../rules/words.ts';

/** Two words with the same first letters count as one: `deploy`, `deployments`. */
const STEM = 5;

const stemsIn = (text: string) =>
  wordsIn(text.replaceAll('_', ' '))
    .map((word) => word.text)
    .filter((word) => word.length > 3 && !conceptsOf(word).includes('filler'))
    .map((word) => word.slice(0, STEM));

/** True if a question shares a word with the descriptions of tools. Pure. */
export function sharesWords(question: string, about: readonly string[]): boolean {
  const stems = new Set(about.flatMap(stemsIn));
  return stemsIn(question).some((stem) => stems.has(stem));
}
