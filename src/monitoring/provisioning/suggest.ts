/** Longest word that is compared. */
const MAX_LENGTH = 40;

/** The word that was probably meant, in a sentence's end; empty when none of them is like it. */
export function didYouMean(word: string, words: Iterable<string>): string {
  const asked = word.toLowerCase();
  if (asked.length > MAX_LENGTH) return '';
  let best: { word: string; distance: number } | undefined;
  for (const known of words) {
    const distance = distanceOf(asked, known.toLowerCase());
    if (
      distance <= (asked.length < 4 ? 1 : Math.max(2, asked.length / 3)) &&
      distance < (best?.distance ?? Infinity)
    ) {
      best = { word: known, distance };
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
