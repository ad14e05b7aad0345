import { nearestWord } from '../../contracts/plain-words.ts';

/** Names the most similar word, as the end of a sentence; empty if no word is similar. */
export function didYouMean(word: string, words: Iterable<string>): string {
  const nearest = nearestWord(word, words);
  return nearest === undefined ? '' : ` Did you mean '${nearest}'?`;
}
