export interface PieceAttributes {
  /** An `http`, `https` or `mailto` address. */
  href?: string;
  start?: string;
  align?: string;
  class?: string;
  language?: string;
}

/** A piece of an answer as the workers send it: a text, or a tag with its attributes (0 for none) and children. */
export type MarkdownPiece =
  | string
  | [tag: string, attributes: PieceAttributes | 0, children: MarkdownPiece[]];

/** An answer to format, or the part of it that may still change. */
export interface MarkdownJob {
  text: string;
  whole: boolean;
  room: number;
}

export interface MarkdownResult {
  /** Each block is a `MarkdownPiece` as JSON, so that the page needn't read unchanged blocks again. */
  blocks: string[];
  /** Number of blocks that more text can't change, and the character where the text of the other blocks begins. */
  settled: { blocks: number; at: number };
  /** The character where the room ended; the text's length if there was enough. */
  end: number;
  /** True if some blocks are too complex to format and are plain text. */
  intricate: boolean;
}

export interface ColourJob {
  language: string;
  code: string;
}

/** The pieces as JSON; `undefined` for an unknown language. */
export type ColourResult = string | undefined;
