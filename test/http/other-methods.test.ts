import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ErrorBody } from '../../src/contracts/error.ts';
import { GatewayPath } from '../../src/contracts/gateway.ts';
import { MonitoringPath } from '../../src/contracts/monitoring.ts';
import { startGateway } from '../helpers/gateway/running-gateway.ts';
import { runningServer, sendRaw } from '../helpers/http/running-server.ts';
import { startService } from '../helpers/monitoring/service.ts';

const raw = (method: string, path: string, more = '') =>
  `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${more}\r\n`;

/** Sends a request over a bare connection and reads the answer, which must have the body of an error. */
async function refusalOf(url: string, bytes: string) {
  const answer = await sendRaw(url, bytes);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return {
    status: Number(head.split(' ')[1]),
    allow: /^allow: *(.*)$/im.exec(head)?.[1],
    error: ErrorBody.parse(JSON.parse(body)).error,
  };
}

const GATEWAY: Array<[string, string]> = [
  [GatewayPath.models, 'GET, HEAD'],
  [`${GatewayPath.models}/small-4k`, 'GET, HEAD'],
  [GatewayPath.usage, 'GET, HEAD'],
  [GatewayPath.chatCompletions, 'POST'],
  ['/healthz', 'GET, HEAD'],
  ['/metrics', 'GET, HEAD'],
  ['/openapi.json', 'GET, HEAD'],
  ['/docs', 'GET, HEAD'],
];

describe('methods that a path does not take', () => {
  test('the gateway answers other methods with a 405 that lists the allowed ones', async () => {
    const { url } = await startGateway();
    for (const [path, allow] of GATEWAY) await expectOnly(url, path, allow);
  });

  async function expectOnly(url: string, path: string, allow: string) {
    const others = METHODS.filter((one) => one !== 'CONNECT' && !allow.split(', ').includes(one));
    for (const method of others.filter((one) => one !== 'HEAD')) {
      const refusal = await refusalOf(url, raw(method, path));
      expect(refusal, `${method} ${path}`).toMatchObject({
        status: 405,
        allow,
        error: {
          code: 'method_not_allowed',
          message: `${method} is not allowed here. Allowed: ${allow}.`,
        },
      });
    }
    for (const method of allow.split(', ')) {
      const answer = await sendRaw(url, raw(method, path, 'content-length: 0\r\n'));
      expect(answer.slice(0, 'HTTP/1.1 405'.length), `${method} ${path}`).not.toBe('HTTP/1.1 405');
    }
  }

  test.each(['PROPFIND', 'TRACE', 'LOCK', 'M-SEARCH'])(
    'of the monitoring service are one too, after the key: %s',
    async (method) => {
      const { url, key } = await startService();
      const path = MonitoringPath.monitors;
      expect((await refusalOf(url, raw(method, path))).status).toBe(401);
      const refusal = await refusalOf(url, raw(method, path, `x-api-key: ${key}\r\n`));
      expect(refusal).toMatchObject({ status: 405, allow: 'GET, HEAD, POST' });
      const push = MonitoringPath.push.replace(':token', 'x');
      expect(await refusalOf(url, raw(method, push))).toMatchObject({
        status: 405,
        allow: 'GET, HEAD, POST',
      });
    },
  );

  test('are a 404 on a path that does not exist', async () => {
    const { url } = await runningServer();
    for (const method of ['GET', 'PROPFIND', 'TRACE', 'OPTIONS']) {
      const refusal = await refusalOf(url, raw(method, '/nothing'));
      expect(refusal, method).toMatchObject({ status: 404, allow: undefined });
    }
  });
});

test('an unknown method is no HTTP request', async () => {
  const { url } = await runningServer();
  for (const method of ['FOO', 'get', 'G\u0000T', 'PROPFINDER']) {
    const refusal = await refusalOf(url, raw(method, '/healthz'));
    expect(refusal, method).toMatchObject({ status: 400, error: { code: 'invalid_request' } });
  }
});

describe('CONNECT', () => {
  test('is refused with words, for the server is no proxy', async () => {
    const { url, ask } = await runningServer();
    expect(await refusalOf(url, raw('CONNECT', 'example.com:443'))).toMatchObject({
      status: 405,
      allow: '',
      error: { code: 'method_not_allowed', message: expect.stringContaining('not a proxy') },
    });
    expect((await ask('/healthz')).status).toBe(200);
  });

  test('on a connection that has had an answer only ends it', async () => {
    const { url } = await runningServer();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    const [first] = await once(socket, 'data');
    expect(String(first)).toMatch(/^HTTP\/1\.1 200 /);
    socket.write(raw('CONNECT', 'example.com:443'));
    expect(await textOf(socket)).toBe('');
  });
});
