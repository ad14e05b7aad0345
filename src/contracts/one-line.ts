/**
 * What a line of text must not hold: control characters but white space, what turns the direction of the text around it,
 * what cannot be seen, halves of characters. Joiners and a few variation selectors stay, which letters and pictures are made of.
 * Sources: Unicode TR 9 and TR 36, DerivedCoreProperties.
 */
const UNSEEN =
  /[^\P{Cc}\s\u0085]|(?!\p{Join_Control}|[\ufe0e\ufe0f\u180b-\u180d])\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]|\p{Cs}|\p{Noncharacter_Code_Point}/gu;
const WHITE = /[\s\u0085]+/g;
const SEEN = /[^\s\p{Default_Ignorable_Code_Point}]/u;

/** A text as one line without anything that hides in it: nobody can make it look like two, or like another. Pure. */
export function oneLine(text: string): string {
  const line = text.replace(UNSEEN, '').replace(WHITE, ' ').trim();
  return SEEN.test(line) ? line : '';
}

/** Whether a text holds what `oneLine` leaves out, white space aside. Pure. */
export const holdsUnseen = (text: string) => text.search(UNSEEN) !== -1;
