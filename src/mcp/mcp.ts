import type { Logger } from 'pino';
import { z } from 'zod';
import { openMonitoringClients } from '../clients/monitoring.ts';
import { ErrorCode } from '../contracts/error.ts';
import { createAuthentication, keyIn } from '../http/authentication.ts';
import { HttpError, notFound } from '../http/errors.ts';
import type { KeyInfo, Keys } from '../http/keys.ts';
import { createRateLimit, rateLimitHeaders } from '../http/rate-limit.ts';
import type { ServerKit } from '../http/server.ts';
import type { HttpReply, HttpRequest } from '../http/server-types.ts';
import type { CallerIncidents } from './caller.ts';
import { createRequireOwnHost } from './own-hosts.ts';
import type { Protocol } from './protocol.ts';

const PATH = '/mcp';

/** Messages of one request. Only version 2025-03-26 has such batches. */
const MAX_BATCH = 20;

/** Messages per key in this process. Tool calls also count against the monitoring service's own limit. */
const MESSAGES_PER_MINUTE = 300;

const AGAIN_SECONDS = 5;

const Batch = z.array(z.looseObject({})).min(1).max(MAX_BATCH);

/** Request headers that the MCP library needs. */
const HEADERS = /^(accept|content-type|mcp-.*)$/;

/**
 * Adds `/mcp`: the bot's tools for other assistants, over the Model Context Protocol (Streamable HTTP, without sessions). What
 * speaks it is loaded when it is first asked for.
 */
export function addMcp(options: {
  kit: ServerKit;
  /** Keys of this process's monitoring service. */
  keys: Keys;
  /** The monitoring service's address; called while it listens. */
  serviceUrl: () => string;
  /** Offers tools that change something. */
  writes: boolean;
  /** Incidents of this process's bot; `undefined` until it has started. */
  incidents?: () => CallerIncidents | undefined;
  publicUrl: string | undefined;
  /** True if other machines can reach the listener. */
  isOpen: boolean;
  version: string;
  log: Logger;
}) {
  const { kit, keys, serviceUrl, log } = options;
  const requireOwnHost = createRequireOwnHost(options);
  const authenticate = createAuthentication(keys, { acceptApiKeyHeader: true });
  const messages = createRateLimit({ limit: MESSAGES_PER_MINUTE, windowMs: 60_000 });
  const keyOf = new WeakMap<HttpRequest, KeyInfo>();
  let loading: Promise<Protocol> | undefined;
  let clients: ReturnType<typeof openMonitoringClients> | undefined;
  let closing = false;

  const load = () => import('./protocol.ts').then(({ createProtocol }) => createProtocol(options));

  /** Before the body is read. */
  async function admit(request: HttpRequest) {
    requireOwnHost(request);
    const key = authenticate(request);
    await authenticate.confirm(key);
    count(key);
    keyOf.set(request, key);
  }

  /** Counts one message of a key; throws when that is one too many. */
  function count({ id }: KeyInfo) {
    const verdict = messages.take(id);
    if (verdict.allowed) return;
    const seconds = Math.max(1, Math.ceil(verdict.resetMs / 1000));
    throw new HttpError(
      429,
      ErrorCode.rateLimited,
      `More than ${MESSAGES_PER_MINUTE} messages in a minute. Wait ${seconds} s (Retry-After) and try again.`,
      { headers: rateLimitHeaders(verdict) },
    );
  }

  async function answer(request: HttpRequest, reply: HttpReply) {
    const key = keyOf.get(request);
    if (!key) throw new Error('No key was checked.');
    // The first was counted before it was read.
    if (Array.isArray(request.body)) for (const _ of request.body.slice(1)) count(key);
    if (!closing) loading ??= load();
    const protocol = await loading;
    if (closing || !protocol) {
      throw new HttpError(
        503,
        ErrorCode.unavailable,
        `Askwatch is stopping. Try again in ${AGAIN_SECONDS} s.`,
        { headers: { 'retry-after': String(AGAIN_SECONDS) } },
      );
    }
    clients ??= openMonitoringClients({ baseUrl: serviceUrl(), log });
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const monitoring = clients.withKey(keyIn(request.raw));
    const incidents = options.incidents?.();
    const caller = { key, monitoring, incidents, requestId: request.id, log };
    return await protocol.answer(messageOf(request, gone.signal), request.body, caller);
  }

  kit.server.post(
    PATH,
    {
      schema: { hide: true, body: z.looseObject({}).or(Batch) },
      onRequest: admit,
    },
    async (request, reply) => reply.send(await answer(request, reply)),
  );
  return {
    /** Takes nothing new, and ends what is under way. */
    async close() {
      closing = true;
      await (await loading)?.close();
      await clients?.close();
    },
  };
}

/** Says at `/mcp` where it is to be asked: its tools are about monitors of a service that does not run here. */
export function addMcpElsewhere({ kit, isElsewhere }: { kit: ServerKit; isElsewhere: boolean }) {
  const sentence = isElsewhere
    ? 'The monitors are in the service at MONITORING_BASE_URL, so there are no tools here. If that service is an Askwatch, use its /mcp.'
    : 'The monitoring service does not run in this process (ASKWATCH_ROLES). Use /mcp where it runs.';
  kit.server.post(PATH, {
    schema: { hide: true },
    // Whatever the body holds.
    async onRequest() {
      throw notFound(sentence);
    },
    handler: () => undefined,
  });
}

/** Converts a request for the MCP library, without the key. */
function messageOf({ headers }: HttpRequest, signal: AbortSignal): Request {
  const read = Object.entries(headers).filter(([name]) => HEADERS.test(name));
  const values = read.map(([name, value]) => [name, String(value)] as [string, string]);
  return new Request(`http://askwatch${PATH}`, { method: 'POST', headers: values, signal });
}
