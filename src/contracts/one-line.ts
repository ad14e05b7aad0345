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

/** Returns true if a text holds characters that `oneLine` removes, apart from white space. Pure. */
export const holdsUnseen = (text: string) => text.search(UNSEEN) !== -1;
