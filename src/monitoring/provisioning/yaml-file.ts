import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import type { SecretText } from './variables.ts';

/** Lines and columns count from 1. */
export interface TextPosition {
  line: number;
  column: number;
}

/** Reports a problem and its position; `message` has no full stop. */
export type ReportProblem = (at: TextPosition, message: string) => void;

/** A value of a file, with the position of each part. */
export interface LocatedValue {
  value: unknown;
  /** Position of its key, or of the value if it has none. */
  at: TextPosition;
  /** Position of the value itself. */
  valueAt: TextPosition;
  entries?: Map<string, LocatedValue>;
  items?: LocatedValue[];
  /** Secret variables in a text; aliases and merges carry them along. */
  secrets?: SecretText;
}

interface YamlReader {
  report: ReportProblem;
  replace: (text: string, at: TextPosition) => { text: string; secrets?: SecretText };
}

/** Reads YAML, which includes JSON, and reports everything that is wrong. `undefined` if nothing can be read. */
export function readYaml(text: string, reader: YamlReader): LocatedValue | undefined {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    uniqueKeys: false,
    merge: false,
    version: '1.2',
    schema: 'core',
  });
  const positionOf = (offset: number): TextPosition => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  // Later errors are mostly consequences of the first.
  const [error] = [...document.errors, ...document.warnings];
  if (error) {
    reader.report(positionOf(error.pos[0]), sentenceOf(error));
    return undefined;
  }
  return new YamlConversion(reader, positionOf).convert(document.contents);
}

/** Remedies by the parser's error codes; they follow its own sentence. */
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
  RESOURCE_EXHAUSTION: 'nest lists and objects less deeply',
};

function sentenceOf({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') {
    return 'a file must hold only one document; remove the line --- here, or split it into two files';
  }
  const [first = ''] = message.split('\n');
  const remedy = REMEDIES[code];
  const sentence = `this is not valid YAML (${first.slice(0, 200).replace(/\.$/, '')})`;
  return remedy === undefined ? sentence : `${sentence}; ${remedy}`;
}

type ValuePlace = Pick<LocatedValue, 'at' | 'valueAt'>;

/** Turns the nodes of one document into values. An alias shares the value it refers to, so nothing grows by aliases. */
class YamlConversion {
  private readonly anchors = new Map<string, LocatedValue>();
  private readonly reader: YamlReader;
  private readonly positionOf: (offset: number) => TextPosition;

  constructor(reader: YamlReader, positionOf: (offset: number) => TextPosition) {
    this.reader = reader;
    this.positionOf = positionOf;
  }

  convert(node: unknown, keyAt?: TextPosition): LocatedValue {
    const valueAt = this.startOf(node) ?? keyAt ?? { line: 1, column: 1 };
    const place = { at: keyAt ?? valueAt, valueAt };
    if (isAlias(node)) return this.convertAlias(node, place);
    const located = this.convertValue(node, place);
    const anchor = (node as { anchor?: string } | null)?.anchor;
    if (anchor !== undefined) this.anchors.set(anchor, located);
    return located;
  }

  private startOf(node: unknown): TextPosition | undefined {
    const offset = (node as Node | null)?.range?.[0];
    return offset === undefined ? undefined : this.positionOf(offset);
  }

  private convertAlias({ source }: Alias, place: ValuePlace): LocatedValue {
    const known = this.anchors.get(source);
    if (known) return { ...known, ...place };
    this.reader.report(
      place.valueAt,
      `nothing above is marked &${source}; put text that begins with * in quotes`,
    );
    return { ...place, value: undefined };
  }

  private convertValue(node: unknown, place: ValuePlace): LocatedValue {
    if (isMap(node)) return this.convertMap(node, place);
    if (isSeq(node)) {
      const items = node.items.map((item) => this.convert(item));
      return { ...place, items, value: items.map(({ value }) => value) };
    }
    const value = isScalar(node) ? node.value : null;
    if (typeof value !== 'string') return { ...place, value };
    const { text, secrets } = this.reader.replace(value, place.valueAt);
    return { ...place, value: text, secrets };
  }

  private convertMap(node: YAMLMap, place: ValuePlace): LocatedValue {
    const { report } = this.reader;
    const entries = new Map<string, LocatedValue>();
    const merged: LocatedValue[] = [];
    for (const { key, value } of node.items) {
      const keyAt = this.startOf(key) ?? place.valueAt;
      if (!isScalar(key) || typeof key.value === 'object') {
        report(keyAt, 'a key must be a single word, followed by a colon and a space');
        continue;
      }
      const name = String(key.value);
      const located = this.convert(value, keyAt);
      const earlier = entries.get(name);
      if (name === '<<') {
        for (const part of located.items ?? [located]) merged.push(part);
      } else if (!earlier) entries.set(name, located);
      else {
        const { line } = earlier.at;
        report(keyAt, `'${name}' appears twice, first in line ${line}; remove one of them`);
      }
    }
    for (const part of merged) {
      if (!part.entries) report(part.at, '<< merges an object, such as *defaults');
      for (const [name, value] of part.entries ?? []) {
        if (!entries.has(name)) entries.set(name, { ...value, at: part.at });
      }
    }
    const value = Object.fromEntries([...entries].map(([name, part]) => [name, part.value]));
    return { ...place, entries, value };
  }
}

/** The part at a path, or the last part on the way that exists. */
export function partAt(
  root: LocatedValue,
  path: ReadonlyArray<PropertyKey>,
): { part: LocatedValue; isPresent: boolean } {
  let part = root;
  for (const step of path) {
    const next = part.entries?.get(String(step)) ?? part.items?.[Number(step)];
    if (next === undefined) return { part, isPresent: false };
    part = next;
  }
  return { part, isPresent: true };
}
