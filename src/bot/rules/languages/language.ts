/** A language in which questions are understood and answered. */
export type Language = 'en' | 'de' | 'es';

/** Words that one of the languages has and the others have not, as `folded` writes them. */
const SIGNS: Record<Exclude<Language, 'en'>, ReadonlySet<string>> = {
  de: new Set(
    'der die das den dem des ist sind war waren was wann warum wie welche welcher welches und oder nicht ich du mir bitte wer wo ein eine einen von vom seit gestern heute woche lauft laeuft kannst zeig zeige gibt hallo danke mal mit auf im zu fur fuer wurde alle alles'.split(
      ' ',
    ),
  ),
  es: new Set(
    'el la los las que esta estan es son cuando como cual cuales cuanto cuantos cuantas quien donde por porque favor desde ayer hoy semana mes puedes dime muestra hay hola gracias un una del y o caido caida fue ha al'.split(
      ' ',
    ),
  ),
};

/** The language that a question seems to be in; English where nothing tells. Pure. */
export function guessLanguage(words: readonly string[]): Language {
  const count = (language: 'de' | 'es') =>
    words.filter((word) => SIGNS[language].has(word)).length +
    (language === 'es' && words.some((word) => /[¿¡]/.test(word)) ? 2 : 0);
  const [de, es] = [count('de'), count('es')];
  if (de === 0 && es === 0) return 'en';
  return es > de ? 'es' : 'de';
}
