import { render } from 'preact';
import { CopyButton } from '../shared/copy-button.tsx';
import type { MarkdownPiece, PieceAttributes } from './blocks.ts';
import { boxesOf } from './plain-text.ts';

/** A second check of the addresses, next to the element that gets them. */
const LINK = /^(?:https?:\/\/|mailto:)/i;

/** Longer code isn't coloured, and the browser only lays out what is in sight. */
const LONG_CODE = 12_000;

export interface CodeToColour {
  element: HTMLElement;
  language: string;
  text: string;
}

export function elementOf(
  piece: MarkdownPiece,
  onCode: (code: CodeToColour) => void = () => undefined,
): Node {
  if (typeof piece === 'string') return document.createTextNode(piece);
  const [tag, attributes, children] = piece;
  if (tag === 'pre')
    return codeBlock(attributes === 0 ? {} : attributes, children.join(''), onCode);
  const element = document.createElement(tag);
  if (attributes !== 0) setAttributes(element, attributes);
  element.append(...children.map((child) => elementOf(child, onCode)));
  return element;
}

function setAttributes(element: HTMLElement, attributes: PieceAttributes) {
  const { href, start, align, class: name } = attributes;
  if (start !== undefined) element.setAttribute('start', start);
  if (align !== undefined) element.setAttribute('align', align);
  if (name !== undefined) element.className = name;
  if (href === undefined || !LINK.test(href)) return;
  element.setAttribute('href', href);
  element.setAttribute('target', '_blank');
  element.setAttribute('rel', 'noopener noreferrer');
  // The reader can see the link's target before following it, whatever its text says.
  element.setAttribute('title', href);
}

function codeBlock(
  { language }: PieceAttributes,
  text: string,
  onCode: (code: CodeToColour) => void,
): HTMLElement {
  const isLong = text.length > LONG_CODE;
  const element = document.createElement('code');
  if (isLong) element.append(...boxesOf(text).map(codeBox));
  else element.textContent = text;
  const pre = document.createElement('pre');
  pre.append(element);
  const block = document.createElement('div');
  block.className = 'code-block';
  if (text !== '') block.append(codeHead(language, text));
  block.append(pre);
  if (language !== undefined && !isLong) onCode({ element, language, text });
  return block;
}

function codeHead(language: string | undefined, text: string): HTMLElement {
  const head = document.createElement('div');
  head.className = language === undefined ? 'code-head bare' : 'code-head';
  render(
    <>
      <span>{language}</span>
      <CopyButton text={text} />
    </>,
    head,
  );
  return head;
}

function codeBox(text: string): HTMLElement {
  const box = document.createElement('span');
  box.className = 'box';
  box.textContent = text;
  return box;
}
