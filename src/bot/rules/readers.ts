import { CheckType } from '../../contracts/monitoring.ts';
import type { Grammar, QuestionKind, Unit } from './languages/grammar.ts';
import { createNameReader } from './names.ts';
import { type AskedSpan, createSpanReader } from './spans.ts';
import { createTemplates, matchOf, oneOf, type Template, wordLike } from './templates.ts';
import type { Word } from './words.ts';

/** What a question says. */
export interface Said {
  kind: QuestionKind;
  monitor?: string;
  span?: AskedSpan;
  count?: number;
  unit?: Unit;
  /** A type of check. */
  type?: string;
  /** What to watch, and by which name. */
  target?: string;
  name?: string;
}

const NAME: Template = { kind: 'words', max: 10 };
/** An address of a page, or the name of a host. */
const ADDRESS = wordLike(/^(?:https?:\/\/.+|(?:[a-z\d-]+\.)+[a-z]{2,}(?:[:/].*)?)$/);

/** The types of check, as they stand in lines. */
const TYPES = CheckType.options.join('|').toLowerCase();

/** Stands for a time in a line. */
const TIME = '§';

const SLOTS = {
  span: wordLike(/^§$/),
  ...{ m: NAME, name: NAME, target: ADDRESS, address: ADDRESS },
  type: wordLike(new RegExp(`^(?:${TYPES})$`)),
  typed: wordLike(new RegExp(`^(?:${TYPES})-(?:monitore|monitoren|checks)$`)),
};

/** A time can be read from several of its words on. */
const MAX_READINGS = 10;

/** Words that one thing takes at most, of what polite people say behind a question. */
const MAX_CLOSING = 4;

/** What reads questions of one language: everything that a question may say, once for each way in which it is understood. */
export function createReader(grammar: Grammar) {
  const { macros } = grammar;
  const readName = createNameReader(grammar);
  const { slots: spanSlots, spanAt, readNumber, readUnit } = createSpanReader(grammar);
  const parse = createTemplates({ macros, slots: { ...spanSlots, ...SLOTS } });
  const questions = (Object.entries(grammar.questions) as Array<[QuestionKind, string[]]>).flatMap(
    ([kind, all]) => all.map((one) => [kind, parse(one)] as const),
  );
  const polite = new Set(grammar.polite.split(' '));
  const opening = oneOf(grammar.openings.map(parse));
  const closing = oneOf(grammar.closings.map(parse));

  /** The question without what polite people say around it. */
  function bare(words: readonly Word[]): readonly Word[] {
    let left: readonly Word[] = words.filter((word) => !polite.has(word.folded));
    for (;;) {
      const line = foldedOf(left);
      const before = matchOf(opening, line, { isWhole: false })?.length ?? 0;
      const behind = before > 0 ? 0 : closingOf(line);
      if (before + behind === 0) return left;
      left = left.slice(before, left.length - behind);
    }
  }

  /** How many of the last words are polite ones. */
  function closingOf(line: readonly string[]): number {
    for (let count = Math.min(MAX_CLOSING, line.length); count > 0; count -= 1) {
      if (matchOf(closing, line.slice(-count))) return count;
    }
    return 0;
  }

  /** The words as they are, and with each time in them as one word. */
  function withTimes(words: readonly Word[], nowMs: number) {
    const readings: Array<{ words: readonly Word[]; span?: AskedSpan }> = [{ words }];
    for (const [at, { start }] of words.entries()) {
      const found = spanAt(words.slice(at), nowMs);
      if (!found) continue;
      const time = { text: TIME, folded: TIME, start, end: start };
      const around = [...words.slice(0, at), time, ...words.slice(at + found.length)];
      readings.push({ words: around, span: found.span });
      // Who speaks of so many times asks for more than one thing.
      if (readings.length > MAX_READINGS) return [];
    }
    return readings;
  }

  return function read(all: readonly Word[], question: string, nowMs: number): Said[] {
    const asked = bare(all);
    // What looks like an opening may be the question itself: “show …”.
    return (asked.length === all.length ? [all] : [all, asked])
      .flatMap((some) => withTimes(some, nowMs))
      .flatMap(({ words, span }) => {
        const line = foldedOf(words);
        return questions.flatMap(([kind, template]) => {
          const found = matchOf(template, line);
          if (!found) return [];
          const said: Said = { kind };
          for (const { name, from, to } of found.slots) {
            if (!take(said, name, words.slice(from, to), span)) return [];
          }
          return [said];
        });
      });

    /** Whether what stands in a slot is understood. */
    function take(
      said: Said,
      slot: string,
      own: readonly Word[],
      span: AskedSpan | undefined,
    ): boolean {
      const text = foldedOf(own).join(' ');
      const put = <K extends keyof Said>(key: K, value: Said[K] | undefined) => {
        if (value === undefined || said[key] !== undefined) return false;
        said[key] = value;
        return true;
      };
      if (slot === 'm' || slot === 'address') return put('monitor', readName(own, question));
      if (slot === 'name') return put('name', readName(own, question));
      if (slot === 'target') return put('target', own[0]?.text);
      if (slot === 'span') return put('span', span);
      if (slot === 'n') return put('count', readNumber(text));
      if (slot === 'unit') return put('unit', readUnit(text));
      return put('type', text.split('-')[0]?.toUpperCase());
    }
  };
}

const foldedOf = (words: readonly Word[]) => words.map((word) => word.folded);
