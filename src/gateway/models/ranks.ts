import type { ModelRanks } from '../../contracts/gateway.ts';
import { textModels } from '../catalog/catalog.ts';
import type { Catalog, TextModel } from '../catalog/catalog-schema.ts';
import type { ProviderName } from '../providers/provider.ts';

/** What is known of a provider's model. */
interface ModelFigures {
  /** How fast it answers, from 1 to 10. */
  speed: number;
  /** How good its answers are, from 1 to 10. */
  quality: number;
  /** List price of a million tokens, US dollars: what is sent, and what comes back. */
  price: readonly [input: number, output: number];
}

/**
 * The models that the shipped catalog names, as their makers describe them, looked up on 2026-11-23; none was measured from
 * here. Prices are list prices for short prompts. Speed and quality are this table's own scale, in the order in which makers
 * set their models beside one another: OpenAI's and Google's model pages, Anthropic's "Models overview" (comparative
 * latency), Groq's "Supported models" (tokens a second), xAI's "Models". Only their order counts.
 * No figures for what changes from question to question, or from machine to machine: `openrouter/auto` and Ollama's.
 */
const FIGURES: Partial<Record<ProviderName, Readonly<Record<string, ModelFigures>>>> = {
  openai: {
    'gpt-5.6-luna': { speed: 8, quality: 5, price: [0.2, 1.2] },
    'gpt-5.6-terra': { speed: 6, quality: 7, price: [2, 12] },
    'gpt-5.6-sol': { speed: 4, quality: 9, price: [5, 30] },
  },
  anthropic: {
    'claude-haiku-5-5': { speed: 9, quality: 5, price: [0.1, 0.5] },
    'claude-sonnet-5': { speed: 6, quality: 7, price: [2, 10] },
    'claude-opus-5': { speed: 4, quality: 9, price: [5, 25] },
  },
  gemini: {
    // Its price is that of the Flash-Lite before it: unverified.
    'gemini-3.5-flash-lite': { speed: 9, quality: 4, price: [0.25, 1.5] },
    'gemini-3.8-flash': { speed: 7, quality: 7, price: [0.75, 3.75] },
  },
  mistral: {
    'mistral-small-latest': { speed: 8, quality: 4, price: [0.1, 0.3] },
    'mistral-medium-latest': { speed: 6, quality: 6, price: [1.5, 7.5] },
    // Newer than the middle one, better, and cheaper by list price.
    'mistral-large-latest': { speed: 5, quality: 7, price: [1.36, 4.18] },
  },
  groq: {
    'openai/gpt-oss-20b': { speed: 10, quality: 3, price: [0.075, 0.3] },
    'openai/gpt-oss-120b': { speed: 9, quality: 5, price: [0.15, 0.6] },
  },
  xai: {
    'grok-4.3': { speed: 7, quality: 6, price: [1.25, 2.5] },
    'grok-4.6': { speed: 5, quality: 8, price: [2, 6] },
  },
  deepseek: {
    'deepseek-flash': { speed: 7, quality: 6, price: [0.14, 0.28] },
    // Answered by the Flash, and billed as it, for the time being.
    'deepseek-v4-pro': { speed: 7, quality: 6, price: [0.14, 0.28] },
  },
};

/** A provider and its name for a model. */
interface Answering {
  provider: string;
  model: string;
}

type Figure = keyof ModelRanks;

const VALUES: Record<Figure, (figures: ModelFigures) => number> = {
  speed: ({ speed }) => speed,
  quality: ({ quality }) => quality,
  // Three tokens are sent for each that comes back, as comparisons of prices commonly have it.
  cost: ({ price: [input, output] }) => (3 * input + output) / 4,
};

/**
 * The ranks of the text models, by id: those of the model that answers first, so that two which the same one answers have
 * the same. An operator's own ranks stand as they were written, and then none are made up beside them. A model that nobody
 * knows figures of, or nobody serves, has none.
 */
export function ranksOf(
  catalog: Catalog,
  answersFirst: (model: TextModel) => Answering | undefined,
): ReadonlyMap<string, ModelRanks> {
  const models = textModels(catalog);
  const written = models.flatMap(({ id, ranks }) => (ranks ? [[id, ranks] as const] : []));
  if (written.length > 0) return new Map(written);
  const known = models.flatMap((model) => {
    const answering = answersFirst(model);
    const figures = answering && figuresOf(answering);
    return figures ? [{ id: model.id, figures }] : [];
  });
  const places = {} as Record<Figure, number[]>;
  for (const figure of Object.keys(VALUES) as Figure[]) {
    const values = known.map(({ figures }) => VALUES[figure](figures));
    places[figure] = [...new Set(values)].sort((a, b) => a - b);
  }
  const rank = (figure: Figure, figures: ModelFigures) =>
    places[figure].indexOf(VALUES[figure](figures)) + 1;
  return new Map(
    known.map(({ id, figures }) => [
      id,
      {
        speed: rank('speed', figures),
        quality: rank('quality', figures),
        cost: rank('cost', figures),
      },
    ]),
  );
}

/** What is known of a provider's model; nothing of most. */
export function figuresOf({ provider, model }: Answering): ModelFigures | undefined {
  const models = FIGURES[provider as ProviderName];
  return models && Object.hasOwn(models, model) ? models[model] : undefined;
}
