import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { Server as Server1 } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, Server as Server2 } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';

/** A tool as a server lists it. */
export interface FakeTool {
  name: string;
  description?: string;
  inputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  [more: string]: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: whatever a server says
type Result = any;

/** Tools of a server; a test may change them at run time. */
export interface Offer {
  tools: FakeTool[];
  /** The result of a call; by default its input. */
  call?: (name: string, input: Record<string, unknown>) => Result | Promise<Result>;
}

/** A server of tools on a real port. */
export interface FakeToolServer {
  url: string;
  offer: Offer;
  /** Headers of every request, oldest first. */
  headers: IncomingHttpHeaders[];
  /** Each call of a tool that reached it, oldest first. */
  calls: Array<{ name: string; input: Record<string, unknown> }>;
  close(): Promise<void>;
}

const INFO = { name: 'fake', version: '1.0.0' };

const listed = ({ tools }: Offer): Result => ({
  tools: tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool })),
});

/** Servers made with the official libraries, in the ways in which they speak. */
export const TOOL_SERVERS = {
  'SDK 1 with sessions': (offer: Offer) => startSdk1(offer, true),
  'SDK 1 without sessions': (offer: Offer) => startSdk1(offer, false),
  'SDK 2': startSdk2,
};

/** A server of the kind that is made today. */
export const startToolServer = startSdk2;

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

async function serve(offer: Offer, makeHandle: (server: FakeToolServer) => Handle) {
  const server: FakeToolServer = { url: '', offer, headers: [], calls: [], close };
  const handle = makeHandle(server);
  const http = createServer((request, response) => {
    server.headers.push(request.headers);
    void Promise.resolve(handle(request, response)).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  async function close() {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  }
  onTestFinished(close);
  return server;
}

async function called(server: FakeToolServer, name: string, input: Record<string, unknown> = {}) {
  server.calls.push({ name, input });
  const result = await server.offer.call?.(name, input);
  return result ?? { content: [{ type: 'text', text: JSON.stringify(input) }] };
}

async function startSdk1(offer: Offer, hasSessions: boolean): Promise<FakeToolServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  async function connect(server: FakeToolServer) {
    const protocol = new Server1(INFO, { capabilities: { tools: {} } });
    protocol.setRequestHandler(ListToolsRequestSchema, () => listed(offer));
    protocol.setRequestHandler(CallToolRequestSchema, ({ params }) =>
      called(server, params.name, params.arguments),
    );
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: hasSessions ? randomUUID : undefined,
      onsessioninitialized: (id) => void transports.set(id, transport),
    } as ConstructorParameters<typeof StreamableHTTPServerTransport>[0]);

    await protocol.connect(transport as Parameters<Server1['connect']>[0]);
    return transport;
  }
  return await serve(offer, (server) => async (request, response) => {
    const session = request.headers['mcp-session-id'];
    const known = transports.get(String(session));
    if (hasSessions && session !== undefined && !known) {
      response.writeHead(404).end();
      return;
    }
    await (known ?? (await connect(server))).handleRequest(request, response);
  });
}

async function startSdk2(offer: Offer): Promise<FakeToolServer> {
  return await serve(offer, (server) => {
    const handler = createMcpHandler(() => {
      const protocol = new Server2(INFO, { capabilities: { tools: {} } });
      protocol.setRequestHandler('tools/list', () => listed(offer));
      protocol.setRequestHandler('tools/call', ({ params }) =>
        called(server, params.name, params.arguments),
      );
      return protocol;
    });
    onTestFinished(() => handler.close());
    return async (request, response) => {
      const { method = 'GET', headers } = request;
      const body = method === 'POST' ? await readText(request) : null;
      const message = new Request(server.url, {
        method,
        headers: Object.entries(headers).map(
          ([name, value]) => [name, String(value)] as [string, string],
        ),
        body,
      });
      await write(await handler.fetch(message), response);
    };
  });
}

async function write(answer: Response, response: ServerResponse) {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  for await (const part of answer.body ?? []) response.write(part);
  response.end();
}

/** A message that a raw server was sent. */
export interface RawMessage {
  id?: number | string;
  method: string;
  params?: Result;
}

/** A raw server's reaction to a message; by default the correct one. */
export type Misbehave = (
  message: RawMessage,
  response: ServerResponse,
  request: IncomingMessage,
) => boolean | undefined | Promise<boolean | undefined>;

/** A server without a library, of the versions with a handshake, that does what no library would where `misbehave` answers. */
export async function startRawToolServer(
  misbehave: Misbehave,
  offer: Offer = { tools: [{ name: 'look', annotations: { readOnlyHint: true } }] },
): Promise<FakeToolServer & { messages: RawMessage[] }> {
  const messages: RawMessage[] = [];
  const server = await serve(offer, (own) => async (request, response) => {
    const text = await readText(request);
    const message = (text === '' ? { method: '' } : JSON.parse(text)) as RawMessage;
    messages.push(message);
    if (await misbehave(message, response, request)) return;
    const { id, method, params } = message;
    if (id === undefined || method === undefined) {
      response.writeHead(202).end();
    } else if (method === 'initialize') {
      const { protocolVersion } = params;
      const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: INFO };
      answerJson(response, { id, result });
    } else if (method === 'tools/list') answerJson(response, { id, result: listed(offer) });
    else if (method === 'tools/call') {
      answerJson(response, { id, result: await called(own, params.name, params.arguments) });
    } else {
      answerJson(response, { id, error: { code: -32601, message: 'Method not found' } });
    }
  });
  return Object.assign(server, { messages });
}

/** Answers with one message. */
export function answerJson(response: ServerResponse, message: object) {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

/** Begins to answer with events. */
export function beginEvents(response: ServerResponse) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return (message: object) =>
    response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
}
