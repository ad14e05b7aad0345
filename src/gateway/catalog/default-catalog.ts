import type { CatalogModels, Tier } from '../providers/provider.ts';
import { PROVIDERS } from '../providers/provider-table.ts';
import type { CatalogInput, UpstreamName } from './catalog-schema.ts';

const K = 1024;

/** Providers that are tried first for a tier; for the others it is the first of the table. */
const FIRST: Partial<Record<Tier, string>> = { best: 'anthropic' };

/** Returns the upstreams for a tier: the providers of the table that have such models. */
function upstreams(
  tier: Tier,
  suits: (models: CatalogModels) => boolean = () => true,
): UpstreamName[] {
  const isFirst = ({ provider }: UpstreamName) => provider === FIRST[tier];
  return Object.entries<{ catalog: CatalogModels }>(PROVIDERS)
    .filter(([, { catalog }]) => suits(catalog))
    .map(([provider, { catalog }]) => ({ provider, model: catalog.names[tier] }))
    .sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)))
    .flatMap((named) =>
      // Another service may be at OpenAI's address, and it may have none of these names.
      named.provider === 'openai' ? [named, { ...named, model: '*' }] : [named],
    );
}

const withLongPrompts = ({ takesLongPrompts }: CatalogModels) => takesLongPrompts;
const withImages = ({ takesImages }: CatalogModels) => takesImages;

/**
 * The shipped catalog: nine text and four image models with exactly the contract's context sizes, resolutions and order.
 * Our choice: 8K is 8 x 1024 tokens and so on up to 32K, and 200K is 200,000. Upstreams and ranks follow from the table of
 * the providers.
 */
export const defaultCatalog: CatalogInput = {
  models: [
    {
      id: 'fast-8k',
      kind: 'text',
      context_length: 8 * K,
      description: 'Quick answers to everyday questions.',
      upstreams: upstreams('light'),
    },
    {
      id: 'balanced-32k',
      kind: 'text',
      context_length: 32 * K,
      description: 'Good answers at a medium price, for longer conversations.',
      upstreams: upstreams('middle'),
    },
    {
      id: 'small-4k',
      kind: 'text',
      context_length: 4 * K,
      description: 'Fast and cheap, for short questions.',
      upstreams: upstreams('light'),
    },
    {
      id: 'chat-16k',
      kind: 'text',
      context_length: 16 * K,
      description: 'Cheap, with room for longer conversations.',
      upstreams: upstreams('light'),
    },
    {
      id: 'long-200k-fast',
      kind: 'text',
      context_length: 200_000,
      description: 'Fast answers about long documents and logs.',
      upstreams: upstreams('light', withLongPrompts),
    },
    {
      id: 'long-200k',
      kind: 'text',
      context_length: 200_000,
      description: 'Careful answers about long documents and logs.',
      upstreams: upstreams('middle', withLongPrompts),
    },
    {
      id: 'long-200k-best',
      kind: 'text',
      context_length: 200_000,
      description: 'High quality at a high cost, for long and hard questions.',
      upstreams: upstreams('best', withLongPrompts),
    },
    {
      id: 'best-32k',
      kind: 'text',
      context_length: 32 * K,
      description: 'High quality for hard questions of normal length.',
      upstreams: upstreams('best'),
    },
    {
      id: 'vision-16k',
      kind: 'text',
      context_length: 16 * K,
      input: ['text', 'image'],
      description: 'Answers questions about images.',
      upstreams: upstreams('middle', withImages),
    },
    {
      id: 'image-wide',
      kind: 'image',
      resolutions: ['1024x1024', '1792x1024'],
      description: 'Square to wide images.',
    },
    {
      id: 'image-small',
      kind: 'image',
      resolutions: ['256x256', '1024x1024'],
      description: 'Small to medium-sized images.',
    },
    {
      id: 'image-square',
      kind: 'image',
      resolutions: ['1024x1024'],
      description: 'Square images of one size.',
    },
    {
      id: 'image-large',
      kind: 'image',
      resolutions: ['1024x1024', '2048x2048'],
      description: 'Large square images.',
    },
  ],
};
