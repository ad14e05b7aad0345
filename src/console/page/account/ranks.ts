import type { ListedModel } from '../../account/api-types.ts';

export type Rank = 'speed' | 'quality' | 'cost';

const TEXTS: Record<Rank, readonly [string, string, string, string, string]> = {
  speed: ['slowest', 'slow', 'medium', 'fast', 'fastest'],
  quality: ['most basic', 'basic', 'medium', 'good', 'best'],
  cost: ['cheapest', 'cheap', 'medium', 'expensive', 'most expensive'],
};

/** Names a rank of `count`. Only the first and the last get the superlatives. Pure. */
export function rankWord(kind: Rank, rank: number, count: number): string {
  const text = TEXTS[kind];
  if (count <= 1) return text[2];
  if (rank <= 1) return text[0];
  if (rank >= count) return text[4];
  const part = (rank - 1) / (count - 1);
  if (part < 1 / 3) return text[1];
  return part <= 2 / 3 ? text[2] : text[3];
}

export const ORDERS = {
  catalog: 'Catalog order',
  speed: 'Fastest first',
  quality: 'Best first',
  cost: 'Cheapest first',
  context: 'Largest context first',
  name: 'By name',
} as const;
export type Order = keyof typeof ORDERS;

export interface ModelFilter {
  text: string;
  seesImages: boolean;
  order: Order;
}

/** Filters and sorts models; the ones without a rank come last. Pure. */
export function chosenModels(
  models: readonly ListedModel[],
  { text, seesImages, order }: ModelFilter,
): ListedModel[] {
  const wanted = text.trim().toLowerCase();
  const found = models.filter(
    ({ id, description = '', provider, accepts }) =>
      `${id} ${description} ${provider}`.toLowerCase().includes(wanted) &&
      (!seesImages || accepts?.includes('image')),
  );
  if (order === 'catalog') return found;
  if (order === 'name') return found.sort((a, b) => a.id.localeCompare(b.id));
  return found.sort((a, b) => placeOf(a, order) - placeOf(b, order));
}

function placeOf({ ranks, contextTokens }: ListedModel, order: Rank | 'context'): number {
  if (order === 'context') return contextTokens === undefined ? Infinity : -contextTokens;
  if (!ranks) return Infinity;
  return order === 'cost' ? ranks.cost : -ranks[order];
}

/** Formats a context size as providers do: 200K is 200,000 tokens, 8K is 8,192. */
export function contextText(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  if (tokens >= 1_000_000) return `${Math.round(tokens / 100_000) / 10}M`;
  return `${tokens % 1_024 === 0 ? tokens / 1_024 : Math.round(tokens / 1_000)}K`;
}
