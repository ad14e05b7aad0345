import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { messagesRefusal } from './anthropic-refusals.ts';

/** One call as the API saw it. */
export interface MessagesCall {
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
  /** The client closed the connection before its answer was whole. */
  aborted: boolean;
}

/** A block of the answer: text, thinking or a tool call. */
export type SaidBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown };

export interface Said {
  blocks?: SaidBlock[];
  stopReason?: string;
  /** Instead of one of its own for each message. */
  id?: string;
  usage?: Record<string, number>;
}

export type MessagesFault =
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown }
  /** An error event after so many text deltas. */
  | { kind: 'error-event'; type: string; afterDeltas: number }
  /** The stream ends, cleanly, without its last event. */
  | { kind: 'no-stop' }
  /** Only pings after this many text deltas. */
  | { kind: 'only-pings'; afterDeltas: number; everyMs: number }
  | { kind: 'wrong-shape' }
  | { kind: 'garbage' }
  | { kind: 'html' };

/** Anthropic's Messages API on a real port. */
export interface AnthropicApi {
  /** `http://127.0.0.1:port`; the API is below `/v1`. */
  url: string;
  apiKey: string;
  /** Every call that it did not refuse, oldest first. */
  calls: MessagesCall[];
  /** The sentences of the requests it refused. */
  refusals: string[];
  /** Connections that were opened to it so far. */
  connections(): number;
  /** All answers are complete. */
  idle(): boolean;
  answerWith(said: Said | string): void;
  /** Sets the fault of all further requests. */
  failWith(fault: MessagesFault | undefined): void;
  close(): Promise<void>;
}

const USAGE = { input_tokens: 11, output_tokens: 5 };

/** Starts an API that answers `Hello from the fake Claude.` until told otherwise. */
export async function startAnthropic(options: { models?: string[] } = {}): Promise<AnthropicApi> {
  const apiKey = 'sk-ant-fake-0123456789';
  const models = options.models ?? ['claude-haiku-4-5', 'claude-haiku-5-5'];
  const calls: MessagesCall[] = [];
  const refusals: string[] = [];
  let said: Said = { blocks: [{ type: 'text', text: 'Hello from the fake Claude.' }] };
  let fault: MessagesFault | undefined;
  let underWay = 0;

  const server = createServer(async (request, response) => {
    const raw = await readText(request).catch(() => '');
    if (request.method !== 'POST' || request.url !== '/v1/messages') {
      return refuse(response, 404, 'not_found_error', 'Not found');
    }
    const body = parse(raw);
    const refusal = messagesRefusal(request.headers, body, { apiKey, models });
    if (refusal) return refuse(response, refusal.status, refusal.type, refusal.message);
    const call: MessagesCall = { headers: request.headers, body, aborted: false };
    underWay += 1;
    response.on('close', () => {
      underWay -= 1;
      call.aborted = !response.writableFinished;
    });
    calls.push(call);
    if (fault?.kind === 'status') {
      for (const [name, value] of Object.entries(fault.headers ?? {})) {
        response.setHeader(name, value);
      }
      return sendJson(response, fault.status, fault.body ?? errorBody('api_error', 'A fault.'));
    }
    if (fault?.kind === 'html') {
      response.setHeader('content-type', 'text/html');
      return void response.end('<html>Maintenance</html>');
    }
    if (body.stream) return await sendEvents(response, body);
    if (fault?.kind === 'garbage') return void response.end('{"type":');
    const wrong = fault?.kind === 'wrong-shape';
    sendJson(response, 200, wrong ? { type: 'message', content: 7 } : messageOf(body));
  });

  function refuse(response: ServerResponse, status: number, type: string, message: string): void {
    refusals.push(message);
    sendJson(response, status, errorBody(type, message));
  }

  function messageOf(body: { model: string }) {
    return {
      id: 'id' in said ? said.id : `msg_fake${calls.length}`,
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: said.blocks ?? [],
      stop_reason: said.stopReason ?? 'end_turn',
      stop_sequence: null,
      usage: { ...USAGE, ...said.usage },
    };
  }

  async function sendEvents(response: ServerResponse, body: { model: string }): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    const send = (event: { type: string; [field: string]: unknown }) =>
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const message = messageOf(body);
    const usage = { ...message.usage, output_tokens: 1 };
    send({ type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } });
    send({ type: 'ping' });
    if (fault?.kind === 'garbage') return void response.end('data: {"type":\n\n');
    if (fault?.kind === 'wrong-shape') send({ type: 'content_block_delta', index: 'x' });
    let deltas = 0;
    for (const [index, block] of message.content.entries()) {
      send({ type: 'content_block_start', index, content_block: emptied(block) });
      for (const delta of deltasOf(block)) {
        if (fault && 'afterDeltas' in fault && deltas === fault.afterDeltas) {
          return await breakOff(response, fault, send);
        }
        send({ type: 'content_block_delta', index, delta });
        deltas += 1;
      }
      send({ type: 'content_block_stop', index });
    }
    if (fault?.kind === 'no-stop') return void response.end();
    send({
      type: 'message_delta',
      delta: { stop_reason: message.stop_reason, stop_sequence: null },
      usage: { output_tokens: message.usage.output_tokens },
    });
    send({ type: 'message_stop' });
    // The end of the body is a packet of its own, as it often is.
    await pause(5);
    response.end();
  }

  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey,
    calls,
    refusals,
    connections: () => connections,
    idle: () => underWay === 0,
    answerWith(next) {
      said = typeof next === 'string' ? { blocks: [{ type: 'text', text: next }] } : next;
    },
    failWith(next) {
      fault = next;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function breakOff(
  response: ServerResponse,
  fault: MessagesFault,
  send: (event: { type: string; [field: string]: unknown }) => void,
): Promise<void> {
  if (fault.kind === 'error-event') {
    send({
      type: 'error',
      error: { type: fault.type, message: 'Overloaded' },
      request_id: 'req_1',
    });
    return void response.end();
  }
  if (fault.kind !== 'only-pings') return;
  const pings = setInterval(() => send({ type: 'ping' }), fault.everyMs);
  response.on('close', () => clearInterval(pings));
}

/** A block as it begins: what it says comes in pieces. */
function emptied(block: SaidBlock) {
  if (block.type === 'text') return { ...block, text: '' };
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' };
  return { ...block, input: {} };
}

function deltasOf(block: SaidBlock): unknown[] {
  if (block.type === 'text') {
    return (block.text.match(/\s*\S+/g) ?? []).map((text) => ({ type: 'text_delta', text }));
  }
  if (block.type === 'thinking') {
    const { thinking, signature } = block;
    return [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ];
  }
  const json = JSON.stringify(block.input);
  return ['', json.slice(0, 3), json.slice(3)].map((partial_json) => ({
    type: 'input_json_delta',
    partial_json,
  }));
}

function errorBody(type: string, message: string) {
  return { type: 'error', error: { type, message }, request_id: 'req_fake' };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

function parse(raw: string) {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
