import { expect, test } from 'vitest';
import { MonitoringPath } from '../../src/contracts/monitoring.ts';
import { openApiOf } from '../support/openapi.ts';
import { startService } from './service.ts';

const MONITORS = MonitoringPath.monitors;
const PUSH = MonitoringPath.push.replace(':token', '{token}');
const METHODS = ['get', 'head', 'post'];

/** Documented answers that cannot be had from a service that works, or only after a minute or five hundred monitors. */
const NOT_PROVOKED = [
  `get ${MONITORS} 500`,
  `post ${MONITORS} 408`,
  `post ${MONITORS} 409`,
  `post ${MONITORS} 500`,
  `post ${MONITORS} 503`,
  ...METHODS.flatMap((method) => [`${method} ${PUSH} 500`, `${method} ${PUSH} 503`]),
  // Only a POST has a body.
  `get ${PUSH} 413`,
  `head ${PUSH} 413`,
];

const site = { name: 'Shop', target: 'http://127.0.0.1:1/', check_type: 'HTTP' };
const job = { name: 'Backup', target: 'backup', check_type: 'HEARTBEAT' };

test('every answer of the service is as the document describes it, and none is left out', async () => {
  const { url, key } = await startService();
  const { expectDescribed, unseen } = await openApiOf(url);

  async function ask(method: string, path: string, init: RequestInit = {}, at = path) {
    const answer = await fetch(url + at, { method: method.toUpperCase(), ...init });
    const text = await answer.text();
    expectDescribed(method, path, { status: answer.status, headers: answer.headers, text });
    return { status: answer.status, text };
  }
  const json = (body: string, type = 'application/json', bearer = key): RequestInit => ({
    body,
    headers: { 'content-type': type, authorization: `Bearer ${bearer}` },
  });
  const push = (method: string, token: string, init: RequestInit = {}) =>
    ask(method, PUSH, init, PUSH.replace('{token}', token));

  expect((await ask('post', MONITORS, json(JSON.stringify(site)))).status).toBe(201);
  const made = await ask('post', MONITORS, json(JSON.stringify(job)));
  const token: string = JSON.parse(made.text).push_url.split('/').at(-1);
  expect((await ask('get', MONITORS, { headers: { 'x-api-key': key } })).status).toBe(200);
  expect((await ask('post', MONITORS, json('{}'))).status).toBe(400);
  expect((await ask('post', MONITORS, json(' '.repeat(300_000)))).status).toBe(413);
  expect((await ask('post', MONITORS, json('x', 'text/plain'))).status).toBe(415);
  expect((await push('post', token, { body: ' '.repeat(300_000) })).status).toBe(413);
  for (const method of METHODS) {
    expect((await push(method, token)).status).toBe(200);
    expect((await push(method, 'wrong')).status).toBe(404);
  }

  const wrong = json('{}', 'application/json', 'wrong');
  expect((await ask('post', MONITORS, wrong)).status).toBe(401);
  expect((await ask('get', MONITORS)).status).toBe(401);
  let status = 404;
  while (status === 404) ({ status } = await push('get', 'wrong'));
  expect(status).toBe(429);
  expect((await push('head', 'wrong')).status).toBe(429);
  expect((await push('post', 'wrong')).status).toBe(429);
  expect((await ask('get', MONITORS)).status).toBe(429);
  expect((await ask('post', MONITORS, wrong)).status).toBe(429);

  expect(unseen().sort()).toEqual(NOT_PROVOKED.sort());
});

test('every route of the service says who may call it and what it is', async () => {
  const { url } = await startService();
  const { operations, document } = await openApiOf(url);
  expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `get ${MONITORS}`,
    `post ${MONITORS}`,
    ...METHODS.map((method) => `${method} ${PUSH}`),
  ]);
  for (const { path, operation } of operations) {
    expect(operation).toMatchObject({
      summary: expect.any(String),
      operationId: expect.any(String),
      tags: ['monitoring'],
    });
    // A key in either header; a push carries its token in the address.
    const security = 'security' in operation ? operation.security : undefined;
    expect(security).toEqual(path === PUSH ? undefined : [{ apiKey: [] }, { bearer: [] }]);
  }
  expect(document.components.securitySchemes.apiKey).toMatchObject({
    in: 'header',
    name: 'X-API-Key',
  });
});
