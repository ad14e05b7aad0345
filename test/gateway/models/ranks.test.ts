import { describe, expect, test } from 'vitest';
import type { ModelRanks } from '../../../src/contracts/gateway.ts';
import { textModels } from '../../../src/gateway/catalog/catalog.ts';
import { Catalog, type TextModel } from '../../../src/gateway/catalog/catalog-schema.ts';
import { defaultCatalog } from '../../../src/gateway/catalog/default-catalog.ts';
import { figuresOf, ranksOf } from '../../../src/gateway/models/ranks.ts';
import {
  PROVIDER_NAMES,
  type ProviderName,
} from '../../../src/gateway/providers/provider-table.ts';
import { NO_OLLAMA, startGateway } from '../../helpers/gateway/running-gateway.ts';
import { long } from '../../helpers/long.ts';

const catalog = Catalog.parse(defaultCatalog);
const models = textModels(catalog);

/** Sets of providers with a key: all of them in a long run, otherwise sets of at most two, and the full one. */
const combinations = Array.from({ length: 2 ** PROVIDER_NAMES.length }, (_, bits) =>
  PROVIDER_NAMES.filter((_, at) => bits & (1 << at)),
).filter(({ length }) => long || length <= 2 || length === PROVIDER_NAMES.length);

const firstOf = (model: TextModel, live: readonly string[]) =>
  model.upstreams.find(({ provider }) => live.includes(provider));

function compared(live: readonly ProviderName[]) {
  const ranks = ranksOf(catalog, (model) => firstOf(model, live));
  return new Map(
    models.flatMap((model) => {
      const first = firstOf(model, live);
      const own = ranks.get(model.id);
      return first && own ? [[model.id, { first, ranks: own }] as const] : [];
    }),
  );
}

/** Pairs by name: the first is no slower, no better and no more expensive than the second. */
const BY_NAME = [
  ['long-200k-fast', 'long-200k'],
  ['long-200k', 'long-200k-best'],
  ['small-4k', 'balanced-32k'],
  ['fast-8k', 'balanced-32k'],
  ['balanced-32k', 'best-32k'],
] as const;

describe('ranks of the shipped catalog, for every combination of providers,', () => {
  test('never contradict the names of the models', () => {
    for (const live of combinations) {
      const found = compared(live);
      for (const [lower, higher] of BY_NAME) {
        const [a, b] = [found.get(lower), found.get(higher)];
        if (!a || !b) continue;
        const told = { live, lower, higher };
        expect({ ...told, ok: a.ranks.speed >= b.ranks.speed }).toEqual({ ...told, ok: true });
        expect({ ...told, ok: a.ranks.quality <= b.ranks.quality }).toEqual({ ...told, ok: true });
      }
      const cheap = found.get('small-4k');
      const best = found.get('best-32k');
      if (cheap && best) expect(cheap.ranks.cost).toBeLessThanOrEqual(best.ranks.cost);
    }
  });

  test('differ where the names say so, with each provider that has a model for each', () => {
    for (const provider of ['openai', 'anthropic'] as const) {
      const found = compared([provider]);
      const of = (id: string) => found.get(id)?.ranks as ModelRanks;
      for (const [lower, higher] of BY_NAME) {
        expect(of(lower).speed).toBeGreaterThan(of(higher).speed);
        expect(of(lower).quality).toBeLessThan(of(higher).quality);
        expect(of(lower).cost).toBeLessThan(of(higher).cost);
      }
      expect(of('long-200k-fast').quality).toBeLessThan(of('balanced-32k').quality);
    }
  });

  test('are known for every model that is named, but for those that differ from question to question', () => {
    const unknown = models
      .flatMap(({ upstreams }) => upstreams)
      .filter((upstream) => upstream.provider !== 'openai' || upstream.model !== '*')
      .filter((upstream) => !figuresOf(upstream))
      .map(({ provider }) => provider);
    expect([...new Set(unknown)].sort()).toEqual(['ollama', 'openrouter']);
  });
});

test('a catalog lists the ranks of the model that answers, of the catalog where nobody knows it, and equal ones of a model that answers for several', async () => {
  const ranksIn = async (providers: Parameters<typeof startGateway>[0]) => {
    const { client } = await startGateway(providers);
    const { data } = await client.models.list();
    const found = data as unknown as Array<{ id: string; ranks?: ModelRanks }>;
    return new Map(found.map(({ id, ranks }) => [id, ranks]));
  };
  const offline = await ranksIn({});
  expect(offline.get('fast-8k')).toEqual({ speed: 3, quality: 1, cost: 1 });
  expect(offline.get('balanced-32k')).toEqual({ speed: 2, quality: 2, cost: 2 });
  expect(offline.get('long-200k-best')).toEqual({ speed: 1, quality: 3, cost: 3 });
  const groq = await ranksIn({ providers: { ...NO_OLLAMA, groq: { apiKey: 'k' } } });
  expect(groq.get('fast-8k')?.quality).toBeLessThan(groq.get('balanced-32k')?.quality ?? 0);
  expect(groq.get('best-32k')).toEqual(groq.get('balanced-32k'));
  // No provider serves it there, so the catalog decides its rank.
  expect(groq.get('long-200k')).toBeDefined();
  const auto = await ranksIn({ providers: { ...NO_OLLAMA, openrouter: { apiKey: 'k' } } });
  expect(auto.get('fast-8k')).toEqual(auto.get('best-32k'));
  const text = {
    kind: 'text' as const,
    context_length: 1,
    upstreams: [{ provider: 'openai' as const, model: 'gpt-5.6-sol' }],
  };
  const ranks = { speed: 7, quality: 8, cost: 9 };
  const own = await ranksIn({
    catalog: {
      models: [
        { id: 'a', ...text, ranks },
        { id: 'b', ...text },
      ],
    },
  });
  expect([own.get('a'), own.get('b')]).toEqual([ranks, undefined]);
});
