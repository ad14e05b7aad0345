import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import {
  type ChatRequest,
  GatewayPath,
  Model,
  ModelList,
  type ModelRanks,
  OFFLINE_PROVIDER,
  OPTIONAL_PARAMETERS,
} from '../../contracts/gateway.ts';
import type { Authenticate } from '../../http/authentication.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpRequest, HttpServer } from '../../http/server-types.ts';
import { keyOnlyAnswers } from '../../http/shared-answers.ts';
import type { Catalog } from '../catalog/catalog-schema.ts';
import type { ProviderTable } from '../providers/provider.ts';
import type { Routing } from '../upstreams/routing.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { ranksOf } from './ranks.ts';

/** Adds GET /v1/models and GET /v1/models/:id. */
export function addModels(options: {
  server: HttpServer;
  authenticate: Authenticate;
  catalog: Catalog;
  routing: Routing;
  table: ProviderTable;
}): void {
  const { server, authenticate, catalog, routing, table } = options;
  const list = () => {
    const ranks = ranksOf(catalog, routing.answersFirst, table);
    return catalog.models.map((model) => toListedModel(model, routing, ranks.get(model.id)));
  };
  const onRequest = async (request: HttpRequest) => {
    await authenticate.confirm(authenticate(request));
  };

  server.get(
    GatewayPath.models,
    {
      schema: {
        operationId: 'listModels',
        summary: 'List the models',
        tags: ['gateway'],
        security: [{ bearer: [] }],
        response: { 200: ModelList },
        components: { Model, ModelList },
        answers: { ...keyOnlyAnswers, 200: 'The models, in catalog order.' },
      },
      onRequest,
    },
    () => ({ object: 'list' as const, data: list() }),
  );

  server.get(
    `${GatewayPath.models}/:id`,
    {
      schema: {
        operationId: 'showModel',
        summary: 'Show one model',
        tags: ['gateway'],
        security: [{ bearer: [] }],
        params: z.object({ id: z.string().describe('ID of the model, as listed.') }),
        response: { 200: Model },
        components: { Model },
        answers: { ...keyOnlyAnswers, 200: 'The model.', 404: 'Unknown model.' },
      },
      onRequest,
    },
    ({ params }) => {
      const model = list().find(({ id }) => id === params.id);
      if (model) return model;
      throw new HttpError(404, ErrorCode.modelNotFound, `Unknown model '${params.id}'.`, {
        param: 'model',
      });
    },
  );
}

/** Returns a model as clients see it, with the upstream that answers first. */
function toListedModel(
  model: Catalog['models'][number],
  routing: Routing,
  ranks: ModelRanks | undefined,
): Model {
  if (model.kind === 'image') return { ...model, object: 'model', owned_by: OFFLINE_PROVIDER };
  const { upstreams, ...shown } = model;
  const [first] = routing.upstreamsOf(model);
  const why = routing.unservedReason(model);
  return {
    ...shown,
    object: 'model',
    owned_by: first?.provider ?? OFFLINE_PROVIDER,
    ...(ranks && { ranks }),
    ...supportedBy(first),
    ...(first && first.provider !== OFFLINE_PROVIDER && { upstream: upstreamOf(first) }),
    available: why === undefined,
    unavailable_reason: why,
  };
}

const upstreamOf = ({ model, contextTokens }: Upstream): Model['upstream'] => ({
  model,
  context_length: contextTokens,
});

/** Parameters in `supported_parameters`. `tools` isn't in the contract, but clients with functions choose models by it. */
const LISTED_PARAMETERS = [...OPTIONAL_PARAMETERS, 'tools'] as const;

const SOME_TOOLS = [{ type: 'function', function: { name: 'some' } }];

/** Lists the parameters that the upstream supports: it doesn't drop them from a request. */
function supportedBy(upstream: Upstream | undefined): Pick<Model, 'supported_parameters'> {
  if (!upstream) return {};
  const supported_parameters = LISTED_PARAMETERS.filter((name) => {
    const value = name === 'tools' ? SOME_TOOLS : 0.5;
    const request = { model: '', messages: [], [name]: value } as unknown as ChatRequest;
    return !upstream.dropped?.(request).includes(name);
  });
  return { supported_parameters };
}
