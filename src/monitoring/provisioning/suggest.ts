const MAX_LENGTH = 40;

/** Names the most similar word, as the end of a sentence; empty if no word is similar. */
export function didYouMean(word: string, words: Iterable<string>): string {
  const typed = word.toLowerCase();
  if (typed.length > MAX_LENGTH) return '';
  let best: { word: string; distance: number } | undefined;
  for (const candidate of words) {
    const distance = distanceOf(typed, candidate.toLowerCase());
    if (
      distance <= (typed.length < 4 ? 1 : Math.max(2, typed.length / 3)) &&
      distance < (best?.distance ?? Infinity)
    ) {
      best = { word: candidate, distance };
    }
  }
  return best ? ` Did you mean '${best.word}'?` : '';
}

/** Letters to add, take out or replace: the Levenshtein distance. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (letter === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
