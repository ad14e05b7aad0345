import type { Logger } from 'pino';
import { beginTurn } from '../contracts/event-loop.ts';
import { oneLine } from '../contracts/one-line.ts';
import { orAborted } from '../contracts/or-aborted.ts';
import { CallError, NetworkError, StatusError } from './errors.ts';
import { createCallLimit, openConnections, wasUnsent } from './service-connection.ts';
import {
  CircuitOpenError,
  ToolServerBreaker,
  type ToolServerHealth,
} from './tool-server-breaker.ts';
import type { ToolServerConnection } from './tool-server-connection.ts';
import {
  type CleanText,
  createCleaning,
  type ListEntry,
  type ListedTool,
  readAnswer,
  readEntry,
  secretsOf,
  type ToolAnswer,
  type ToolServerAddress,
} from './tool-server-values.ts';

/** Time to connect and read the list, and time for a call. */
const LIST_MS = 10_000;
const CALL_MS = 20_000;

/** Time that a stop waits until the server has accepted the end of the session. */
const CLOSE_MS = 500;

/** Characters of an error. */
const MAX_SENTENCE = 300;

/** A call was sent, and nobody knows if it was carried out. */
export class UnknownOutcomeError extends CallError {
  override name = 'UnknownOutcomeError' as const;
}

interface ToolServerTimes {
  listMs: number;
  callMs: number;
}

interface ToolServerOptions {
  version: string;
  log?: Logger;
  nowMs?: () => number;
  limits?: Partial<ToolServerTimes>;
}

type UseConnection<T> = (connection: ToolServerConnection, signal: AbortSignal) => Promise<T>;

export function createToolServer(address: ToolServerAddress, options: ToolServerOptions) {
  return new ToolServer(address, options);
}

/**
 * A server of other people's tools. Nothing is loaded or sent before the first call, and each call is bounded in time, size and depth.
 * Each function throws its signal's reason, a `CallError`, a `ContractError` or a `ToolRefusedError`, as sentences without secrets.
 */
export class ToolServer {
  readonly name: string;
  /** Address without its query, which may be a secret. */
  readonly address: string;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #version: string;
  readonly #log: Logger | undefined;
  readonly #times: ToolServerTimes;
  readonly #clean: CleanText;
  readonly #breaker: ToolServerBreaker;
  readonly #connections = openConnections();
  readonly #stopped = new AbortController();
  /** The connection of all calls, while it is being opened and afterwards. */
  #shared: Promise<ToolServerConnection> | undefined;
  #open: ToolServerConnection | undefined;

  constructor(server: ToolServerAddress, options: ToolServerOptions) {
    this.name = server.name;
    this.#url = new URL(server.url);
    this.address = this.#url.origin + this.#url.pathname;
    this.#headers = server.headers;
    this.#version = options.version;
    this.#log = options.log;
    this.#times = { listMs: LIST_MS, callMs: CALL_MS, ...options.limits };
    this.#clean = createCleaning(secretsOf(server));
    this.#breaker = new ToolServerBreaker(options.nowMs ?? Date.now);
  }

  health(): ToolServerHealth {
    return this.#breaker.health();
  }

  /** Lists the tools as the server describes them now; `isPartial` if it has more than are read. */
  async list(signal?: AbortSignal): Promise<{ entries: ListEntry[]; isPartial: boolean }> {
    const { tools, isPartial } = await this.#within(
      this.#times.listMs,
      signal,
      (connection, until) => connection.list(until),
    );
    const entries = new Map<string, ListEntry>();
    const turn = beginTurn();
    for (const tool of tools) {
      const entry = readEntry(tool, this.#clean);
      if (entry && !entries.has(entry.name)) entries.set(entry.name, entry);
      if (turn.isOver()) await turn.next();
    }
    return { entries: [...entries.values()], isPartial };
  }

  /** Calls a tool once. Throws an `UnknownOutcomeError` if the call was sent and no good answer came. */
  async call(
    tool: Pick<ListedTool, 'name' | 'inputSchema'>,
    input: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<ToolAnswer> {
    let isSent = false;
    try {
      const result = await this.#within(this.#times.callMs, signal, (connection, until) => {
        isSent = true;
        return connection.call(tool, input, until);
      });
      return readAnswer(result, this.#clean);
    } catch (error) {
      if (!isSent || isRefusal(error) || hasNoEffect(error)) throw error;
      throw new UnknownOutcomeError((error as Error).message, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#open?.close(AbortSignal.timeout(CLOSE_MS));
    this.#stopped.abort(new NetworkError(`${this.name} was not called: Askwatch is stopping.`));
    await this.#connections.destroy();
  }

  async #within<T>(ms: number, signal: AbortSignal | undefined, use: UseConnection<T>): Promise<T> {
    const trial = this.#breaker.enter(this.name);
    const { signal: stopped } = this.#stopped;
    const until = signal ? AbortSignal.any([signal, stopped]) : stopped;
    const limit = createCallLimit(ms, this.name, until);
    try {
      const result = await this.#useConnection(limit.signal, use, signal);
      if (trial.succeeded()) this.#log?.info({ server: this.name }, 'tool server answers again');
      return result;
    } catch (error) {
      if (signal?.aborted || stopped.aborted) {
        trial.cancelled();
        throw error;
      }
      const failure = this.#withCleanMessage(error);
      const problem = failure.message;
      if (isRefusal(failure)) trial.succeeded();
      else if (trial.failed(problem)) {
        this.#log?.warn(
          { server: this.name, problem },
          'tool server failing; skipping it for a while',
        );
      }
      throw failure;
    } finally {
      limit.release();
    }
  }

  async #useConnection<T>(
    signal: AbortSignal,
    use: UseConnection<T>,
    caller: AbortSignal | undefined,
  ): Promise<T> {
    const isReused = this.#shared !== undefined;
    const connection = this.#connection();
    try {
      return await use(await orAborted(connection, signal), signal);
    } catch (error) {
      // A caller who left says nothing about the connection.
      if (!isRefusal(error) && !caller?.aborted) this.#drop(connection);
      const isGone = isReused && (error as Error).name === 'SessionGoneError';
      if (!isGone || signal.aborted) throw error;
      // The server forgot the session, so it did nothing.
      return await use(await orAborted(this.#connection(), signal), signal);
    }
  }

  /** Returns the open connection, or opens one for all callers. */
  #connection(): Promise<ToolServerConnection> {
    if (this.#shared) return this.#shared;
    const connecting = this.#connect();
    this.#shared = connecting;
    connecting.catch(() => this.#drop(connecting));
    return connecting;
  }

  /** Makes the next call open another connection; calls in progress on this one continue. */
  #drop(connection: Promise<ToolServerConnection>) {
    if (this.#shared === connection) this.#shared = undefined;
  }

  async #connect(): Promise<ToolServerConnection> {
    const limit = createCallLimit(this.#times.listMs, this.name, this.#stopped.signal);
    try {
      const [{ connectToolServer }, { createServerFetch }] = await Promise.all([
        import('./tool-server-connection.ts'),
        import('./tool-server-fetch.ts'),
      ]);
      const server = { url: this.#url, name: this.name };
      const connections = this.#connections;
      const fetch = createServerFetch({ ...server, headers: this.#headers, connections });
      const { signal } = limit;
      this.#open = await connectToolServer({ ...server, fetch, version: this.#version, signal });
      return this.#open;
    } finally {
      limit.release();
    }
  }

  #withCleanMessage(error: unknown): Error {
    const cleaned = error instanceof Error ? error : new Error(String(error));
    cleaned.message = shortSentence(this.#clean(cleaned.message));
    return cleaned;
  }
}

/** The server answered, and it refused. Checked by name, since the class is loaded with the library. */
const isRefusal = (error: unknown) => error instanceof Error && error.name === 'ToolRefusedError';

/** The failure can't have had an effect at the server. */
const hasNoEffect = (error: unknown) =>
  wasUnsent(error) ||
  error instanceof CircuitOpenError ||
  (error instanceof Error && error.name === 'SessionGoneError') ||
  (error instanceof StatusError && error.status < 500);

const shortSentence = (text: string) => {
  const line = oneLine(text);
  return line.length > MAX_SENTENCE ? `${line.slice(0, MAX_SENTENCE)}…` : line;
};
