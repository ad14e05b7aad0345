/** What cannot be seen, or turns the direction of the text around it; joiners stay, which letters and pictures are made of. */
const UNSEEN =
  /[^\P{Cc}\s\u0085]|(?!\p{Join_Control}|[\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]|\p{Noncharacter_Code_Point}|\p{Cs}/gu;
const WHITE = /[\s\u0085]+/g;
const SEEN = /[^\s\p{Default_Ignorable_Code_Point}]/u;

/** What formats, links or mentions somewhere: in Markdown, in Slack, in Discord, or in formulas. */
const MARKS = /[\\`*_~[\]<>|#@:&$^{}]/g;
/** A full stop within an address: without it `www.` and names of hosts are no links. */
const INNER_STOP = /(?<=\S)\.(?=\S)/g;

/** A text from outside in Markdown, as nothing but text on one line; `?` where nothing of it can be seen. Pure. */
export function plain(text: string, max = 80): string {
  const line = text.replace(UNSEEN, '').replace(WHITE, ' ').trim();
  if (!SEEN.test(line)) return '?';
  const shown =
    line.length > max
      ? `${line
          .slice(0, max - 1)
          .replace(UNSEEN, '')
          .trimEnd()}…`
      : line;
  return shown.replace(MARKS, '\\$&').replace(INNER_STOP, '\\.');
}

/** The same in bold. */
export const bold = (text: string, max?: number) => `**${plain(text, max)}**`;
