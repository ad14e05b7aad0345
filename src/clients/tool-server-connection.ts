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

/** Schemas from a server are never used, because checking some of them takes forever. */
const NO_VALIDATOR = {
  getValidator() {
    throw new Error('No schema of a server is ever used.');
  },
};

/** Pages of one list, which a server could make endless. */
const MAX_PAGES = 20;

/** Time after the end of an answer in which its contents are read. */
const READ_MS = 200;

/** Longer than any call may take; callers set the limits. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/** A page of tools; the caller checks them one by one. */
const ToolPage = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });

export interface RawToolResult {
  content?: readonly unknown[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** A server answered a call with a protocol error. */
export class ToolRefusedError extends Error {
  override name = 'ToolRefusedError' as const;
}

/** The session with a server has ended and nothing was done; the call needs a new connection. */
export class SessionGoneError extends CallError {
  override name = 'SessionGoneError' as const;
}

interface ToolServerConnectionOptions {
  url: URL;
  name: string;
  fetch: ServerFetch;
  version: string;
}

/**
 * Connects over Streamable HTTP, with or without a handshake. The server's own requests are refused. Each function throws its signal's
 * reason, a `CallError`, a `ContractError` or a `ToolRefusedError`.
 */
export async function connectToolServer(
  server: ToolServerConnectionOptions & { signal: AbortSignal },
): Promise<ToolServerConnection> {
  const connection = new ToolServerConnection(server);
  await connection.open(server.signal);
  return connection;
}

export class ToolServerConnection {
  readonly #name: string;
  readonly #transport: StreamableHTTPClientTransport;
  readonly #client: Client;

  constructor({ url, name, fetch, version }: ToolServerConnectionOptions) {
    this.#name = name;
    this.#transport = new StreamableHTTPClientTransport(url, { fetch });
    this.#client = new Client(
      { name: 'askwatch', title: 'Askwatch', version },
      {
        capabilities: {},
        inputRequired: { autoFulfill: false },
        jsonSchemaValidator: NO_VALIDATOR,
        versionNegotiation: { mode: 'auto' },
      },
    );
    // Each call reports its own failure.
    this.#client.onerror = () => {};
  }

  async open(signal: AbortSignal): Promise<void> {
    try {
      await this.#run(signal, (options) => this.#client.connect(this.#transport, options));
    } catch (error) {
      await this.#client.close().catch(() => {});
      throw error;
    }
  }

  /** Lists the tools as the server describes them; `isPartial` if it has more than are read. */
  async list(signal: AbortSignal): Promise<{ tools: unknown[]; isPartial: boolean }> {
    const tools: unknown[] = [];
    if (!this.#client.getServerCapabilities()?.tools) return { tools, isPartial: false };
    let cursor: string | null | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor == null ? {} : { cursor };
      const read = await this.#run(signal, (options) =>
        this.#client.request({ method: 'tools/list', params }, ToolPage, options),
      );
      tools.push(...read.tools);
      cursor = read.nextCursor;
      if (cursor == null) return { tools, isPartial: false };
    }
    return { tools, isPartial: true };
  }

  call(
    { name, inputSchema }: { name: string; inputSchema: Record<string, unknown> },
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<RawToolResult> {
    // The schema says which arguments go into headers. Without it the library would request the list again.
    const toolDefinition = { name, inputSchema: { ...inputSchema, type: 'object' as const } };
    return this.#run(signal, (options) =>
      this.#client.callTool({ name, arguments: input }, { ...options, toolDefinition }),
    );
  }

  /** Ends all calls in progress, and the session if the server accepts that soon. */
  async close(signal: AbortSignal): Promise<void> {
    await this.#run(signal, () => this.#transport.terminateSession()).catch(() => {});
    await this.#client.close().catch(() => {});
  }

  /**
   * Ends with its signal, and once nothing more can come. The library requests the rest of an answer whose stream ended early after an
   * event with an id.
   */
  async #run<T>(
    signal: AbortSignal,
    send: (options: {
      signal: AbortSignal;
      timeout: number;
      onresumptiontoken: () => void;
    }) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const scope = new CallProgress();
    const abort = () => scope.abort();
    signal.addEventListener('abort', abort, { once: true });
    const aborted = new Promise<never>((_, reject) => {
      scope.signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    });
    const onresumptiontoken = () => scope.expectRest();
    const options = { signal: scope.signal, timeout: NO_LIMIT_MS, onresumptiontoken };
    const sent = callScope.run(scope, () => send(options));
    // The slower of the two may still fail when nobody waits for it.
    sent.catch(() => {});
    try {
      return await Promise.race([sent, aborted]);
    } catch (error) {
      signal.throwIfAborted();
      if (scope.signal.aborted && scope.failure === undefined) {
        throw new NetworkError(`${this.#name} ended its answer early.`);
      }
      const hasSession = this.#transport.sessionId !== undefined;
      throw failureOf(scope.failure ?? error, { name: this.#name, hasSession });
    } finally {
      signal.removeEventListener('abort', abort);
      scope.abort();
    }
  }
}

/** Follows the messages of one call, and aborts once each has its answer and no rest of one is expected. */
class CallProgress implements CallScope {
  /** First failure of a message. */
  failure: unknown;
  readonly #over = new AbortController();
  #sentCount = 0;
  #endedCount = 0;
  #expectsRest = false;
  #timer: NodeJS.Timeout | undefined;

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  sends(): number {
    clearTimeout(this.#timer);
    this.#expectsRest = false;
    return ++this.#sentCount;
  }

  ended(error?: unknown): void {
    this.failure ??= error;
    if (++this.#endedCount !== this.#sentCount || this.#expectsRest) return;
    this.#timer = setTimeout(() => this.abort(), READ_MS);
  }

  expectRest(): void {
    this.#expectsRest = true;
    clearTimeout(this.#timer);
  }

  abort(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }
}

/** Describes a failure without any text of the library, because that may quote the server. */
function failureOf(
  error: unknown,
  { name, hasSession }: { name: string; hasSession: boolean },
): Error {
  const chain = chainOf(error);
  for (const one of chain) if (one instanceof CallError || one instanceof ContractError) return one;
  const [first] = chain;
  const status = chain.map((one) => (one as { status?: unknown }).status).find(isNumber);
  // Servers forget sessions, and not all of them use the right status for it.
  if (status === 404 || (status === 400 && hasSession)) {
    const message = `${name} answered with status ${status}: there is no such server at its URL.`;
    return new SessionGoneError(message);
  }
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

function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < 8; ) {
    chain.push(one);
    one = one.cause ?? (one as { data?: { cause?: unknown } }).data?.cause;
  }
  return chain;
}
