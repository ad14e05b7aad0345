import { long } from './long.ts';

/** Rows of a table that only `npm run test:long` goes through: variants of what the others show. */
export const longOnly = <const Row>(rows: readonly Row[]): readonly Row[] => (long ? rows : []);
