import type { Logger } from 'pino';
import { z } from 'zod';
import { beginTurn } from '../contracts/event-loop.ts';
import { oneLine } from '../contracts/one-line.ts';
import { orAborted } from '../contracts/or-aborted.ts';
import { CallError, NetworkError, StatusError } from './errors.ts';
import {
  type CallLimit,
  createCallLimit,
  openConnections,
  wasUnsent,
} from './service-connection.ts';
import type { CallResult, ToolServerConnection } from './tool-server-connection.ts';

/** To connect and to read the list, and to call, each in all. */
const LIST_MS = 10_000;
const CALL_MS = 20_000;

/** What a stop waits for a session to be given back. */
const CLOSE_MS = 500;

/** Of one answer. */
const MAX_RESULT_BYTES = 20_000;
const MAX_DESCRIPTION = 1_024;
const MAX_SCHEMA_BYTES = 16_384;
const MAX_SCHEMA_DEPTH = 20;

/** Failures in a row after which a server is left alone, and for how long. */
const MAX_FAILURES = 3;
const FIRST_OPEN_MS = 30_000;
const LONGEST_OPEN_MS = 300_000;

const MAX_SENTENCE = 300;

/** Where a server of other people's tools is, and what it is told with every message. */
export interface ToolServerAddress {
  name: string;
  url: string;
  /** Header values may be secrets: none of them stands in anything that is given on. */
  headers: Readonly<Record<string, string>>;
}

/** A tool as it may be given to a model: written by the server, and hostile. */
export interface ListedTool {
  name: string;
  /** At most 1,024 characters. */
  description: string;
  /** A JSON schema of an object, at most 16 KB. */
  inputSchema: Record<string, unknown>;
  isReadOnly: boolean;
  isDestructive: boolean;
}

/** A tool of a list, or why it cannot be used, a sentence. */
export type ListEntry = ListedTool | { name: string; problem: string };

/** What a call gave: written by the server, and hostile. */
export interface ToolAnswer {
  /** At most 20 KB; JSON where the server gave its result so. */
  text: string;
  /** What the server gave in all, where that is more. */
  cutFromBytes?: number;
  /** The tool itself says that it failed. */
  isError: boolean;
}

/** How a server has been doing. */
export interface ToolServerHealth {
  /** `unknown` before anything was asked of it. */
  state: 'unknown' | 'answers' | 'fails';
  /** The last failure, a sentence, while it fails. */
  problem?: string;
  /** It is left alone until then, Unix time. */
  openUntilMs?: number;
}

/** A server is left alone for a while because it failed. */
export class CircuitOpenError extends CallError {
  override name = 'CircuitOpenError' as const;
}

/** A call was sent, and nobody knows whether it was done. */
export class UnknownOutcomeError extends CallError {
  override name = 'UnknownOutcomeError' as const;
}

/** Times that a test may shorten. */
interface Limits {
  listMs: number;
  callMs: number;
}

export type ToolServer = ReturnType<typeof createToolServer>;

/**
 * A server of other people's tools, over the Model Context Protocol. Nothing is loaded or sent before it is first asked, and
 * each call ends in bounded time, size and depth. After three failures in a row it is left alone for 30 seconds, twice as long each
 * further time, up to 5 minutes; then one call tries whether it answers. Each function throws the reason of its signal, a
 * `CallError`, a `ContractError` or a `ToolRefusedError`, whose messages are sentences that hold no secret.
 */
export function createToolServer(
  { name, url: address, headers }: ToolServerAddress,
  options: { version: string; log?: Logger; nowMs?: () => number; limits?: Partial<Limits> },
) {
  const { version, log, nowMs = Date.now } = options;
  const { listMs, callMs } = { listMs: LIST_MS, callMs: CALL_MS, ...options.limits };
  const url = new URL(address);
  const clean = createCleaning(secretsOf({ url: address, headers }));
  const breaker = createBreaker(nowMs);
  const connections = openConnections();
  const stopped = new AbortController();
  let shared: Promise<ToolServerConnection> | undefined;
  let open: ToolServerConnection | undefined;

  async function connect(): Promise<ToolServerConnection> {
    const limit = createCallLimit(stopped.signal);
    limit.after(listMs, tooLate(listMs));
    try {
      const [{ connectToolServer }, { createServerFetch }] = await Promise.all([
        import('./tool-server-connection.ts'),
        import('./tool-server-fetch.ts'),
      ]);
      const { signal } = limit;
      const fetch = createServerFetch({ url, name, headers, connections });
      open = await connectToolServer({ url, name, fetch, version, signal });
      return open;
    } finally {
      limit.release();
    }
  }

  /** The connection that there is, else a new one, which is then everybody's, whoever asked for it. */
  function connection(): Promise<ToolServerConnection> {
    if (shared) return shared;
    const made = connect();
    shared = made;
    made.catch(() => drop(made));
    return made;
  }

  /** The next call makes another connection; those that are under way on this one go on. */
  function drop(connection: Promise<ToolServerConnection>) {
    if (shared === connection) shared = undefined;
  }

  const tooLate = (ms: number) => `${name} did not answer within ${ms / 1000} s.`;

  /** Does something over a connection within a time. */
  async function within<T>(
    ms: number,
    signal: AbortSignal | undefined,
    work: (connection: ToolServerConnection, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const trial = breaker.enter(name);
    const limit = createCallLimit(
      signal ? AbortSignal.any([signal, stopped.signal]) : stopped.signal,
    );
    limit.after(ms, tooLate(ms));
    try {
      const done = await overConnection(limit, work, signal);
      if (trial.succeeded()) log?.info({ server: name }, 'tool server answers again');
      return done;
    } catch (error) {
      if (signal?.aborted || stopped.signal.aborted) {
        trial.left();
        throw error;
      }
      const told = toldAs(error);
      if (isRefusal(told)) trial.succeeded();
      else if (trial.failed(told.message)) {
        const problem = told.message;
        log?.warn({ server: name, problem }, 'tool server failing; skipping it for a while');
      }
      throw told;
    } finally {
      limit.release();
    }
  }

  async function overConnection<T>(
    { signal }: CallLimit,
    work: (connection: ToolServerConnection, signal: AbortSignal) => Promise<T>,
    caller: AbortSignal | undefined,
  ): Promise<T> {
    const isKnown = shared !== undefined;
    const used = connection();
    try {
      return await work(await orAborted(used, signal), signal);
    } catch (error) {
      // Whoever does not wait any more says nothing of it.
      if (!isRefusal(error) && !caller?.aborted) drop(used);
      const isGone = isKnown && (error as Error).name === 'SessionGoneError';
      if (!isGone || signal.aborted) throw error;
      // It forgot us since, and has done nothing.
      return await work(await orAborted(connection(), signal), signal);
    }
  }

  /** The error with a cleaned message. */
  function toldAs(error: unknown): Error {
    const told = error instanceof Error ? error : new Error(String(error));
    told.message = shortSentence(clean(told.message));
    return told;
  }

  return {
    name,
    /** What it is and where, for whoever runs Askwatch: what follows `?` may be a secret. */
    address: url.origin + url.pathname,
    health: breaker.health,
    /** The tools that it has, as it describes them now; `isPartial` where it has more than are read. */
    async list(signal?: AbortSignal): Promise<{ entries: ListEntry[]; isPartial: boolean }> {
      const { tools, isPartial } = await within(listMs, signal, (connection, until) =>
        connection.list(until),
      );
      const entries = new Map<string, ListEntry>();
      const turn = beginTurn();
      for (const tool of tools) {
        const entry = entryOf(tool, clean);
        if (entry && !entries.has(entry.name)) entries.set(entry.name, entry);
        if (turn.isOver()) await turn.next();
      }
      return { entries: [...entries.values()], isPartial };
    },
    /**
     * Calls a tool once. Throws an `UnknownOutcomeError` where it was sent and no good answer came.
     */
    async call(
      tool: Pick<ListedTool, 'name' | 'inputSchema'>,
      input: Record<string, unknown>,
      signal?: AbortSignal,
    ): Promise<ToolAnswer> {
      let isSent = false;
      try {
        const result = await within(callMs, signal, (connection, until) => {
          isSent = true;
          return connection.call(tool, input, until);
        });
        return answerOf(result, clean);
      } catch (error) {
        if (!isSent || isRefusal(error) || isUndone(error)) throw error;
        throw new UnknownOutcomeError((error as Error).message, { cause: error });
      }
    },
    /** Ends what is under way. */
    async close() {
      await open?.close(AbortSignal.timeout(CLOSE_MS));
      stopped.abort(new NetworkError(`${name} was not called: Askwatch is stopping.`));
      await connections.destroy();
    },
  };
}

/** The server has answered, and it was no. By its name, since the class is loaded with the library. */
const isRefusal = (error: unknown) => error instanceof Error && error.name === 'ToolRefusedError';

/** Nothing can have come of it. */
const isUndone = (error: unknown) =>
  wasUnsent(error) ||
  error instanceof CircuitOpenError ||
  (error instanceof Error && error.name === 'SessionGoneError') ||
  (error instanceof StatusError && error.status < 500);

const shortSentence = (text: string) => {
  const line = oneLine(text);
  return line.length > MAX_SENTENCE ? `${line.slice(0, MAX_SENTENCE)}…` : line;
};

const REDACTED = '[secret]';

/** What a server is told with every message, and nobody else may know. */
export function secretsOf({ url, headers }: Pick<ToolServerAddress, 'url' | 'headers'>): string[] {
  return [
    ...Object.values(headers).flatMap((value) => [value, value.replace(/^\w+ +/, '')]),
    ...new URL(url).searchParams.values(),
  ];
}

/** Takes out of a text what the server is told with every message: some repeat it. */
function createCleaning(secrets: readonly string[]) {
  const written = secrets
    .flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])
    .filter((value) => value.length >= 6);
  const inOrder = [...new Set(written)].sort((a, b) => b.length - a.length);
  return (text: string) => inOrder.reduce((all, one) => all.replaceAll(one, REDACTED), text);
}

type Cleaning = ReturnType<typeof createCleaning>;

const RawTool = z.object({
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  inputSchema: z.looseObject({ type: z.literal('object') }),
  annotations: z
    .object({ readOnlyHint: z.unknown(), destructiveHint: z.unknown() })
    .partial()
    .nullish(),
});

const Named = z.object({ name: z.string().min(1).max(128) });

/** An entry of a list; none where it has not even a name. */
function entryOf(raw: unknown, clean: Cleaning): ListEntry | undefined {
  const named = Named.safeParse(raw);
  if (!named.success) return undefined;
  const name = clean(named.data.name);
  const { data } = RawTool.safeParse(raw);
  if (!data) return { name, problem: 'Its definition breaks the protocol.' };
  // Before more is done with it: one of a megabyte takes long.
  if (Buffer.byteLength(JSON.stringify(data.inputSchema)) > MAX_SCHEMA_BYTES) {
    return { name, problem: `Its schema is longer than ${MAX_SCHEMA_BYTES / 1024} KB.` };
  }
  const inputSchema = cleanValue(data.inputSchema, clean, MAX_SCHEMA_DEPTH) as
    | Record<string, unknown>
    | undefined;
  if (!inputSchema) return { name, problem: 'Its schema is nested too deep.' };
  const { readOnlyHint, destructiveHint } = data.annotations ?? {};
  return {
    name,
    description: cleanText((data.description ?? '').slice(0, 2 * MAX_DESCRIPTION), clean).slice(
      0,
      MAX_DESCRIPTION,
    ),
    inputSchema,
    isReadOnly: readOnlyHint === true,
    isDestructive: readOnlyHint !== true && destructiveHint !== false,
  };
}

/** What nobody sees stands in no line: who looks at a definition sees all that a model does. */
const cleanText = (text: string, clean: Cleaning) =>
  clean(text.split(/\r?\n/).map(oneLine).join('\n').trim());

/** A copy of JSON whose texts are clean; `undefined` where it is nested deeper. */
function cleanValue(value: unknown, clean: Cleaning, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value, clean);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => cleanValue(item, clean, depth - 1));
    return items.includes(undefined) ? undefined : items;
  }
  const fields = Object.entries(value).map(([key, field]) => [
    cleanText(key, clean),
    cleanValue(field, clean, depth - 1),
  ]);
  return fields.some(([, field]) => field === undefined) ? undefined : Object.fromEntries(fields);
}

const Content = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('resource'), resource: z.object({ text: z.string() }) }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: z.string().optional() }),
]);

/** Something that is no text, by its name alone. */
const Other = z.object({ type: z.string(), mimeType: z.string().optional() });

function answerOf(result: CallResult, clean: Cleaning): ToolAnswer {
  const { structuredContent, content, isError } = result;
  const text = clean(
    structuredContent === undefined || structuredContent === null
      ? (content ?? []).map(wordsOf).join('\n')
      : JSON.stringify(structuredContent),
  );
  const bytes = Buffer.from(text);
  const isCut = bytes.length > MAX_RESULT_BYTES;
  return {
    // A character that is cut in two is none.
    text: isCut
      ? bytes
          .subarray(0, MAX_RESULT_BYTES)
          .toString('utf8')
          .replace(/\ufffd+$/, '')
      : text,
    ...(isCut && { cutFromBytes: bytes.length }),
    isError: isError ?? false,
  };
}

function wordsOf(content: unknown): string {
  const { data } = Content.safeParse(content);
  if (data?.type === 'text') return data.text;
  if (data?.type === 'resource') return data.resource.text;
  if (data) return `[link: ${data.name ?? ''} ${data.uri}]`;
  const { type = 'something', mimeType } = Other.safeParse(content).data ?? {};
  return `[${[type, mimeType].filter(Boolean).join(', ')}: not read]`;
}

/** Leaves a server alone that fails. */
function createBreaker(nowMs: () => number) {
  let failures = 0;
  let openMs = 0;
  let openUntilMs = 0;
  let isTried = false;
  let state: ToolServerHealth['state'] = 'unknown';
  let problem: string | undefined;

  return {
    health(): ToolServerHealth {
      const isOpen = openUntilMs > nowMs();
      return {
        state,
        ...(problem !== undefined && { problem }),
        ...(isOpen && { openUntilMs }),
      };
    },
    /** Lets a call through, or throws a `CircuitOpenError`. One of the functions it gives is called, once. */
    enter(name: string) {
      const isOpen = openMs > 0;
      if (isOpen && (isTried || nowMs() < openUntilMs)) {
        throw new CircuitOpenError(
          `${name} failed and is skipped for a while: ${problem ?? ''}`.trim(),
        );
      }
      if (isOpen) isTried = true;
      const over = () => {
        if (isOpen) isTried = false;
      };
      return {
        /** Whether it is news. */
        succeeded(): boolean {
          over();
          const isNews = openMs > 0;
          failures = openMs = openUntilMs = 0;
          state = 'answers';
          problem = undefined;
          return isNews;
        },
        /** Whether it is news that it is left alone. */
        failed(why: string): boolean {
          over();
          // It was opened meanwhile by others that were asked at the same time.
          if (openMs > 0 && !isOpen) return false;
          failures += 1;
          state = 'fails';
          problem = why;
          if (failures < MAX_FAILURES) return false;
          const isNews = openMs === 0;
          openMs = Math.min(Math.max(FIRST_OPEN_MS, openMs * 2), LONGEST_OPEN_MS);
          openUntilMs = nowMs() + openMs;
          return isNews;
        },
        /** Nobody waited for it: it says nothing. */
        left: over,
      };
    },
  };
}
