import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { holdRefused } from '../helpers/refused-port.ts';
import {
  type Personality,
  plainPersonality,
  type Refusal,
  refusalOf,
} from './provider-personalities.ts';

/** One call as the provider saw it. */
export interface ProviderCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The parsed body; the raw text when it is not JSON; undefined for a GET. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
  /** The client closed the connection before its answer was whole. */
  aborted: boolean;
  /** The answer was sent whole. */
  finished: boolean;
  /** Chunks with text, or with a part of a call of a tool, that were sent. */
  sentChunks: number;
  /** When the first of them was written, on the monotonic clock; undefined before that. */
  firstChunkAtMs: number | undefined;
  /** Breaks the connection now, as a provider that crashes does. */
  cut(): void;
}

/** A tool that the model calls. */
export interface ScriptedCall {
  name: string;
  /** JSON, as a rule; the convention makes it a text, so it may be anything. */
  arguments: string;
  /** One that no other call has, when absent. */
  id?: string;
  /** Further fields of the call, such as Gemini's `extra_content`; a stream has them in the call's first delta. */
  extra?: object;
}

/** One text (streamed word by word), its chunks, or calls of tools with perhaps a text before them. */
export type Said = string | string[] | { calls: ScriptedCall[]; text?: string };

/** The model's answer, or a function from the request body to it. */
export type Script =
  | Said
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  | ((body: any) => Said);

/** An answer in the pieces in which it is streamed. */
interface Answer {
  chunks: string[];
  /** The calls of tools, as a plain answer has them. */
  calls: ToolCall[];
}

interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export interface Pace {
  /** Before each chunk. */
  chunkMs?: number;
  finishReason?: string;
}

/** Faults. For a plain call, "after some chunks" means half of the JSON body. */
export type Fault =
  /** The connection is reset before any answer. */
  | { kind: 'reset' }
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown }
  | { kind: 'hang-before-headers' }
  | { kind: 'hang-after-headers' }
  /** Only comments come after the headers, every `everyMs`. */
  | { kind: 'only-pings'; everyMs: number }
  | { kind: 'stall'; afterChunks: number }
  | { kind: 'cut'; afterChunks: number }
  /** Ends as it should, but without `[DONE]`. */
  | { kind: 'no-done' }
  /** Ends as it should, but without `[DONE]` and without a reason. */
  | { kind: 'no-reason' }
  /** Ends without `[DONE]`, and without the empty line behind the event before it. */
  | { kind: 'no-last-line' }
  | { kind: 'half-line' }
  | { kind: 'half-character' }
  | { kind: 'garbage-line' }
  | { kind: 'wrong-shape' }
  | { kind: 'html' }
  | { kind: 'error-event'; afterChunks: number; error?: unknown }
  /** Sends bytes without a line break. */
  | { kind: 'endless-line'; bytes: number }
  /** Chunks for ever, as fast as they are taken. */
  | { kind: 'endless' };

/** A model provider of the OpenAI convention on a real port. */
export interface ModelProvider {
  /** `http://127.0.0.1:port`; the API is below `/v1`. */
  url: string;
  apiKey: string;
  /** Every call but those to `/v1/models`, oldest first. */
  calls: ProviderCall[];
  /** Connections that were opened to it so far. */
  connections(): number;
  /** Method and path of what this provider does not have; a test should find it empty. */
  unhandled: string[];
  /** Error messages of requests that broke the API's rules. */
  refusals: string[];
  /** Sets the answer to further requests. */
  answerWith(script: Script, pace?: Pace): void;
  /** Sets id and time of further answers; `undefined` omits the field. */
  identifyAs(told: { id?: unknown; created?: unknown }): void;
  /** Sets a fault for the next `times` calls, or until `recover`. */
  failWith(fault: Fault, times?: number): void;
  recover(): void;
  /** Holds back all of every answer from now on, its status too, until the returned function is called. */
  holdAnswers(): () => void;
  /** Holds back chunks, or those after the first `after`, until the returned function is called. */
  holdChunks(after?: number): () => void;
  close(): Promise<void>;
}

export interface ModelProviderOptions {
  /** Empty for a provider that asks for none, such as Ollama. */
  apiKey?: string;
  /** Ids, or whole models with whatever fields a list entry shall have. */
  models?: Array<string | { id: string; [field: string]: unknown }>;
  /** Refuses what this provider does not take: the sentence of a 400. */
  refuse?: (body: Record<string, unknown>) => string | undefined;
  /** Which provider it is like; the plain convention when absent. */
  personality?: Personality;
}

const CREATED = 1_790_000_000;

/** Time for what was sent before a cut to arrive; a reader loses what it has not read when a connection is reset. */
const CUT_DELAY_MS = 50;

/** Starts a provider that answers `Hello from the fake provider.` until told otherwise. */
export async function startModelProvider(
  options: ModelProviderOptions = {},
): Promise<ModelProvider> {
  const { apiKey = 'provider-key-0123456789', refuse = () => undefined } = options;
  const { personality = plainPersonality } = options;
  const models = (options.models ?? ['test-model', 'test-vision']).map((model) =>
    typeof model === 'string' ? { id: model } : model,
  );
  const calls: ProviderCall[] = [];
  const unhandled: string[] = [];
  const refusals: string[] = [];
  let script: Script = 'Hello from the fake provider.';
  let pace: Pace = {};
  let told: { id?: unknown; created?: unknown } = {};
  let fault: { what: Fault; left: number } | undefined;
  let holdAll: Promise<void> = Promise.resolve();
  let hold: Promise<void> = Promise.resolve();
  let holdAfter = 0;

  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0] ?? '';
    const route = `${request.method} ${path}`;
    const raw = await readText(request).catch(() => '');
    if (apiKey !== '' && request.headers.authorization !== `Bearer ${apiKey}`) {
      return refuseWith(response, personality.wrongKey);
    }
    if (route === 'GET /v1/models') {
      const data = models.map((model) => ({
        object: 'model',
        created: CREATED,
        owned_by: 'fake',
        ...model,
      }));
      return sendJson(response, 200, { object: 'list', data });
    }
    if (route !== 'POST /v1/chat/completions') {
      unhandled.push(route);
      return refuseWith(response, { status: 404, message: `Unknown request URL: ${route}.` });
    }
    const call: ProviderCall = {
      method: 'POST',
      path,
      headers: request.headers,
      body: parse(raw),
      aborted: false,
      finished: false,
      sentChunks: 0,
      firstChunkAtMs: undefined,
      cut: () => drop(response),
    };
    response.on('close', () => {
      call.finished = response.writableFinished;
      call.aborted = !response.writableFinished && !dropped.has(response);
    });
    calls.push(call);
    await answerChat(response, call);
  });

  async function answerChat(response: ServerResponse, call: ProviderCall) {
    const { body, headers } = call;
    const isJson = headers['content-type']?.startsWith('application/json');
    if (!isJson) return refuseWith(response, { status: 415, message: 'Unsupported media type.' });
    const wrong = refusalOf(body, models, personality);
    if (wrong) return refuseWith(response, wrong);
    const own = refuse(body);
    if (own !== undefined) return refuseWith(response, { status: 400, message: own });
    const now = fault && fault.left-- > 0 ? fault.what : undefined;
    await holdAll;
    if (now?.kind === 'reset') return drop(response);
    if (now?.kind === 'hang-before-headers') return;
    if (now?.kind === 'html') {
      response.setHeader('content-type', 'text/html');
      return void response.end('<html><body>Maintenance</body></html>');
    }
    if (now?.kind === 'status') {
      for (const [name, value] of Object.entries(now.headers ?? {}))
        response.setHeader(name, value);
      const told = { error: { message: `Fault ${now.status}.`, type: 'fake', param: null } };
      return sendJson(response, now.status, now.body ?? told);
    }
    const answer = asAnswer(typeof script === 'function' ? script(body) : script, body.stop);
    if (body.stream) return await sendStream(response, call, answer, now);
    await sendPlain(response, call, answer, now);
  }

  let toolCalls = 0;
  function asAnswer(said: Said, stop: unknown): Answer {
    const isText = typeof said === 'string' || Array.isArray(said);
    const text = isText ? said : (said.text ?? '');
    const calls = (isText ? [] : said.calls).map(
      ({ name, arguments: given, id, extra }): ToolCall => {
        toolCalls += 1;
        const called = { name, arguments: given };
        return { id: id ?? `call_fake${toolCalls}`, type: 'function', function: called, ...extra };
      },
    );
    return { chunks: cutAtStop(typeof text === 'string' ? wordsOf(text) : text, stop), calls };
  }

  function refuseWith(response: ServerResponse, refusal: Refusal): void {
    refusals.push(refusal.message);
    sendJson(response, refusal.status, personality.asBody(refusal));
  }

  const identityOf = (call: ProviderCall) => ({
    id: `chatcmpl-fake${calls.indexOf(call) + 1}`,
    created: Math.floor(Date.now() / 1000),
    ...told,
  });

  async function sendPlain(
    response: ServerResponse,
    call: ProviderCall,
    { chunks, calls: tool_calls }: Answer,
    now: Fault | undefined,
  ) {
    const { body } = call;
    const message = {
      role: 'assistant',
      content: chunks.length === 0 && tool_calls.length > 0 ? null : chunks.join(''),
      ...(tool_calls.length > 0 ? { tool_calls } : {}),
    };
    for (const _ of chunks) if (pace.chunkMs) await pause(pace.chunkMs);
    await hold;
    const answer = JSON.stringify({
      ...identityOf(call),
      object: 'chat.completion',
      model: body.model,
      choices: choiceIndexes(body, personality).map((index) => ({
        index,
        message,
        logprobs: null,
        finish_reason: pace.finishReason ?? (tool_calls.length > 0 ? 'tool_calls' : 'stop'),
      })),
      usage: usageOf(body, chunks.length + tool_calls.length, personality),
    });
    response.setHeader('content-type', 'application/json');
    const half = answer.slice(0, answer.length / 2);
    switch (now?.kind) {
      case undefined:
        return void response.end(answer);
      case 'cut':
        response.write(half);
        await pause(CUT_DELAY_MS);
        return drop(response);
      case 'stall':
      case 'hang-after-headers':
        return void response.write(half);
      case 'wrong-shape':
        return void response.end('{"object":"chat.completion"}');
      case 'endless-line':
        return await sendEndless(response, now.bytes);
      default:
        return void response.end(half);
    }
  }

  async function sendStream(
    response: ServerResponse,
    call: ProviderCall,
    { chunks, calls: toolCalls }: Answer,
    now: Fault | undefined,
  ) {
    const { body } = call;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
    if (now?.kind === 'hang-after-headers') return;
    if (now?.kind === 'only-pings') {
      while (!response.destroyed) {
        response.write(': ping\n\n');
        await pause(now.everyMs);
      }
      return;
    }
    if (now?.kind === 'endless-line') return await sendEndless(response, now.bytes);
    const options = body.stream_options as
      | { include_usage?: boolean; include_obfuscation?: boolean }
      | null
      | undefined;
    const withUsage = options?.include_usage === true || personality.usage === 'always';
    const padded = personality.pads && options?.include_obfuscation !== false;
    const identity = identityOf(call);
    const event = (choices: unknown[], usage: unknown = null) =>
      `data: ${JSON.stringify({
        ...identity,
        object: 'chat.completion.chunk',
        model: body.model,
        choices,
        ...(withUsage ? { usage } : {}),
        ...(padded ? { obfuscation: 'Xy7' } : {}),
      })}\n\n`;
    const choice = (index: number, delta: unknown, finish_reason: string | null = null) => ({
      index,
      delta,
      logprobs: null,
      finish_reason,
    });
    const indexes = choiceIndexes(body, personality);
    if (personality.comment) response.write(personality.comment);
    const send = (data: string) => write(response, data);

    for (const index of indexes) {
      await send(event([choice(index, { role: 'assistant', content: '' })]));
    }
    const deltas = [...chunks.map((content) => ({ content })), ...toolCalls.flatMap(deltasOf)];
    const said = now?.kind === 'endless' ? endlessly() : deltas;
    let sent = 0;
    for (const delta of said) {
      if (now && 'afterChunks' in now && sent === now.afterChunks) break;
      if (sent >= holdAfter) await hold;
      if (pace.chunkMs) await pause(pace.chunkMs);
      if (response.destroyed) return;
      call.firstChunkAtMs ??= performance.now();
      for (const index of indexes) await send(event([choice(index, delta)]));
      sent += 1;
      call.sentChunks = sent;
    }
    switch (now?.kind) {
      case 'stall':
        return;
      case 'cut':
        await pause(CUT_DELAY_MS);
        return drop(response);
      case 'error-event': {
        const error = now.error ?? { message: 'The model crashed.', type: 'server_error' };
        await send(`data: ${JSON.stringify({ error })}\n\n`);
        return void response.end();
      }
      case 'half-line':
        return void response.end('data: {"id":"chatcmpl-fa');
      case 'half-character': {
        const bytes = Buffer.from(event([choice(0, { content: 'é' })]));
        return void response.end(bytes.subarray(0, bytes.indexOf(0xc3) + 1));
      }
      case 'garbage-line':
        return void response.end('data: {"id":\n\ndata: [DONE]\n\n');
      case 'wrong-shape':
        return void response.end('data: {"object":"chat.completion.chunk","choices":7}\n\n');
      case 'no-reason':
        return void response.end();
      default:
    }
    const reason = pace.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
    for (const index of indexes) {
      const last = event([choice(index, {}, reason)]);
      if (now?.kind === 'no-last-line' && index === indexes.at(-1))
        return void response.end(last.trimEnd());
      await send(last);
    }
    if (withUsage)
      await send(event([], usageOf(body, chunks.length + toolCalls.length, personality)));
    if (now?.kind !== 'no-done') await send('data: [DONE]\n\n');
    // The end of the body is a packet of its own, as it often is.
    await pause(5);
    response.end();
  }

  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const listening = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${listening.port}`,
    apiKey,
    calls,
    connections: () => connections,
    unhandled,
    refusals,
    answerWith(next, nextPace = {}) {
      script = next;
      pace = nextPace;
    },
    identifyAs(next) {
      told = next;
    },
    failWith(what, times = Number.POSITIVE_INFINITY) {
      fault = { what, left: times };
    },
    recover() {
      fault = undefined;
    },
    holdAnswers() {
      let release = () => {};
      holdAll = new Promise((resolve) => {
        release = resolve;
      });
      return () => release();
    },
    holdChunks(after = 0) {
      let release = () => {};
      holdAfter = after;
      hold = new Promise((resolve) => {
        release = resolve;
      });
      return () => release();
    },
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await holdRefused(listening.port);
    },
  };
}

function choiceIndexes(body: Record<string, unknown>, { givesChoices }: Personality): number[] {
  return [...Array(givesChoices && typeof body.n === 'number' ? body.n : 1).keys()];
}

function wordsOf(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}

/** Stops where a stop sequence begins, as a model does. */
function cutAtStop(chunks: string[], stop: unknown): string[] {
  const text = chunks.join('');
  const ends = [stop ?? []].flat().map((sequence) => text.indexOf(String(sequence)));
  const end = Math.min(...ends.filter((at) => at !== -1));
  return end < text.length ? wordsOf(text.slice(0, end)) : chunks;
}

/** A call as the convention streams it: its name with empty arguments first, then these in pieces. */
function deltasOf(call: ToolCall, index: number): object[] {
  const first = { index, ...call, function: { ...call.function, arguments: '' } };
  const pieces = call.function.arguments.match(/.{1,8}/gsu) ?? [];
  const later = pieces.map((piece) => ({ index, function: { arguments: piece } }));
  return [first, ...later].map((part) => ({ tool_calls: [part] }));
}

/** One token a word for the prompt, one a chunk or call for the answer: easy to tell from an estimate. */
function usageOf(body: Record<string, unknown>, said: number, personality: Personality) {
  const prompt = JSON.stringify(body.messages).split(/\s+/).length;
  const completion = said * choiceIndexes(body, personality).length;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function* endlessly(): Generator<object> {
  // Long, so that sending all that somebody takes costs little.
  const much = ' and'.repeat(50);
  for (;;) yield { content: much };
}

async function write(response: ServerResponse, data: string | Buffer): Promise<void> {
  if (response.destroyed || response.write(data)) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

async function sendEndless(response: ServerResponse, bytes: number): Promise<void> {
  const block = Buffer.alloc(64 * 1024, 'x');
  for (let sent = 0; sent < bytes && !response.destroyed; sent += block.length) {
    await write(response, block);
  }
  response.end();
}

function drop(response: ServerResponse): void {
  dropped.add(response);
  response.destroy();
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return raw;
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Answers this provider itself broke off; their end is not the client's doing. */
const dropped = new WeakSet<ServerResponse>();
