import { type CardPart, tablePart } from '../shared/card.ts';
import { shortened } from '../shared/text-format.ts';
import type { RatingCounts } from './feedback.ts';

const MAX_ROWS = 10;

/** Ratings by model for the usage card; nothing without ratings. Pure. */
export function ratingsTable(ratings: readonly RatingCounts[]): CardPart[] {
  if (ratings.length === 0) return [];
  const others = ratings.slice(MAX_ROWS);
  const sumOf = (as: 'good' | 'bad') => others.reduce((sum, one) => sum + one[as], 0);
  const rest = { model: `${others.length} others`, good: sumOf('good'), bad: sumOf('bad') };
  const shown = [...ratings.slice(0, MAX_ROWS), ...(others.length > 0 ? [rest] : [])];
  return [
    tablePart(
      ['Model', 'Rated'],
      shown.map(({ model, good, bad }) => [shortened(model, 60), `👍 ${good} · 👎 ${bad}`]),
    ),
  ];
}
