/** Attributes that a piece of an answer may have. */
export interface Attributes {
  /** Of a link: an `http`, `https` or `mailto` address. */
  href?: string;
  /** Of a numbered list that begins elsewhere than at one. */
  start?: string;
  /** Of a cell of a table. */
  align?: string;
  /** Of a part of coloured code. */
  class?: string;
  /** Of a block of code: what it is written in. */
  language?: string;
}

/** A piece of an answer as the workers send it: a text, or a tag with its attributes, 0 for none, and what is in it. */
export type Piece = string | [tag: string, attributes: Attributes | 0, children: Piece[]];

/** What the worker is asked to set: an answer, or the part of it that may still change. */
export interface MarkdownJob {
  text: string;
  /** Nothing will follow. */
  whole: boolean;
  /** How many more blocks the answer may have. */
  room: number;
}

/** What comes of it. */
export interface MarkdownResult {
  /** Each a `Piece` as JSON: what is the same as before need not be read again. */
  blocks: string[];
  /** So many of the blocks stay as they are whatever follows; the text of the others begins at this character. */
  settled: { blocks: number; at: number };
  /** Where it was given up, since there is no room for more; the text's length when it was not. */
  end: number;
  /** Some of it is too intricate to set, and is among the blocks as plain text. */
  intricate: boolean;
}

/** Code that is to be coloured. */
export interface ColourJob {
  language: string;
  code: string;
}

/** The pieces as JSON; `undefined` for a language that is not known. */
export type ColourResult = string | undefined;
