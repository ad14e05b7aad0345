import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createTooEarly } from '../too-early.ts';
import { readBody, type Upload } from './uploads.ts';

/** One request as it came in, with what was answered. */
export interface RestRequest {
  method: string;
  /** Without `/api/v10`, decoded. */
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown> | undefined;
  /** Files beside the body. */
  uploads: Upload[];
  authorization: string | undefined;
  /** Unix time with fractions, of a clock that never goes back. */
  atMs: number;
  status?: number;
  /** It took effect, whatever was answered. */
  applied: boolean;
}

/** A response; without a body only the status. */
export interface RestAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A fault of the next matching requests. */
export interface Fault {
  method?: string;
  path?: RegExp;
  /** 1 when not given. */
  times?: number;
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** Never answers. */
  hang?: boolean;
  /** Breaks the connection instead of answering. */
  drop?: boolean;
  /** The request takes effect; only its response is lost. */
  applied?: boolean;
  /** It is under way until then; nothing else goes wrong with it. */
  heldUntil?: Promise<unknown>;
}

/** The HTTP side: reads requests, applies faults, and hands the rest to `route`; `undefined` from there is an unknown route. */
export async function startHttp(options: {
  route(request: RestRequest): RestAnswer | undefined;
  /** Serves requests that aren't API calls; false for API calls. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): boolean;
  upgrade: NonNullable<Parameters<ReturnType<typeof createServer>['on']>[1]>;
  /** Time within which all processes of the app must respect a limit. */
  heardMs?: number;
}) {
  const requests: RestRequest[] = [];
  const unhandled: string[] = [];
  const faults: Array<Fault & { times: number }> = [];
  const settings = { latencyMs: 0 };
  const tooEarly = createTooEarly(options.heardMs);

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse) {
    if (options.serve(incoming, outgoing)) return;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const url = new URL(incoming.url ?? '/', 'http://fake');
    const request: RestRequest = {
      method: incoming.method ?? 'GET',
      path: decodeURIComponent(url.pathname).replace(/^\/api(\/v10)?/, ''),
      query: url.searchParams,
      ...(await readBody(Buffer.concat(chunks), incoming.headers['content-type'])),
      authorization: incoming.headers.authorization,
      atMs: performance.timeOrigin + performance.now(),
      applied: false,
    };
    requests.push(request);
    tooEarly.came(kindOf(request));
    if (request.authorization !== undefined) tooEarly.came('global');
    if (settings.latencyMs > 0) await pause(settings.latencyMs);
    const fault = faults.find(
      ({ times, method, path }) =>
        times > 0 &&
        (method === undefined || method === request.method) &&
        (path === undefined || path.test(request.path)),
    );
    if (fault) fault.times -= 1;
    if (fault?.heldUntil) await fault.heldUntil;
    else if (fault) {
      if (fault.applied) request.applied = isDone(options.route(request));
      if (fault.hang) return;
      if (fault.drop) return void outgoing.socket?.destroy();
      return send(outgoing, request, {
        status: fault.status ?? 500,
        body: fault.body ?? { message: 'Internal Server Error', code: 0 },
        headers: fault.headers,
      });
    }
    const routed = options.route(request);
    request.applied = isDone(routed);
    if (!routed) unhandled.push(`${request.method} ${request.path}`);
    send(
      outgoing,
      request,
      routed ?? { status: 404, body: { message: '404: Not Found', code: 0 } },
    );
  }

  function send(
    outgoing: ServerResponse,
    request: RestRequest,
    { status, body, headers }: RestAnswer,
  ) {
    request.status = status;
    if (status === 429) {
      const { retry_after: seconds, global } = { ...(body as Limited | undefined) };
      if (seconds !== undefined) tooEarly.limited(global ? 'global' : kindOf(request), seconds);
    }
    outgoing.writeHead(status, {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  }

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => {
      unhandled.push(`${incoming.method} ${incoming.url}: ${String(error)}`);
      outgoing.writeHead(500).end();
    });
  });
  server.on('upgrade', options.upgrade);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    port,
    requests,
    unhandled,
    settings,
    fail(fault: Fault) {
      faults.push({ times: 1, ...fault });
    },
    /** Removes all faults. */
    recover() {
      faults.length = 0;
    },
    killed: tooEarly.killed,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      tooEarly.check();
    },
  };
}

interface Limited {
  retry_after?: number;
  global?: boolean;
}

/** The bucket of a request, which is shared by all messages of a channel. Source: Discord docs, "Rate Limits". */
function kindOf({ method, path }: RestRequest): string {
  const [, major, id, ...minor] = path.split('/');
  return [method, major, id, ...minor.map((part) => part.replace(/^\d{16,}$/, 'id'))].join('/');
}

const isDone = (answer: RestAnswer | undefined) => answer !== undefined && answer.status < 300;
