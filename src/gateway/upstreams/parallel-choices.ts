import { ErrorCode } from '../../contracts/error.ts';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  Usage,
} from '../../contracts/gateway.ts';
import { HttpError } from '../../http/errors.ts';
import { isFields } from '../shared/fields.ts';
import { UpstreamError } from '../shared/upstream-error.ts';
import type { Upstream } from './upstream.ts';

/** Simultaneous calls for one request: enough to be quick, and few enough not to look like an attack to the provider. */
const CALLS_AT_A_TIME = 8;

/** Numbers of the choices that one call is for. */
type ChoiceNumbers = readonly number[];

/**
 * Returns an upstream that gives `n` choices by several simultaneous calls, if the given one gives fewer at once. Many servers
 * accept `n` and return one choice, so missing choices are requested again. Settings such as `stop` and `max_tokens` go into
 * every call, so they hold for each choice. If one call fails, the others are ended and its failure is thrown.
 */
export function withParallelChoices(upstream: Upstream, n: number): Upstream {
  const { provider, model, label, maxChoices } = upstream;
  if (n === 1) return upstream;
  const parts = inParts([...Array(n).keys()], maxChoices);
  return {
    provider,
    model,
    label,
    maxChoices: n,
    dropped: upstream.dropped,
    complete: (request, signal) => completeParts(upstream, parts, request, signal),
    stream: (request, signal) => streamParts(upstream, parts, request, signal),
  };
}

async function completeParts(
  upstream: Upstream,
  parts: readonly ChoiceNumbers[],
  request: ChatRequest,
  signal: AbortSignal,
): Promise<ChatCompletion> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const answers: ChatCompletion[] = [];
  const choices: ChatCompletion['choices'] = [];
  let open = parts;
  /** Requests these choices; returns the parts that are still missing. */
  async function askFor(asked: readonly ChoiceNumbers[]): Promise<ChoiceNumbers[]> {
    const waiting = asked.values();
    const missing: ChoiceNumbers[] = [];
    async function work() {
      for (const part of waiting) {
        either.throwIfAborted();
        const answer = await upstream.complete(requestOf(request, part), either);
        either.throwIfAborted();
        answers.push(answer);
        const came = numbered(inOrder(answer.choices), part);
        choices.push(...came);
        missing.push(...missingFrom(part, new Set(came.map(({ index }) => index)), upstream));
      }
    }
    await Promise.all(Array.from({ length: Math.min(CALLS_AT_A_TIME, asked.length) }, work));
    return missing;
  }
  try {
    while (open.length > 0) open = await askFor(open);
  } catch (error) {
    ended.abort(error);
    throw error;
  }
  const [first] = answers;
  if (!first) throw new Error('No choice was asked for.');
  const { usage: _, ...shared } = first;
  const usage = sumUsage(answers.map((answer) => answer.usage));
  return {
    ...shared,
    choices: choices.sort((one, other) => one.index - other.index),
    ...(usage && { usage }),
  };
}

/** A call in progress. */
interface ChoiceCall {
  part: ChoiceNumbers;
  /** Numbers of the choices that have begun. */
  came: Set<number>;
  chunks: AsyncIterator<ChatCompletionChunk>;
  usage: ChatCompletionChunk['usage'];
}
interface Arrival {
  call: ChoiceCall;
  /** Has settled already. */
  next: Promise<IteratorResult<ChatCompletionChunk>>;
}

/**
 * Yields the chunks of all calls as they arrive. A call's next chunk is requested only after its last one was consumed, so
 * that no call gets ahead of the reader or of the others.
 */
async function* streamParts(
  upstream: Upstream,
  parts: readonly ChoiceNumbers[],
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const waiting = [...parts];
  const calls: ChoiceCall[] = [];
  const running = new Set<ChoiceCall>();
  const arrivals: Arrival[] = [];
  let wake = () => {};

  function pull(call: ChoiceCall): void {
    const next = call.chunks.next();
    const arrive = () => {
      arrivals.push({ call, next });
      wake();
    };
    next.then(arrive, arrive);
  }

  function start(): void {
    either.throwIfAborted();
    const part = waiting.shift();
    if (!part) return;
    const chunks = upstream.stream(requestOf(request, part), either);
    const call: ChoiceCall = {
      part,
      came: new Set(),
      chunks: chunks[Symbol.asyncIterator](),
      usage: undefined,
    };
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
      const { done, value } = await next;
      if (done) {
        running.delete(call);
        either.throwIfAborted();
        waiting.push(...missingFrom(call.part, call.came, upstream));
        while (waiting.length > 0 && running.size < CALLS_AT_A_TIME) start();
        continue;
      }
      const { usage, choices, ...rest } = value;
      shared ??= { id: rest.id, object: rest.object, created: rest.created, model: rest.model };
      if (usage) call.usage = usage;
      const mine = numbered(choices, call.part);
      for (const { index } of mine) call.came.add(index);
      if (mine.length > 0) yield { ...rest, ...shared, choices: mine };
      pull(call);
    }
    const usage = sumUsage(calls.map((call) => call.usage));
    if (shared && usage) yield { ...shared, choices: [], usage };
  } finally {
    ended.abort(signal.reason);
    for (const { chunks } of running) void chunks.return?.().catch(() => {});
  }
}

/** Returns the request for one part; a single choice needs no `n`, which some providers don't know. */
function requestOf({ n: _, ...request }: ChatRequest, { length }: ChoiceNumbers): ChatRequest {
  return (length === 1 ? request : { ...request, n: length }) as ChatRequest;
}

/** Splits numbers into parts of at most `most`. */
function inParts(numbers: readonly number[], most: number): ChoiceNumbers[] {
  const parts: ChoiceNumbers[] = [];
  for (let at = 0; at < numbers.length; at += most) parts.push(numbers.slice(at, at + most));
  return parts;
}

/** Returns the missing choices of a part, in parts as large as what came. Throws if nothing came, because that would never end. */
function missingFrom(
  part: ChoiceNumbers,
  came: ReadonlySet<number>,
  { provider }: Upstream,
): ChoiceNumbers[] {
  if (came.size > 0) {
    return inParts(
      part.filter((number) => !came.has(number)),
      came.size,
    );
  }
  const message = `The provider ${provider} sent an answer without choices.`;
  throw new UpstreamError(new HttpError(502, ErrorCode.upstreamError, message), {
    tryNext: true,
    kind: 'unusable',
  });
}

/** Numbers the choices of a whole answer by their order, because some servers number each 0. */
function inOrder<Choice extends { index: number }>(choices: readonly Choice[]): Choice[] {
  return [...choices]
    .sort((one, other) => one.index - other.index)
    .map((choice, index) => ({ ...choice, index }));
}

/** Gives choices of a part their numbers in the whole. Drops unrequested ones, which would replace others. */
function numbered<Choice extends { index: number }>(
  choices: readonly Choice[],
  part: ChoiceNumbers,
): Choice[] {
  return choices.flatMap((choice) => {
    const index = part[choice.index];
    return index === undefined ? [] : [{ ...choice, index }];
  });
}

/** Adds up the usage of several calls; `undefined` if one is missing, because the sum would be too small. */
function sumUsage(usages: ReadonlyArray<Usage | null | undefined>): Usage | undefined {
  const counts = usages.filter((usage) => usage != null);
  if (counts.length === 0 || counts.length < usages.length) return undefined;
  return counts.reduce((sum, usage) => add(sum, usage) as Usage);
}

/** Adds the numbers that both have, also one level down, such as the details of the prompt's tokens. */
function add(a: Record<string, unknown>, b: Record<string, unknown>, depth = 0) {
  const sum: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(a)) {
    const other = b[name];
    if (typeof one === 'number' && typeof other === 'number') sum[name] = one + other;
    else if (depth === 0 && isFields(one) && isFields(other)) sum[name] = add(one, other, 1);
  }
  return sum;
}
