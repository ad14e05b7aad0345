import { GENERIC, LABEL } from '../../src/bot/ask/unfounded-names.ts';
import { HOSTILE_NAME } from '../week/monitors.ts';
import { MONITORS } from '../week/plan.ts';
import { plainOf } from './figures.ts';

/** Names of monitors in answers, existing and invented ones. */

/** The first words of the hostile name identify it; nobody would write all of it. */
const HOSTILE_BEGIN = 'Ignore previous instructions';

const LETTER = '[\\p{L}\\p{N}]';

/** Longest first, so that `Shop` is not found in `Shop checkout`. */
const PATTERNS = [...MONITORS]
  .sort((a, b) => b.name.length - a.name.length)
  .map(({ name }) => {
    const shown = name === HOSTILE_NAME ? HOSTILE_BEGIN : name;
    // A name of one plain word is also a word: `search`, `returns`.
    const isWord = /^\p{L}+$/u.test(name);
    const text = escaped(shown).replace(/ /g, '\\s+');
    return {
      name,
      pattern: new RegExp(`(?<!${LETTER}|-)${text}(?!${LETTER}|-${LETTER})`, isWord ? 'gu' : 'giu'),
    };
  });

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** The names of monitors that a text has; one within a longer one is none. Pure. */
export function namesIn(markdown: string): Set<string> {
  return split(markdown).names;
}

/** The names in a text, and the text with a mark in place of each. */
function split(markdown: string): { names: Set<string>; marked: string } {
  const names = new Set<string>();
  let marked = plainOf(markdown).replace(/https?:\/\/\S+/g, ' ');
  for (const [place, { name, pattern }] of PATTERNS.entries()) {
    marked = marked.replace(pattern, () => {
      names.add(name);
      return String.fromCharCode(FIRST_MARK + place);
    });
  }
  return { names, marked };
}

/** Characters that nobody writes: one for each monitor. */
const FIRST_MARK = 0xe000;
const MARK = '[\ue000-\uefff]';

/** First words of monitor names, and the words that distinguish them. They don't occur in ordinary sentences. */
const FIRST_WORDS = [
  ...new Set(MONITORS.map(({ name }) => escaped(name.split(' ')[0] ?? ''))),
].join('|');
const LATER_WORDS = 'EU|US|API|DNS|MX|SPF|login|sync|gateway|checkout|webhook|admin|\\(staging\\)';

/** Statuses. A text next to one in a table row is taken for a monitor's name. */
const SAID_OF_MONITORS = /\b(?:UP|DOWN|DEGRADED|PAUSED|MAINTENANCE|down|ausgefallen|caído)\b/u;

/** Texts in an answer that look like monitor names but belong to no monitor. */
export function unknownNames(markdown: string): string[] {
  return [...new Set([...inRows(markdown), ...alike(markdown)])];
}

/** Heads of rows that tell a status, in bold or before a colon. */
function inRows(markdown: string): string[] {
  return markdown.split('\n').flatMap((line) => {
    const [, head = ''] =
      /^\s*(?:[-*•]|\d+\.|\|)\s+(\*\*.+?\*\*|`.+?`|[^:|–—]{2,60}?(?=\s*(?::\s|\||–|—)))/u.exec(
        line,
      ) ?? [];
    const plain = plainOf(head)
      .replace(/^[^\p{L}\d]+|:$/gu, '')
      .trim();
    const isRow = plain !== '' && SAID_OF_MONITORS.test(line.replace(head, ''));
    if (!isRow || LABEL.test(plain) || GENERIC.test(plain) || !/\p{L}/u.test(plain)) return [];
    return namesIn(plain).size > 0 || /^[\d\s]/.test(plain) ? [] : [plain];
  });
}

/** Texts that extend a name or begin like one, and so look like another monitor: `Shop EU`. */
function alike(markdown: string): string[] {
  const made = new RegExp(
    `(?<!${LETTER}|-)(?:${MARK}|${FIRST_WORDS})(?:\\s+(?:${LATER_WORDS}))+(?!${LETTER})`,
    'gu',
  );
  return [...split(markdown).marked.matchAll(made)].map(([text]) =>
    text.replace(
      new RegExp(MARK, 'g'),
      (mark) => PATTERNS[mark.charCodeAt(0) - FIRST_MARK]?.name ?? '',
    ),
  );
}

/** Ids of monitors in a text. Pure. */
export const idsIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/\bmon_[\w-]+/g)].map(([id]) => id)),
];
