import { expect, test } from 'vitest';
import { z } from 'zod';
import { runningServer } from '../helpers/http/running-server.ts';
import { openApiOf } from '../helpers/openapi.ts';

const Thing = z.object({ id: z.string(), made: z.iso.datetime().optional(), count: z.int() });
const NewThing = z.strictObject({ id: z.string() });

test('a schema with a name stands in the document once, and no answer forbids additional fields', async () => {
  const { url } = await runningServer(({ server }) => {
    const List = z.object({ things: z.array(Thing) });
    const headers = {
      'x-count': { description: 'How many.', schema: { type: 'integer' } },
    } as const;
    server.get('/things', {
      schema: {
        components: { Thing, List },
        response: { 200: List },
        answers: { 200: { description: 'All.', headers } },
      },
      handler: () => ({ things: [] }),
    });
    server.post('/things', {
      schema: {
        components: { Thing, NewThing },
        body: NewThing,
        response: { 201: Thing },
        answers: { 201: 'Made.', 400: 'No.' },
      },
      handler: () => ({ id: 'a', count: 1 }),
    });
  });
  const { document } = await openApiOf(url);
  const { schemas, headers } = document.components;
  expect(Object.keys(schemas).sort()).toEqual(['ErrorBody', 'List', 'NewThing', 'Thing']);
  // Additions may come in answers; a request with one is refused.
  expect(schemas.Thing).toEqual({
    type: 'object',
    properties: {
      id: { type: 'string' },
      made: { type: 'string', format: 'date-time' },
      count: { type: 'integer' },
    },
    required: ['id', 'count'],
  });
  expect(schemas.NewThing.additionalProperties).toBe(false);
  expect(schemas.List.properties.things.items).toEqual({ $ref: '#/components/schemas/Thing' });
  const { get, post: create } = document.paths['/things'];
  expect(get.responses['200']).toEqual({
    description: 'All.',
    headers: {
      'x-request-id': { $ref: '#/components/headers/x-request-id' },
      'x-count': { $ref: '#/components/headers/x-count' },
    },
    content: { 'application/json': { schema: { $ref: '#/components/schemas/List' } } },
  });
  expect(headers['x-count']).toEqual({ description: 'How many.', schema: { type: 'integer' } });
  expect(create.requestBody.content['application/json'].schema).toEqual({
    $ref: '#/components/schemas/NewThing',
  });
  expect(create.responses['400'].content['application/json'].schema).toEqual({
    $ref: '#/components/schemas/ErrorBody',
  });
});

test('methods of one route have ids of their own, and the answer to a HEAD has no body', async () => {
  const { url } = await runningServer(({ server }) => {
    server.route({
      method: ['GET', 'HEAD'],
      url: '/ping/:id',
      schema: { operationId: 'ping', response: { 200: Thing }, answers: { 404: 'No.' } },
      handler: () => ({ id: 'a', count: 1 }),
    });
  });
  const { document } = await openApiOf(url);
  const { get, head } = document.paths['/ping/{id}'];
  expect([get.operationId, head.operationId]).toEqual(['pingWithGet', 'pingWithHead']);
  expect(get.responses['404'].content).toBeDefined();
  expect(head.responses['404'].content).toBeUndefined();
});
