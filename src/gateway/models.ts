import { z } from 'zod';
import { ErrorCode } from '../contracts/error.ts';
import { GatewayPath, Model, ModelList } from '../contracts/gateway.ts';
import type { Authenticate } from '../http/authentication.ts';
import { HttpError } from '../http/errors.ts';
import type { HttpRequest, HttpServer } from '../http/server.ts';
import type { Catalog } from './catalog.ts';
import { OFFLINE } from './offline.ts';
import type { Routing } from './routing.ts';

/** Adds GET /v1/models and GET /v1/models/:id. */
export function addModels(options: {
  server: HttpServer;
  authenticate: Authenticate;
  catalog: Catalog;
  routing: Routing;
}): void {
  const { server, authenticate, catalog, routing } = options;
  const data = catalog.models.map((model) => listed(model, routing));
  const onRequest = async (request: HttpRequest) => void authenticate(request);

  server.get(
    GatewayPath.models,
    {
      schema: {
        summary: 'List the models',
        security: [{ bearer: [] }],
        tags: ['gateway'],
        response: { 200: ModelList },
      },
      onRequest,
    },
    () => ({ object: 'list' as const, data }),
  );

  server.get(
    `${GatewayPath.models}/:id`,
    {
      schema: {
        summary: 'Show one model',
        security: [{ bearer: [] }],
        tags: ['gateway'],
        params: z.object({ id: z.string() }),
        response: { 200: Model },
      },
      onRequest,
    },
    ({ params }) => {
      const model = data.find(({ id }) => id === params.id);
      if (model) return model;
      throw new HttpError(404, ErrorCode.modelNotFound, `There is no model '${params.id}'.`, {
        param: 'model',
      });
    },
  );
}

/** A model as callers see it: how it is answered stays with us, but for the provider's name. */
function listed(model: Catalog['models'][number], routing: Routing): Model {
  if (model.kind === 'image') return { ...model, object: 'model', owned_by: OFFLINE };
  const { upstreams, ...shown } = model;
  const [first] = routing.upstreamsOf(model);
  return { ...shown, object: 'model', owned_by: first?.provider ?? OFFLINE };
}
