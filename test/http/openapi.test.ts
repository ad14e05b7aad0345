import { expect, test } from 'vitest';
import { z } from 'zod';
import { HttpError } from '../../src/http/errors.ts';
import { post, runningServer } from '../helpers/http/running-server.ts';
import { openApiOf } from '../helpers/openapi.ts';

const Thing = z.object({ id: z.string(), made: z.iso.datetime().optional(), count: z.int() });
const NewThing = z.strictObject({ id: z.string() });

test('the description of the answers of a route does not change what is sent', async () => {
  const { ask } = await runningServer(({ server }) => {
    const answers = {
      200: { description: 'Fine.', content: { 'text/plain': { schema: z.string().max(1) } } },
      400: 'Wrong.',
    };
    server.get('/more', { schema: { answers } }, () => ({ id: 'a', more: { than: 'told' } }));
    server.get('/refused', { schema: { answers } }, () => {
      throw new HttpError(400, 'odd', 'No.', { param: 'x', headers: { 'x-more': '1' } });
    });
  });
  expect(await ask('/more')).toMatchObject({
    status: 200,
    text: '{"id":"a","more":{"than":"told"}}',
  });
  const refused = await ask('/refused');
  expect(refused.headers.get('x-more')).toBe('1');
  expect(refused.body.error).toEqual({
    message: 'No.',
    type: 'invalid_request_error',
    param: 'x',
    code: 'odd',
  });
});

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

test('a schema without a name stands where it is used', async () => {
  const { url } = await runningServer(({ server }) => {
    server.post('/things', {
      schema: { body: NewThing, response: { 200: NewThing } },
      handler: ({ body }) => body,
    });
  });
  const { document } = await openApiOf(url);
  const { requestBody, responses } = document.paths['/things'].post;
  const shape = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
  const sent = requestBody.content['application/json'].schema;
  expect(sent).toEqual({ ...shape, additionalProperties: false });
  expect(responses['200'].content['application/json'].schema).toEqual(shape);
});

test('one name for a request and an answer is an error', async () => {
  const { ask } = await runningServer(({ server }) => {
    server.post('/a', { schema: { body: Thing, components: { Thing } } }, () => '');
    server.get('/b', { schema: { response: { 200: Thing }, components: { Thing } } }, () => ({
      id: 'a',
      count: 1,
    }));
  });
  expect((await ask('/openapi.json')).status).toBe(500);
});

test('a header that is described in two ways is an error', async () => {
  const { ask } = await runningServer(({ server }) => {
    for (const description of ['One.', 'Two.']) {
      const headers = { 'x-odd': { description, schema: { type: 'string' } } } as const;
      const answers = { 200: { description: 'Fine.', headers } };
      server.get(`/${description}`, { schema: { answers } }, () => '');
    }
  });
  expect((await ask('/openapi.json')).status).toBe(500);
});

test('the document is the same however often it is asked for', async () => {
  const { ask } = await runningServer(({ server }) => {
    server.post('/things', { schema: { body: NewThing } }, () => '');
  });
  const first = await ask('/openapi.json');
  await ask('/things', post({ id: 'a' }));
  expect((await ask('/openapi.json')).text).toBe(first.text);
});
