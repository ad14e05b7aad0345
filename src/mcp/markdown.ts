import { shortened } from '../bot/shared/text-format.ts';
import { oneLine } from '../contracts/one-line.ts';

/** Characters of one value; what is longer is cut. */
const MAX_VALUE = 2_000;

/** The deepest nested list; deeper values are written as JSON. */
const MAX_DEPTH = 4;

/**
 * Characters with a meaning inside a line of Markdown; a `_` within a word has none. Source: CommonMark 0.31, "Backslash escapes"
 * and "Emphasis and strong emphasis".
 */
const SPECIAL = /[\\`*[\]<>#|~&$]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

/** A heading, and what a tool gave as a list. Every text in it is nothing but text. Pure. */
export function markdownOf(title: string, output: object): string {
  return [`# ${plain(title)}`, '', ...listOf(output, 0), ''].join('\n');
}

function listOf(value: object, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    const label = isList ? `${Number(name) + 1}` : plain(name.replaceAll('_', ' '));
    if (one === undefined || one === null) return [];
    if (typeof one !== 'object') return [`${indent}- ${label}: ${plain(String(one))}`];
    if (depth === MAX_DEPTH) return [`${indent}- ${label}: ${plain(JSON.stringify(one))}`];
    const inner = listOf(one, depth + 1);
    return inner.length === 0 ? [] : [`${indent}- ${label}:`, ...inner];
  });
}

/** A text on one line in which nothing is a mark. */
function plain(text: string): string {
  // Cut between the halves of a character, it would hold one that cannot be shown.
  const line = oneLine(shortened(oneLine(text), MAX_VALUE));
  // Markers that count only at the start of a line follow a list marker here.
  return line.replace(SPECIAL, '\\$&');
}
