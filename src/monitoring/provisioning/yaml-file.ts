import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type YAMLError,
  type YAMLMap,
} from 'yaml';

/** How deep lists and objects may lie in one another: the parser ends the process with deeper ones. */
const MAX_DEPTH = 50;

/** Tokens of one file, spaces and line ends included: each takes some 250 bytes of memory until the file is read. */
const MAX_TOKENS = 400_000;

/** Values of one file, aliases followed. */
const MAX_VALUES = 500_000;

/** Where something begins; counted from 1. */
export interface Position {
  line: number;
  column: number;
}

/** Is told what is wrong, and where; `message` has no full stop. */
export type Complain = (at: Position, message: string) => void;

/** A value that was read, and where each part of it stands. */
export interface Located {
  value: unknown;
  at: Position;
  /** Where it stands as a value, not its key. */
  valueAt: Position;
  /** Of an object, in the order of the file. */
  entries?: Map<string, Located>;
  items?: Located[];
  /** Secret variables in a text; aliases and merges carry them along with it. */
  secrets?: SecretText;
  /** Values it holds, with those behind aliases, and how deep they lie in one another. */
  size: number;
  depth: number;
}

/** A text with secret variables. `masked(mark)` is the text with `mark` in the place of their values. */
export interface SecretText {
  names: string[];
  masked(mark: string): string;
}

/** Replaces the variables of a text among the values. */
export type ReplaceText = (text: string, at: Position) => { text: string; secrets?: SecretText };

/**
 * Reads YAML, of which JSON is a part, without trust in whoever wrote it: depth is counted before anything is made of it, aliases are
 * followed only as far as there is room, and no text becomes anything but a value. Everything that is wrong is complained about;
 * `undefined` when nothing can be read.
 */
export function readYaml(
  text: string,
  { replace, complain }: { replace: ReplaceText; complain: Complain },
): Located | undefined {
  const lines = new LineCounter();
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  lines.addNewLine(0);
  const tokens = parseTokens(text, new Parser(lines.addNewLine), (offset) =>
    complain(
      positionOf(offset),
      `the file has more than ${MAX_TOKENS.toLocaleString('en-GB')} tokens; split it into several files`,
    ),
  );
  if (tokens === undefined) return undefined;
  const tooDeep = offsetBelow(tokens, MAX_DEPTH);
  if (tooDeep !== undefined) {
    complain(
      positionOf(tooDeep),
      `lists and objects are nested more than ${MAX_DEPTH} levels deep here; use fewer levels`,
    );
    return undefined;
  }
  const options = { uniqueKeys: false, merge: false, version: '1.2', schema: 'core' } as const;
  const documents = [...new Composer(options).compose(tokens, true, text.length)];
  const [first, second] = documents as Array<Document.Parsed | undefined>;
  // What comes after the first is mostly what it leads to.
  const [error] = [...(first?.errors ?? []), ...(first?.warnings ?? [])];
  if (error) {
    complain(positionOf(error.pos[0]), sentenceOf(error));
    return undefined;
  }
  if (second !== undefined) {
    complain(
      positionOf(second.range[0]),
      'a file must hold only one document; remove the line --- here, or split it into two files',
    );
    return undefined;
  }
  return convert(first?.contents ?? null, { positionOf, replace, complain });
}

/** Counts the tokens before the parser makes objects of them; `undefined` when there are too many. */
function parseTokens(
  text: string,
  parser: Parser,
  onTooMany: (offset: number) => void,
): CST.Token[] | undefined {
  const tokens: CST.Token[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (count > MAX_TOKENS) {
      onTooMany(parser.offset);
      return undefined;
    }
    for (const token of parser.next(lexeme)) tokens.push(token);
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

/** Where something lies deeper than that; the tokens lie in one another as deep as the text does. */
function offsetBelow(tokens: readonly CST.Token[], depth: number): number | undefined {
  const waiting: Array<[CST.Token, number]> = tokens.map((token) => [token, 0]);
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [token, at] = next;
    if (at > depth) return token.offset;
    if ('value' in token && typeof token.value === 'object' && token.value) {
      waiting.push([token.value, at]);
    }
    if (!('items' in token)) continue;
    for (const { key, value } of token.items) {
      if (key) waiting.push([key, at + 1]);
      if (value) waiting.push([value, at + 1]);
    }
  }
  return undefined;
}

/** What the parser's codes ask for; its own sentence stands before. */
const REMEDIES: Partial<Record<YAMLError['code'], string>> = {
  TAB_AS_INDENT: 'indent with spaces, not with tabs',
  BAD_INDENT: 'indent lines that belong together equally, with spaces, and close every bracket',
  MULTILINE_IMPLICIT_KEY: 'write a key on one line, followed by a colon and a space',
  BLOCK_AS_IMPLICIT_KEY: 'put text that contains a colon and a space in quotes',
  MISSING_CHAR: 'close all quotes, brackets and braces, and put a colon after each key',
  UNEXPECTED_TOKEN: 'put text that begins with a special character in quotes',
  BAD_SCALAR_START: 'put text that begins with a special character in quotes',
  BAD_DQ_ESCAPE: 'write \\\\ for a backslash, or use single quotes',
  BAD_ALIAS: '*name refers to a value marked &name; put text that begins with * in quotes',
  TAG_RESOLVE_FAILED: 'remove the word that begins with !, or put the text in quotes',
};

function sentenceOf({ code, message }: YAMLError): string {
  const [first = ''] = message.split('\n');
  const remedy = REMEDIES[code];
  const sentence = `this is not valid YAML (${first.slice(0, 200).replace(/\.$/, '')})`;
  return remedy === undefined ? sentence : `${sentence}; ${remedy}`;
}

interface Conversion {
  positionOf: (offset: number) => Position;
  replace: ReplaceText;
  complain: Complain;
}

/** More stands behind aliases than there is room for. */
class TooMuch extends Error {}

function convert(root: Node | null, { positionOf, replace, complain }: Conversion) {
  const anchors = new Map<string, Located>();
  let left = MAX_VALUES;
  const start: Position = { line: 1, column: 1 };

  const at = (node: unknown): Position => {
    const offset = (node as Node | null)?.range?.[0];
    return offset === undefined ? start : positionOf(offset);
  };

  function take(count: number, where: Position) {
    left -= count;
    if (left >= 0) return;
    complain(where, `with aliases expanded, there are more than ${MAX_VALUES} values; use fewer`);
    throw new TooMuch();
  }

  /** What it holds, counted; aliases may make it deeper than the text is. */
  function withParts(located: Omit<Located, 'size' | 'depth'>, parts: readonly Located[]): Located {
    let [size, depth] = [1, 0];
    for (const part of parts) {
      size += part.size;
      depth = Math.max(depth, part.depth + 1);
    }
    if (depth > MAX_DEPTH) {
      complain(
        located.at,
        `with aliases expanded, this is nested more than ${MAX_DEPTH} levels deep; use fewer levels`,
      );
      throw new TooMuch();
    }
    return { ...located, size, depth };
  }

  function of(node: unknown, keyAt?: Position): Located {
    const valueAt = node === null ? (keyAt ?? start) : at(node);
    const place = { at: keyAt ?? valueAt, valueAt };
    take(1, valueAt);
    if (isAlias(node)) {
      const known = anchors.get(node.source);
      if (known === undefined) {
        complain(
          valueAt,
          `nothing above is marked &${node.source}; put text that begins with * in quotes`,
        );
        return withParts({ ...place, value: undefined }, []);
      }
      take(known.size, valueAt);
      return { ...known, ...place };
    }
    const made = ofOwn(node, place);
    const name = (node as { anchor?: string } | null)?.anchor;
    if (name !== undefined) anchors.set(name, made);
    return made;
  }

  function ofOwn(node: unknown, place: Pick<Located, 'at' | 'valueAt'>) {
    if (isMap(node)) return ofMap(node, place);
    if (isSeq(node)) {
      const items = node.items.map((item) => of(item));
      return withParts({ ...place, items, value: items.map(({ value }) => value) }, items);
    }
    const value = isScalar(node) ? node.value : null;
    if (typeof value !== 'string') return withParts({ ...place, value }, []);
    const { text, secrets } = replace(value, place.valueAt);
    return withParts({ ...place, value: text, ...(secrets && { secrets }) }, []);
  }

  function ofMap(node: YAMLMap, place: Pick<Located, 'at' | 'valueAt'>): Located {
    const entries = new Map<string, Located>();
    const merged: Located[] = [];
    for (const { key, value } of node.items) {
      const keyAt = at(key);
      if (!isScalar(key) || typeof key.value === 'object') {
        complain(keyAt, 'a key must be a single word, followed by a colon and a space');
        continue;
      }
      const name = String(key.value);
      const made = of(value, keyAt);
      if (name === '<<') {
        for (const part of made.items ?? [made]) merged.push(part);
        continue;
      }
      const earlier = entries.get(name);
      if (earlier) {
        complain(
          keyAt,
          `'${name}' appears twice, first in line ${earlier.at.line}; remove one of them`,
        );
      } else entries.set(name, made);
    }
    for (const part of merged) {
      if (!part.entries) complain(part.at, '<< merges an object, such as *defaults');
      for (const [name, value] of part.entries ?? []) {
        if (!entries.has(name)) entries.set(name, { ...value, at: part.at });
      }
    }
    const value = Object.fromEntries([...entries].map(([name, part]) => [name, part.value]));
    return withParts({ ...place, entries, value }, [...entries.values()]);
  }

  try {
    return of(root);
  } catch (error) {
    if (error instanceof TooMuch) return undefined;
    throw error;
  }
}

/** The part at a path, or the last one on the way to it that is there. */
export function partAt(
  root: Located,
  path: ReadonlyArray<PropertyKey>,
): { part: Located; isThere: boolean } {
  let part = root;
  for (const step of path) {
    const next = part.entries?.get(String(step)) ?? part.items?.[Number(step)];
    if (next === undefined) return { part, isThere: false };
    part = next;
  }
  return { part, isThere: true };
}
