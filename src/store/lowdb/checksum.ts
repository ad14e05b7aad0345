import { hash } from 'node:crypto';

/** 64 bits of SHA-256: against bad disks, not against people. */
const SUM_LENGTH = 16;
const HEAD = /^\{"sum":"([0-9a-f]{16})",/;

export function withChecksum(content: object): string {
  return textWithChecksum(JSON.stringify(content));
}

/** Adds a checksum to the JSON of an object with at least one field. */
export function textWithChecksum(text: string): string {
  return `{"sum":"${sumOf(text)}",${text.slice(1)}`;
}

/** Throws if a single bit has changed. Messages quote nothing of the text, because they are logged. */
export function checkedContent(text: string): unknown {
  const head = HEAD.exec(text);
  if (!head) throw new Error(text === '' ? 'it is empty' : 'it has no checksum at its start');
  const content = `{${text.slice(head[0].length)}`;
  if (sumOf(content) !== head[1]) throw new Error('its checksum does not match');
  return JSON.parse(content);
}

/** True if the text is unchanged since `withChecksum`. */
export function isWhole(text: string): boolean {
  const head = HEAD.exec(text);
  return head !== null && sumOf(`{${text.slice(head[0].length)}`) === head[1];
}

function sumOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, SUM_LENGTH);
}
