import type { english } from './english.ts';

/** A meaning of a word in a question. */
export type Concept = keyof typeof english;

/**
 * The words of one language: words and phrases separated by commas, `*` for any ending. Weekdays (from Sunday), months (from
 * January), numbers (from 0) and ordinals (from first) are groups separated by `|`. Words that mean nothing are `filler`; `general`
 * are words of other subjects, `service` and `technical` are nouns for what is watched.
 */
export type Vocabulary = Readonly<Record<Concept, string>>;

/** Concepts in a row of words. */
export const listOf = (concepts: string): readonly Concept[] => concepts.split(' ') as Concept[];
