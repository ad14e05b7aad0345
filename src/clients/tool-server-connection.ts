import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { CallError, ContractError, NetworkError, StatusError } from './errors.ts';
import { networkError } from './service-connection.ts';
import { type CallScope, callScope, type ServerFetch } from './tool-server-fetch.ts';

/** Nothing is checked by schemas that a server wrote: to check some of them takes for ever. */
const NO_VALIDATOR = {
  getValidator() {
    throw new Error('No schema of a server is ever used.');
  },
};

/** Pages of one list, which otherwise need not end. */
const MAX_PAGES = 20;

/** After the end of an answer: what it held has been read by then. */
const READ_MS = 200;

/** Longer than any call may take; the limits are the caller's. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/** As far as it is looked at here; what stands in the list is the caller's to check, one by one. */
const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });

/** What a call gave, as the server says it. */
export interface CallResult {
  content?: readonly unknown[];
  structuredContent?: unknown;
  isError?: boolean | undefined;
}

/** A server answered a call with an error of the protocol. */
export class ToolRefusedError extends Error {
  override name = 'ToolRefusedError' as const;
}

/** The session with a server has ended, and nothing was done: a new connection has to be made. */
export class SessionGoneError extends CallError {
  override name = 'SessionGoneError' as const;
}

/** What speaks the protocol with one server. */
export type ToolServerConnection = Awaited<ReturnType<typeof connectToolServer>>;

/**
 * Connects to a server of the Model Context Protocol over Streamable HTTP, of the versions with a handshake and of those without.
 * It gets nothing but calls: what it asks for (a model's words, a person's, folders) is refused. Each function throws the reason
 * of its signal, a `CallError`, a `ContractError` or a `ToolRefusedError`.
 */
export async function connectToolServer(server: {
  url: URL;
  name: string;
  fetch: ServerFetch;
  version: string;
  signal: AbortSignal;
}) {
  const { url, name, fetch, version } = server;
  const transport = new StreamableHTTPClientTransport(url, { fetch });
  const client = new Client(
    { name: 'askwatch', title: 'Askwatch', version },
    {
      capabilities: {},
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: NO_VALIDATOR,
      versionNegotiation: { mode: 'auto' },
    },
  );
  // Each call tells its own failure.
  client.onerror = () => {};

  /**
   * One call over all its messages: it ends with its signal, and when nothing more can come for it. The library asks for the
   * rest of an answer whose stream ended early after an event with an id, as servers do that want to be polled.
   */
  async function call<T>(
    signal: AbortSignal,
    send: (options: {
      signal: AbortSignal;
      timeout: number;
      onresumptiontoken: () => void;
    }) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const over = new AbortController();
    const abort = () => over.abort();
    signal.addEventListener('abort', abort, { once: true });
    let failure: unknown;
    let sentCount = 0;
    let endedCount = 0;
    let hasRest = false;
    let settle: NodeJS.Timeout | undefined;
    const scope: CallScope = {
      sends() {
        clearTimeout(settle);
        hasRest = false;
        return ++sentCount;
      },
      signal: over.signal,
      ended(error) {
        failure ??= error;
        if (++endedCount === sentCount && !hasRest) settle = setTimeout(abort, READ_MS);
      },
    };
    const onresumptiontoken = () => {
      hasRest = true;
      clearTimeout(settle);
    };
    const aborted = new Promise<never>((_, reject) => {
      over.signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    });
    const options = { signal: over.signal, timeout: NO_LIMIT_MS, onresumptiontoken };
    const sent = callScope.run(scope, () => send(options));
    // Whichever of the two comes second, nobody waits for it.
    sent.catch(() => {});
    try {
      return await Promise.race([sent, aborted]);
    } catch (error) {
      signal.throwIfAborted();
      if (over.signal.aborted && failure === undefined) {
        throw new NetworkError(`${name} ended its answer early.`);
      }
      throw failureOf(failure ?? error, { name, hasSession: transport.sessionId !== undefined });
    } finally {
      clearTimeout(settle);
      signal.removeEventListener('abort', abort);
      abort();
    }
  }

  try {
    await call(server.signal, (options) => client.connect(transport, options));
  } catch (error) {
    await client.close().catch(() => {});
    throw error;
  }

  return {
    /** The tools there are, as the server describes them, page by page; whether there are more than are read. */
    async list(signal: AbortSignal): Promise<{ tools: unknown[]; isPartial: boolean }> {
      const tools: unknown[] = [];
      if (!client.getServerCapabilities()?.tools) return { tools, isPartial: false };
      let cursor: string | null | undefined;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const params = cursor == null ? {} : { cursor };
        const read = await call(signal, (options) =>
          client.request({ method: 'tools/list', params }, Page, options),
        );
        tools.push(...read.tools);
        cursor = read.nextCursor;
        if (cursor == null) return { tools, isPartial: false };
      }
      return { tools, isPartial: true };
    },
    call: (
      tool: { name: string; inputSchema: Record<string, unknown> },
      input: Record<string, unknown>,
      signal: AbortSignal,
    ): Promise<CallResult> =>
      call(signal, (options) =>
        client.callTool(
          { name: tool.name, arguments: input },
          {
            ...options,
            // Some arguments go into headers, as this says; without it the library would ask for the list once more.
            toolDefinition: {
              name: tool.name,
              inputSchema: { ...tool.inputSchema, type: 'object' },
            },
          },
        ),
      ),
    /** Ends what is under way; a session is given back where the server takes it soon. */
    async close(signal: AbortSignal) {
      await call(signal, () => transport.terminateSession()).catch(() => {});
      await client.close().catch(() => {});
    },
  };
}

/** What went wrong, without any text of the library: some hold what a server sent. */
function failureOf(
  error: unknown,
  { name, hasSession }: { name: string; hasSession: boolean },
): Error {
  const chain = chainOf(error);
  for (const one of chain) if (one instanceof CallError || one instanceof ContractError) return one;
  const [first] = chain;
  const status = chain.map((one) => (one as { status?: unknown }).status).find(isNumber);
  // Servers forget sessions, and not all say it in the way that is meant for it.
  if (status === 404 || (status === 400 && hasSession))
    return new SessionGoneError(
      `${name} answered with status ${status}: there is no such server at its URL.`,
    );
  if (status !== undefined) {
    return new StatusError(`${name} answered with status ${status}.`, { status });
  }
  if (first instanceof ProtocolError) return new ToolRefusedError(first.message);
  if (first instanceof SdkError && first.code === SdkErrorCode.UnsupportedResultType) {
    return new ContractError(
      `${name} asked for input from a person or a model, which is not supported.`,
    );
  }
  const ofConnection = chain.find(
    (one) => 'code' in one && /^(E[A-Z]|UND_ERR)/.test(`${one.code}`),
  );
  if (ofConnection) return networkError(name, ofConnection);
  return new ContractError(`${name} sent an answer that breaks the protocol.`, { cause: error });
}

const isNumber = (value: unknown) => typeof value === 'number';

/** An error with what is behind it. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < 8; ) {
    chain.push(one);
    one = one.cause ?? (one as { data?: { cause?: unknown } }).data?.cause;
  }
  return chain;
}
