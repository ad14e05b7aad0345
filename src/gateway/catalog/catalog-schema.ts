import { z } from 'zod';
import { ModelRanks } from '../../contracts/gateway.ts';
import { PROVIDERS } from '../providers/provider-table.ts';

const ModelId = z
  .string()
  .regex(/^[A-Za-z0-9][\w.:/-]{0,99}$/, 'use at most 100 letters, digits and . _ : / -');

/** `created` of models without one in the catalog: 1 November 2026, Unix seconds. */
const CREATED = 1_793_491_200;

const shared = {
  id: ModelId,
  created: z.int().nonnegative().default(CREATED),
  description: z.string().max(500).optional(),
  ranks: ModelRanks.optional(),
};

/** Creates the schema of a catalog whose upstreams are models of these providers. */
export function catalogSchema(providerNames: readonly string[]) {
  /** A provider and its own name for the model. */
  const UpstreamName = z.strictObject({
    provider: z.enum(providerNames),
    /** `*` stands for any model that an Ollama lists, or another service at `OPENAI_BASE_URL` if it lists no other name. */
    model: z.string().min(1).max(200),
  });
  const TextModel = z.strictObject({
    ...shared,
    kind: z.literal('text'),
    context_length: z.int().positive(),
    input: z
      .array(z.enum(['text', 'image']))
      .refine((kinds) => kinds.includes('text'), 'must contain "text"')
      .default(['text']),
    /** In the order in which they are tried. */
    upstreams: z.array(UpstreamName).max(50).default([]),
  });
  const ImageModel = z.strictObject({
    ...shared,
    kind: z.literal('image'),
    resolutions: z.array(z.string().regex(/^\d+x\d+$/, 'write sizes like 1024x1024')).min(1),
  });
  return z.strictObject({
    models: z
      .array(z.discriminatedUnion('kind', [TextModel, ImageModel]))
      .refine(
        (models) => models.some(({ kind }) => kind === 'text'),
        'needs at least one text model',
      )
      .superRefine((models, context) => {
        const ids = new Set<string>();
        for (const [at, { id }] of models.entries()) {
          if (ids.has(id)) {
            context.addIssue({
              code: 'custom',
              path: [at, 'id'],
              message: `'${id}' is listed twice`,
            });
          }
          ids.add(id);
        }
      }),
  });
}

/** Models of this gateway, in display order. */
export const Catalog = catalogSchema(Object.keys(PROVIDERS));
export type Catalog = z.infer<typeof Catalog>;
export type TextModel = Extract<Catalog['models'][number], { kind: 'text' }>;
export type UpstreamName = TextModel['upstreams'][number];

/** A catalog as an operator writes it: fields with a default may be absent. */
export type CatalogInput = z.input<typeof Catalog>;
