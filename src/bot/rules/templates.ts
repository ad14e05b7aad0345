import { folded } from './words.ts';

/** A template, or a piece of one, as something that words can match. */
export type Template =
  | { kind: 'word'; is(word: string): boolean }
  /** From one to so many words, of which as few are taken as will do. */
  | { kind: 'words'; max: number }
  | { kind: 'all'; parts: readonly Template[] }
  | { kind: 'one'; choices: readonly Template[] }
  | { kind: 'slot'; name: string; holds: Template };

/** Where a slot of a template stands among the words of a line: from the first to before the last. */
export interface Slot {
  name: string;
  from: number;
  to: number;
}

/** What a template tells of a line: its slots, and how many words it takes. */
export interface Match {
  slots: Slot[];
  length: number;
}

/** What templates are written with: pieces by names in capitals, and patterns of slots by their names. */
export interface Pieces {
  macros: Record<string, string>;
  slots: Record<string, Template>;
}

const NOTHING: Template = { kind: 'all', parts: [] };

/** What reads the templates of one language; a macro is read once. */
export function createTemplates({ macros, slots }: Pieces) {
  const read = new Map<string, Template>();

  function macro(name: string): Template {
    const template = read.get(name) ?? parse(macros[name] ?? fail(name));
    read.set(name, template);
    return template;
  }

  /**
   * A sentence as a template: `which [DOWN] (monitors|services) {span}`. `[…]` may be missing, `(…|…)` are choices, capitals
   * stand for a macro, `{…}` for a slot, all else for a word.
   */
  function parse(text: string): Template {
    const pieces = text.match(/\{\w+\}|[()[\]|]|[^\s()[\]|{}]+/g) ?? [];
    let at = 0;
    function choices(): Template {
      const found = [sequence()];
      while (pieces[at] === '|') {
        at += 1;
        found.push(sequence());
      }
      return oneOf(found);
    }
    function sequence(): Template {
      const parts: Template[] = [];
      for (; at < pieces.length && !'|)]'.includes(pieces[at] ?? ''); at += 1) parts.push(piece());
      return { kind: 'all', parts };
    }
    /** Ends at its last piece. */
    function piece(): Template {
      const own = pieces[at] ?? '';
      if (own === '(' || own === '[') {
        at += 1;
        const found = choices();
        return own === '(' ? found : oneOf([found, NOTHING]);
      }
      if (own.startsWith('{')) {
        const name = own.slice(1, -1);
        return { kind: 'slot', name, holds: slots[name] ?? fail(name) };
      }
      return /^[A-Z][A-Z_]+$/.test(own) ? macro(own) : oneWord(own);
    }
    return choices();
  }

  return parse;
}

/** Any of several templates. */
export const oneOf = (choices: readonly Template[]): Template =>
  choices.length === 1 && choices[0] ? choices[0] : { kind: 'one', choices };

/** Words of a choice, such as `minute|minutes`, with and without umlauts written as two letters. */
export const wordsOf = (choice: string): ReadonlySet<string> =>
  new Set(
    choice
      .split('|')
      .flatMap((word) => [
        folded(word),
        folded(word.replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue')),
      ]),
  );

/** One word of a choice. */
export function oneWord(choice: string): Template {
  const words = wordsOf(choice);
  return { kind: 'word', is: (word) => words.has(word) };
}

/** One word of a form, such as a number. */
export const wordLike = (pattern: RegExp): Template => ({
  kind: 'word',
  is: (word) => pattern.test(word),
});

/** What a template tells of words, or with `isWhole: false` of their beginning; `undefined` where it does not match. */
export function matchOf(
  template: Template,
  words: readonly string[],
  { isWhole = true } = {},
): Match | undefined {
  const slots: Slot[] = [];
  let length = 0;
  const isMatch = goThrough(template, words, 0, slots, (to) => {
    length = to;
    return !isWhole || to === words.length;
  });
  return isMatch ? { slots, length } : undefined;
}

/**
 * Whether words from `at` on match a template so that what follows, `then`, matches too. Pieces repeat nothing, so this takes no
 * more than a small power of the few words of a question.
 */
function goThrough(
  template: Template,
  words: readonly string[],
  at: number,
  slots: Slot[],
  then: (to: number) => boolean,
): boolean {
  switch (template.kind) {
    case 'word': {
      const word = words[at];
      return word !== undefined && template.is(word) && then(at + 1);
    }
    case 'words': {
      for (let to = at + 1; to <= Math.min(at + template.max, words.length); to += 1) {
        if (then(to)) return true;
      }
      return false;
    }
    case 'one':
      return template.choices.some((choice) => goThrough(choice, words, at, slots, then));
    case 'all': {
      const { parts } = template;
      const from = (index: number, place: number): boolean => {
        const part = parts[index];
        if (!part) return then(place);
        return goThrough(part, words, place, slots, (to) => from(index + 1, to));
      };
      return from(0, at);
    }
    case 'slot':
      // What slots within it hold is read when it is.
      return goThrough(template.holds, words, at, [], (to) => {
        slots.push({ name: template.name, from: at, to });
        if (then(to)) return true;
        slots.pop();
        return false;
      });
  }
}

function fail(name: string): never {
  throw new Error(`No template knows “${name}”.`);
}
