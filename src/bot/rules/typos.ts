/** A bit for each letter and digit that a word has. Words of few typos differ in few bits. */
export function maskOf(word: string): number {
  let mask = 0;
  for (let at = 0; at < word.length; at += 1) mask |= 1 << (word.charCodeAt(at) % 31);
  return mask;
}

/** One typo per five letters. */
export const typosIn = (word: string): number =>
  word.length < 5 ? 0 : Math.floor((word.length + 1) / 5);

/** Typos between two words, if at most `max`: a letter more, less or other, or two swapped. Otherwise `max` + 1. Pure. */
export function distance(a: string, aMask: number, b: string, bMask: number, max: number): number {
  if (Math.abs(a.length - b.length) > max || bitsIn(aMask ^ bMask) > 2 * max) return max + 1;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) least = Math.min(least, (before[j - 2] ?? 0) + 1);
      next.push(least);
    }
    if (Math.min(...next) > max) return max + 1;
    [before, row] = [row, next];
  }
  return Math.min(row[b.length] ?? 0, max + 1);
}

function bitsIn(mask: number): number {
  let bits = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits += 1;
  return bits;
}
