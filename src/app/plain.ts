/**
 * Shows control characters, invisible ones and changes of writing direction by their code point, so that a terminal doesn't
 * interpret them. Anyone may have chosen a name, or sent what a log line quotes.
 */
export function plain(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
