import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifySchema } from 'fastify';
import { z } from 'zod';
import { ErrorBody } from '../contracts/error.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** The route's responses, only for the OpenAPI document. */
    answers?: Answers;
    /** Named schemas that appear once in the document. */
    components?: Record<string, z.ZodType>;
  }
}

/** Responses by status. A sentence is enough if the body is the error body or the route's `response`. */
export type Answers = Record<number, string | Answer>;

export interface Answer {
  description: string;
  /** Beside `x-request-id`. A name means the same everywhere. */
  headers?: Record<string, Header>;
  /** Bodies by media type. */
  content?: Record<string, { schema: z.ZodType | Json; example?: unknown }>;
}

export interface Header {
  description: string;
  schema: { type: 'string' | 'integer' };
}

const ABOUT =
  'The HTTP APIs of this Askwatch. Every operation can also answer with an ErrorBody and status 400 (not a valid HTTP request), 404 (unknown path), 405 (method not allowed), 414 or 431 (path or headers too long).';

const REQUEST_ID: Header = {
  description: 'ID of this request, also in the log.',
  schema: { type: 'string' },
};

/** A request that does not come in time is answered before it has an id. */
const WITHOUT_ID = 408;

/** Holds an operation's responses until the document is complete; @fastify/swagger would drop their headers. */
const ANSWERS = 'x-answers';

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key for the service.' },
  apiKey: {
    type: 'apiKey',
    name: 'X-API-Key',
    in: 'header',
    description: 'An API key for the service.',
  },
} as const;

type Json = Record<string, unknown>;
type Io = 'input' | 'output';
type Names = z.core.$ZodRegistry<{ id: string }>;

/** OpenAPI 3.1, whose schemas are JSON Schema. */
export function openApi(version: string): FastifyDynamicSwaggerOptions {
  const names: Record<Io, Names> = {
    input: z.registry<{ id: string }>(),
    output: z.registry<{ id: string }>().add(ErrorBody, { id: 'ErrorBody' }),
  };
  const headers: Record<string, Header> = {};

  function schemaOf(schema: z.ZodType, io: Io): Json {
    const name = names[io].get(schema);
    if (name) return { $ref: schemaPath(name.id) };
    const { $schema: _, ...json } = z.toJSONSchema(schema, conversion(io));
    return json;
  }

  function headerOf(header: Header, name: string): Json {
    const known = headers[name] ?? header;
    if (known.description !== header.description) {
      throw new Error(`The header ${name} is described in two ways.`);
    }
    headers[name] = known;
    return { $ref: `#/components/headers/${name}` };
  }

  function answerOf(told: string | Answer, status: string, body: unknown): Json {
    const answer: Answer = typeof told === 'string' ? { description: told } : told;
    const schema = Number(status) >= 400 ? ErrorBody : body;
    const content = answer.content ?? (isZod(schema) ? { 'application/json': { schema } } : {});
    const sent: Record<string, Header> =
      Number(status) === WITHOUT_ID ? {} : { 'x-request-id': REQUEST_ID };
    return {
      description: answer.description,
      headers: mapValues({ ...sent, ...answer.headers }, headerOf),
      content: mapValues(content, (media) => ({
        ...media,
        schema: isZod(media.schema) ? schemaOf(media.schema, 'output') : media.schema,
      })),
    };
  }

  function routeOf(route: FastifySchema): Json {
    const { body, querystring, params, headers: sent, response, ...others } = route;
    const { answers, components = {}, ...rest } = others;
    for (const [id, schema] of Object.entries(components)) {
      names[schema === body ? 'input' : 'output'].add(schema, { id });
    }
    const bodies = (response ?? {}) as Json;
    const inputs = Object.entries({ body, querystring, params, headers: sent }).filter(
      ([, given]) => given,
    );
    return {
      ...rest,
      ...mapValues(Object.fromEntries(inputs), (input) => schemaOf(input as z.ZodType, 'input')),
      [ANSWERS]: mapValues<string | Answer, Json>(
        { ...mapValues(bodies, () => 'The answer.'), ...answers },
        (told, status) => answerOf(told, status, bodies[status]),
      ),
    };
  }

  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Askwatch', version, description: ABOUT },
      components: { securitySchemes },
    },
    transform: ({ schema = {}, url }) => ({
      url,
      schema: schema.hide ? { hide: true } : routeOf(schema),
    }),
    transformObject(made) {
      const document = (made as { openapiObject: Json }).openapiObject;
      const paths = document.paths as Record<string, Record<string, Json>>;
      const requests = namedSchemas(names.input, 'input');
      const schemas = namedSchemas(names.output, 'output');
      for (const name of Object.keys(requests)) {
        if (name in schemas)
          throw new Error(`${name} is a request and an answer; name them apart.`);
      }
      return {
        ...document,
        components: { securitySchemes, schemas: { ...requests, ...schemas }, headers },
        paths: mapValues(paths, withAnswers),
      };
    },
  };
}

/** An answer to HEAD has no body, and no two operations share an id. */
function withAnswers(operations: Record<string, Json>): Record<string, Json> {
  const ids = Object.values(operations).map(({ operationId }) => operationId);
  return mapValues(operations, ({ [ANSWERS]: told, operationId: id, ...operation }, method) => {
    const responses = mapValues(told as Record<string, Json>, ({ content, ...answer }) =>
      method === 'head' ? answer : { ...answer, content },
    );
    const isShared = ids.filter((other) => other === id).length > 1;
    const operationId = isShared ? `${id}With${method[0]?.toUpperCase()}${method.slice(1)}` : id;
    return { ...(id !== undefined && { operationId }), ...operation, responses };
  });
}

function namedSchemas(names: Names, io: Io): Record<string, Json> {
  const { schemas } = z.toJSONSchema(names, { ...conversion(io), uri: schemaPath });
  return mapValues(schemas, ({ $schema: _, $id: __, ...json }) => json);
}

const schemaPath = (id: string) => `#/components/schemas/${id}`;

function conversion(io: Io) {
  return {
    io,
    unrepresentable: 'any' as const,
    override({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }) {
      // Additions come without notice, so a reader must not refuse them.
      if (io === 'output' && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
      // The limits of every JavaScript integer, and a pattern beside a format, add nothing.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.format?.startsWith('date')) delete jsonSchema.pattern;
    },
  };
}

function isZod(schema: unknown): schema is z.ZodType {
  return schema instanceof z.ZodType;
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  map: (value: From, key: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
