/**
 * Control characters except white space, direction marks, invisible characters, half characters. Joiners and some variation
 * selectors stay, because letters and emoji are made of them. Sources: Unicode TR 9 and TR 36, DerivedCoreProperties.
 */
const UNSEEN =
  /[^\P{Cc}\s\u0085]|(?!\p{Join_Control}|[\ufe0e\ufe0f\u180b-\u180d])\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]|\p{Cs}|\p{Noncharacter_Code_Point}/gu;
const WHITE = /[\s\u0085]+/g;
const SEEN = /[^\s\p{Default_Ignorable_Code_Point}]/u;

/** Returns a text as one line without hidden characters, so that it can't look like two lines or like another text. Pure. */
export function oneLine(text: string): string {
  const line = text.replace(UNSEEN, '').replace(WHITE, ' ').trim();
  return SEEN.test(line) ? line : '';
}

/** Returns a text without hidden characters, with `\n` as its only line end, and at most one empty line in a row. Pure. */
export function visibleLines(text: string): string {
  const lines = text
    .replace(/\r\n?|[\v\f\u0085\u2028\u2029]/g, '\n')
    .replace(UNSEEN, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return SEEN.test(lines) ? lines : '';
}

/** Returns true if a text holds characters that `oneLine` removes, apart from white space. Pure. */
export const holdsUnseen = (text: string) => text.search(UNSEEN) !== -1;
