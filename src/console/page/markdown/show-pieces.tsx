import { render } from 'preact';
import { CopyButton } from '../shared/copy-button.tsx';
import type { Attributes, Piece } from './blocks.ts';
import { boxesOf } from './plain-text.ts';

/** All that an answer can become. What is no piece of this list is shown as the words in it. */
const TAGS = new Set(
  'a p br strong em del code blockquote ul ol li h1 h2 h3 h4 h5 h6 hr table thead tbody tr th td div span'.split(
    ' ',
  ),
);

const LINK = /^(?:https?:\/\/|mailto:)/i;
const CLASS = /^(?:plain|hljs-[\w-]+(?: [\w-]+)*)$/;

/** Longer code is not coloured, and only what is seen of it is laid out. */
const LONG_CODE = 12_000;

/** What a line takes about, in pixels and in characters. */
const LINE_PX = 23;
const LINE_CHARACTERS = 70;

/** A block of code that may be coloured. */
export interface Code {
  element: HTMLElement;
  language: string;
  text: string;
}

/** A block with the height that it will have about, for as long as it is out of sight and not laid out. */
export function blockOf(piece: Piece, onCode?: (code: Code) => void): Node {
  const block = elementOf(piece, onCode);
  if (block instanceof HTMLElement) reserve(block, linesOf(piece));
  return block;
}

function reserve(element: HTMLElement, lines: number) {
  element.style.containIntrinsicBlockSize = `auto ${Math.ceil(lines * LINE_PX)}px`;
}

/** How many lines it takes about. */
function linesOf(piece: Piece, tag = ''): number {
  if (typeof piece === 'string') {
    const lines = tag === 'pre' || tag === 'div' ? piece.split('\n').length : 0;
    return Math.max(lines, piece.length / LINE_CHARACTERS);
  }
  const [name, , children] = piece;
  const own = ['p', 'li', 'tr', 'br', 'hr', 'pre'].includes(name) ? 0.5 : 0;
  const within = children.map((child) => linesOf(child, name));
  // Cells stand beside one another.
  if (name === 'tr') return 1 + Math.max(0, ...within);
  return within.reduce((sum, lines) => sum + lines, own);
}

/** A piece as an element that is safe to show, made without reading any HTML; `onCode` is called with blocks of code in it. */
export function elementOf(piece: Piece, onCode: (code: Code) => void = () => undefined): Node {
  if (typeof piece === 'string') return document.createTextNode(piece);
  const [tag, attributes, children] = piece;
  if (tag === 'pre') return codeOf(attributes === 0 ? {} : attributes, children.join(''), onCode);
  const element = document.createElement(TAGS.has(tag) ? tag : 'span');
  if (attributes !== 0) setAttributes(element, attributes);
  element.append(...children.map((child) => elementOf(child, onCode)));
  return element;
}

function setAttributes(element: HTMLElement, attributes: Attributes) {
  const { href, start, align, class: name } = attributes;
  if (start !== undefined && /^\d+$/.test(start)) element.setAttribute('start', start);
  if (align !== undefined && /^(?:left|center|right)$/.test(align))
    element.setAttribute('align', align);
  if (name !== undefined && CLASS.test(name)) element.className = name;
  if (href === undefined || !LINK.test(href)) return;
  element.setAttribute('href', href);
  element.setAttribute('target', '_blank');
  element.setAttribute('rel', 'noopener noreferrer');
  // Where a link leads is seen before it is followed, whatever its text says.
  element.setAttribute('title', href);
}

function codeOf({ language }: Attributes, text: string, onCode: (code: Code) => void): HTMLElement {
  const box = document.createElement('div');
  box.className = 'code-block';
  const pre = document.createElement('pre');
  const element = document.createElement('code');
  if (text.length <= LONG_CODE) element.textContent = text;
  else element.append(...boxesOf(text).map(boxOfCode));
  pre.append(element);
  if (text !== '') {
    const head = document.createElement('div');
    head.className = language === undefined ? 'code-head bare' : 'code-head';
    render(
      <>
        <span>{language}</span>
        <CopyButton text={text} />
      </>,
      head,
    );
    box.append(head);
  }
  box.append(pre);
  if (language !== undefined && text.length <= LONG_CODE) onCode({ element, language, text });
  return box;
}

function boxOfCode(text: string): HTMLElement {
  const box = document.createElement('span');
  box.className = 'box';
  box.textContent = text;
  reserve(box, text.split('\n').length);
  return box;
}
