import { oneLine } from '../../contracts/one-line.ts';
import { shortened } from './text-format.ts';

/** What formats, links or mentions somewhere: in Markdown, in Slack, in Discord, or in formulas. */
const MARKS = /[\\`*_~[\]<>|#@:&$^{}]/g;
/** A full stop within an address: without it `www.` and names of hosts are no links. */
const INNER_STOP = /(?<=\S)\.(?=\S)/g;

/** A text from outside in Markdown, as nothing but text on one line; `?` where nothing of it can be seen. Pure. */
export function plain(text: string, max = 80): string {
  // Cut between the halves of a character, it would hold one that cannot be shown.
  const line = oneLine(shortened(oneLine(text), max));
  return line === '' ? '?' : line.replace(MARKS, '\\$&').replace(INNER_STOP, '\\.');
}

/** The same in bold. */
export const bold = (text: string, max?: number) => `**${plain(text, max)}**`;
