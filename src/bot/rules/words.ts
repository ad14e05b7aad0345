/** A word of a question, a text in quotes, or a punctuation mark. */
export interface Word {
  /** As it was written; what stands in the quotes where it is quoted. */
  text: string;
  /** In small letters without accents; of what is quoted only `"`. */
  folded: string;
  /** Where it stands in the question. */
  start: number;
  end: number;
}

/** Longer questions are more than one, or hold what no rule knows. */
const MAX_CHARACTERS = 300;
const MAX_WORDS = 40;

const QUOTED = [
  '"[^"]+"',
  '“[^“”"]+[”"]',
  '„[^„“”"]+[“”"]',
  '«[^«»]+»',
  '`[^`]+`',
  "(?<!\\S)'[^']+'(?![^\\s.,;?!])",
  '(?<!\\S)‘[^‘’]+’(?![^\\s.,;?!])',
];
/** An address is one word, whatever marks it holds. Every choice begins with another character, so that reading is linear. */
const WORD = new RegExp(
  `(?<quoted>${QUOTED.join('|')})|https?://[^\\s]*[^\\s.,;?!]|[,;?!¿¡…]+|[^\\s,;?!¿¡…]+`,
  'giu',
);

/** What may stand around a sentence and says nothing. */
const AROUND = /^[¿¡?!.…]+$/;

/** A number whose full stop belongs to it, as in `24. November` and `24.11.`. */
const WITH_STOP = /^\d{1,2}\.(?:\d{1,2}\.)?$/;

/** A word as rules compare it. Pure. */
export function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('’', "'");
}

/** The words of a question that is one short sentence; `undefined` of any other. Pure. */
export function readWords(question: string): Word[] | undefined {
  const from = question.length - question.trimStart().length;
  const text = question.trim();
  if (text === '' || text.length > MAX_CHARACTERS) return undefined;
  const words: Word[] = [];
  for (const { 0: found, index, groups } of text.matchAll(WORD)) {
    const start = from + index;
    if (groups?.quoted !== undefined) {
      const end = start + found.length;
      words.push({ text: found.slice(1, -1).trim(), folded: '"', start, end });
    } else for (const part of parts(found)) words.push(wordAt(part.text, start + part.at));
  }
  while (AROUND.test(words[0]?.text ?? '')) words.shift();
  while (AROUND.test(words.at(-1)?.text ?? '')) words.pop();
  const isReadable = words.every((word) => word.text !== '' && word.folded !== '');
  return words.length > 0 && words.length <= MAX_WORDS && isReadable ? words : undefined;
}

const wordAt = (text: string, start: number): Word => ({
  text,
  folded: folded(text),
  start,
  end: start + text.length,
});

/** A word apart from the `'s` or the mark behind it. */
function parts(text: string): Array<{ text: string; at: number }> {
  if (WITH_STOP.test(text)) return [{ text, at: 0 }];
  const behind = /(?:['’]s|[.:])$/i.exec(text);
  if (!behind || behind.index === 0) return [{ text, at: 0 }];
  return [
    { text: text.slice(0, behind.index), at: 0 },
    { text: behind[0], at: behind.index },
  ];
}
