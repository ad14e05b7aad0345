import {
  Client as Client2,
  type ClientOptions,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { request } from 'undici';
import { onTestFinished } from 'vitest';
import { addMcp } from '../../src/mcp/mcp.ts';
import { startService } from './monitoring/service.ts';

/** The monitoring service with `/mcp` beside it, as the program has them. */
export async function startMcp(
  options: Parameters<typeof startService>[0] &
    Pick<Parameters<typeof addMcp>[0], 'incidents'> & { writes?: boolean } = {},
) {
  const { writes = false, incidents, publicUrl, isOpen = false, ...ofService } = options;
  let mcp: ReturnType<typeof addMcp> | undefined;
  const service = await startService({
    ...ofService,
    addRoutes(parts) {
      mcp = addMcp({ ...parts, writes, incidents, publicUrl, isOpen, version: '1.2.3' });
      return mcp;
    },
  });
  return {
    ...service,
    /** The first step of a stop. */
    stopMcp: () => mcp?.close(),
    /** Sends one message as no client would; headers and the body are as given, where they are. */
    async post(body: unknown, { key = service.key, method = 'POST', headers = {} }: Sent = {}) {
      const answer = await request(`${service.url}/mcp`, {
        method,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(key !== null && { authorization: `Bearer ${key}` }),
          ...headers,
        },
        body: typeof body === 'string' ? body : body === undefined ? null : JSON.stringify(body),
      });
      return {
        status: answer.statusCode,
        headers: answer.headers,
        text: await answer.body.text(),
      };
    },
  };
}

interface Sent {
  key?: string | null;
  method?: 'GET' | 'POST' | 'DELETE' | 'OPTIONS';
  headers?: Record<string, string>;
}

/** A request in a message of its own. */
export const message = (method: string, params: unknown = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
});

export const callOf = (name: string, input: unknown = {}) =>
  message('tools/call', { name, arguments: input });

const INFO = { name: 'tests', version: '1.0.0' };

/** The official clients, with each version of the protocol that they choose. */
export const CLIENTS = {
  'SDK 1': async (url: string, key: string) => {
    const client = new Client1(INFO);
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    const transport = new Transport1(new URL(`${url}/mcp`), { requestInit });

    await client.connect(transport as Parameters<Client1['connect']>[0]);
    onTestFinished(() => client.close());
    return client;
  },
  'SDK 2 with a handshake': (url: string, key: string) => connect2(url, key, {}),
  'SDK 2 without one': (url: string, key: string) =>
    connect2(url, key, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
};

async function connect2(url: string, key: string, options: ClientOptions) {
  const client = new Client2(INFO, options);
  const requestInit = { headers: { 'x-api-key': key } };
  await client.connect(new Transport2(new URL(`${url}/mcp`), { requestInit }));
  onTestFinished(() => client.close());
  // Both clients have the methods that tests use.
  return client as unknown as Client1;
}
