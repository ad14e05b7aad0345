import { oneLine } from '../../contracts/one-line.ts';
import { shortened } from './text-format.ts';

/** Characters that format, link or mention in Markdown, Slack, Discord or formulas. */
const MARKS = /[\\`*_~[\]<>|#@:&$^{}]/g;
/** A full stop within an address. Escaped, it makes no link of `www.` and host names. */
const INNER_STOP = /(?<=\S)\.(?=\S)/g;

/** Writes text from outside as plain text on one line of Markdown; `?` if nothing is visible. Pure. */
export function plain(text: string, max = 80): string {
  // Cutting may split a character, so the text is cleaned twice.
  const line = oneLine(shortened(oneLine(text), max));
  return line === '' ? '?' : line.replace(MARKS, '\\$&').replace(INNER_STOP, '\\.');
}

export const bold = (text: string, max?: number) => `**${plain(text, max)}**`;

const MAX_CHARACTERS = 200_000;

/**
 * Makes a text safe to open or paste elsewhere: HTML, links, pictures and mentions become plain text. Adds a title.
 * Pure.
 */
export function inertFile(text: string, title: string): string {
  const titled = /^\s*# /.test(text) ? text.trim() : `# ${title}\n\n${text.trim()}`;
  const inert = titled
    .slice(0, MAX_CHARACTERS)
    .replace(/\\?<(?=[a-z/!?])/gi, '&lt;')
    .replace(/\](?=[(:])/g, ']\\')
    .replace(/\\?@(?=\w)/g, '&#64;');
  const cut =
    titled.length > MAX_CHARACTERS ? '\n\n… The rest is cut off because the text is too long.' : '';
  return `${inert}${cut}\n`;
}
