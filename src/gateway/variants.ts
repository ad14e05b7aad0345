import type { ChatCompletion, ChatCompletionChunk, ChatRequest } from '../contracts/gateway.ts';
import type { Upstream } from './upstream.ts';
import { sumUsage } from './usage-sum.ts';

/** Calls at a time for one request: enough to be quick, few enough not to look like an attack to the provider. */
const CALLS_AT_A_TIME = 8;

/** One of the calls that make up an answer: so many variants, the first of which is number `offset`. */
interface Part {
  offset: number;
  size: number;
}

/**
 * A view of an upstream that gives `n` variants although it gives fewer at once, by calling it several times side by
 * side. Settings such as `stop` and `max_tokens` go into every call, so they hold for each variant. When one call fails,
 * the others are ended and its failure is thrown.
 */
export function withVariants(upstream: Upstream, n: number): Upstream {
  const { provider, model, maxChoices } = upstream;
  if (n <= maxChoices) return upstream;
  const parts: Part[] = [];
  for (let offset = 0; offset < n; offset += maxChoices) {
    parts.push({ offset, size: Math.min(maxChoices, n - offset) });
  }
  return {
    provider,
    model,
    maxChoices: n,
    ...(upstream.dropped && { dropped: upstream.dropped }),
    complete: (request, signal) => completeParts(upstream, parts, request, signal),
    stream: (request, signal) => streamParts(upstream, parts, request, signal),
  };
}

async function completeParts(
  upstream: Upstream,
  parts: readonly Part[],
  request: ChatRequest,
  signal: AbortSignal,
): Promise<ChatCompletion> {
  const calls = joinedTo(signal);
  const answers: ChatCompletion[] = [];
  const waiting = parts.entries();
  async function work() {
    for (const [at, part] of waiting) {
      calls.signal.throwIfAborted();
      answers[at] = await upstream.complete(requestOf(request, part), calls.signal);
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(CALLS_AT_A_TIME, parts.length) }, work));
  } catch (error) {
    calls.abort(error);
    throw error;
  } finally {
    calls.release();
  }
  const [first] = answers;
  if (!first) throw new Error('No variant was asked for.');
  const { usage: _, ...shared } = first;
  const usage = sumUsage(answers.map((answer) => answer.usage));
  return {
    ...shared,
    choices: answers.flatMap((answer, at) => numbered(answer.choices, parts[at])),
    ...(usage && { usage }),
  };
}

/** A call under way, and what it gave next. */
interface Call {
  part: Part;
  chunks: AsyncIterator<ChatCompletionChunk>;
  usage: ChatCompletionChunk['usage'];
}
interface Arrival {
  call: Call;
  next: () => IteratorResult<ChatCompletionChunk>;
}

/**
 * The chunks of all calls in the order they come. A call is asked for its next chunk when its last one has been taken, so
 * that none gets ahead of the reader or of the others.
 */
async function* streamParts(
  upstream: Upstream,
  parts: readonly Part[],
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const joined = joinedTo(signal);
  const waiting = [...parts];
  const calls: Call[] = [];
  const running = new Set<Call>();
  const arrivals: Arrival[] = [];
  let wake = () => {};

  function pull(call: Call): void {
    const arrive = (next: Arrival['next']) => {
      arrivals.push({ call, next });
      wake();
    };
    call.chunks.next().then(
      (result) => arrive(() => result),
      (error: unknown) =>
        arrive(() => {
          throw error;
        }),
    );
  }

  function start(): void {
    joined.signal.throwIfAborted();
    const part = waiting.shift();
    if (!part) return;
    const chunks = upstream.stream(requestOf(request, part), joined.signal);
    const call: Call = { part, chunks: chunks[Symbol.asyncIterator](), usage: undefined };
    calls.push(call);
    running.add(call);
    pull(call);
  }

  let shared: Pick<ChatCompletionChunk, 'id' | 'object' | 'created' | 'model'> | undefined;
  try {
    for (let times = 0; times < CALLS_AT_A_TIME; times += 1) start();
    while (running.size > 0) {
      const arrival = arrivals.shift();
      if (!arrival) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const { call, next } = arrival;
      const { done, value } = next();
      if (done) {
        running.delete(call);
        start();
        continue;
      }
      const { usage, choices, ...rest } = value;
      shared ??= { id: rest.id, object: rest.object, created: rest.created, model: rest.model };
      if (usage) call.usage = usage;
      const mine = numbered(choices, call.part);
      if (mine.length > 0) yield { ...rest, ...shared, choices: mine };
      pull(call);
    }
    const usage = sumUsage(calls.map((call) => call.usage));
    if (shared && usage) yield { ...shared, choices: [], usage };
  } finally {
    joined.abort(signal.reason);
    joined.release();
    for (const { chunks } of running) void chunks.return?.().catch(() => {});
  }
}

/** The request for one part; for a single variant without `n`, which some providers do not know. */
function requestOf({ n: _, ...request }: ChatRequest, { size }: Part): ChatRequest {
  return (size === 1 ? request : { ...request, n: size }) as ChatRequest;
}

/** Choices of a part under their numbers in the whole; one that nobody asked for would stand in another's place. */
function numbered<Choice extends { index: number }>(
  choices: readonly Choice[],
  part: Part | undefined,
): Choice[] {
  const { offset, size } = part ?? { offset: 0, size: 0 };
  return choices
    .filter(({ index }) => index < size)
    .map((choice) => ({ ...choice, index: offset + choice.index }));
}

/** A signal of our own that also follows the caller's. */
function joinedTo(caller: AbortSignal) {
  const controller = new AbortController();
  const follow = () => controller.abort(caller.reason);
  if (caller.aborted) follow();
  caller.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    abort: (reason: unknown) => controller.abort(reason),
    release: () => caller.removeEventListener('abort', follow),
  };
}
