import type { Logger } from 'pino';
import type { Usage } from '../../contracts/gateway.ts';
import { roughTokens } from '../../contracts/tokens.ts';
import type { KeyInfo } from '../../http/keys.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { Awaitable } from '../../store/awaitable.ts';
import { createMemoryWindows } from '../../store/memory-windows.ts';
import type { Store } from '../../store/store.ts';
import type { Hold, RequestEnd, UsageRecord } from '../../store/usage.ts';
import { openJournalBooks, STEP_MS } from './journal-books.ts';
import { type Allowance, createKeyLimiter, WINDOW_MS } from './key-limits.ts';
import { createUsageMetrics } from './metrics.ts';

/** Writes exactly one record for each request, and holds keys to their limits. */
export type UsageLedger = Awaited<ReturnType<typeof createUsageLedger>>;

/** Interval at which past days are stored. */
const TIDY_MS = 3_600_000;

/** More tokens than any request has; a provider's larger count is ignored. */
const MAX_TOKENS = 1_000_000_000;

const noEstimate = () => 0;

/** Opens the ledger over the books of the store; without a store it counts in memory only. */
export async function createUsageLedger(options: {
  store?: Store;
  metrics: Metrics;
  log: Logger;
  /** Unix time, and a clock that never goes back; both milliseconds. */
  clocks?: { unixMs: () => number; steadyMs: () => number };
}) {
  const { store, metrics, log } = options;
  const { clocks = { unixMs: Date.now, steadyMs: () => performance.now() } } = options;
  const { steadyMs } = clocks;
  const books = store?.usage?.(clocks) ?? (await openJournalBooks({ store, clocks, log }));
  const requests = { name: 'gateway-requests', windowMs: WINDOW_MS, stepMs: STEP_MS, steadyMs };
  const windows = store?.windows(requests) ?? createMemoryWindows(requests);
  const limiter = createKeyLimiter({ windows, books, steadyMs });
  const counts = createUsageMetrics(metrics, books.waiting);

  let tidying: Promise<void> | undefined;
  function tidy() {
    tidying ??= books
      .tidy()
      .catch((error: unknown) => log.error({ err: error }, 'could not clean up old usage'))
      .finally(() => {
        tidying = undefined;
      });
  }
  tidy();
  const timer = setInterval(tidy, TIDY_MS);

  const tools: MeterTools = {
    steadyMs,
    nowMs: books.nowMs,
    counts,
    enter(record, streamed, hold) {
      books.addRequest(record, hold);
      counts.ended(record, streamed);
    },
    log,
  };
  return {
    open(key: KeyInfo): UsageMeter {
      counts.began();
      return new UsageMeter(key, limiter.open(key), tools);
    },
    summary: books.summary,
    left: limiter.left,
    /** Writes the records that are waiting. */
    async close(): Promise<void> {
      clearInterval(timer);
      await tidying;
      await books.close();
    },
  };
}

interface MeterTools {
  steadyMs: () => number;
  nowMs: () => number;
  counts: ReturnType<typeof createUsageMetrics>;
  enter(record: UsageRecord, streamed: boolean, hold: Hold | undefined): void;
  log: Logger;
}

/** Facts about a request while it is answered. A class, because every request creates one. */
export class UsageMeter {
  model: string | undefined;
  provider: string | undefined;
  /** The provider's name for the model, for the log alone. */
  providerModel: string | undefined;
  /** The record of the request, after its end. */
  record: UsageRecord | undefined;
  /** The provider's count; wins over the estimates. */
  usage: Usage | undefined;
  /** Estimates the prompt's tokens. Set by the route, and called only if needed, because it may be costly. */
  estimatePrompt: () => number = noEstimate;
  private readonly key: KeyInfo;
  private readonly allowance: Allowance | undefined;
  private readonly tools: MeterTools;
  private readonly startMs: number;
  private firstTokenMs: number | undefined;
  private answerTokens = 0;
  private streamed = false;

  constructor(key: KeyInfo, allowance: Allowance | undefined, tools: MeterTools) {
    this.key = key;
    this.allowance = allowance;
    this.tools = tools;
    this.startMs = tools.steadyMs();
  }

  /** True if the key has limits in tokens, which need an estimate of the prompt. */
  get countsTokens(): boolean {
    return this.allowance?.countsTokens ?? false;
  }

  /** Returns the headers of the key's limits. */
  limitHeaders(): Record<string, string> {
    return this.allowance?.headers() ?? {};
  }

  /** Adds these headers to a list, names and values in turn. */
  addLimitHeaders(headers: string[]): void {
    this.allowance?.addHeaders(headers);
  }

  /** Counts the request towards the key's requests per minute. Throws the 429, or the error of an unavailable store. */
  takeRequest(): Awaitable<void> {
    return this.allowance?.takeRequest();
  }

  /**
   * Reserves tokens of the key's limits until the request has ended. Throws the 429 that says what is used up and when to come
   * back, or the error of an unavailable store.
   */
  reserve(promptTokens: number, replyTokens: number): Awaitable<void> {
    return this.allowance?.reserve(promptTokens, replyTokens);
  }

  startStream(): void {
    if (this.streamed || this.record) return;
    this.streamed = true;
    this.tools.counts.streams();
  }

  /** Notes when the first text arrived. */
  firstToken(): void {
    this.firstTokenMs ??= this.sinceStartMs();
  }

  /** Counts answer tokens by estimate, fractions included, and notes when the first ones arrived. */
  addAnswer(count: number): void {
    this.firstToken();
    this.answerTokens += count;
  }

  /** Counts a piece of the answer, and notes when the first one arrived. */
  addText(text: string): void {
    if (text !== '') this.addAnswer(roughTokens(text));
  }

  /** Returns the provider's count, or our estimate of the prompt and the answer so far. */
  tokens(): Usage {
    if (this.usage && isCredible(this.usage)) return this.usage;
    const prompt_tokens = whole(this.estimatePrompt());
    const completion_tokens = whole(this.answerTokens);
    const total_tokens = prompt_tokens + completion_tokens;
    return { prompt_tokens, completion_tokens, total_tokens };
  }

  /** Writes the record and ends the reservation; only the first call counts. */
  end(end: RequestEnd): void {
    if (this.record) return;
    const used = this.usedTokens(end);
    const promptTokens = used?.prompt_tokens ?? 0;
    const completionTokens = used?.completion_tokens ?? 0;
    this.record = {
      atMs: this.tools.nowMs(),
      keyId: this.key.id,
      model: this.model,
      provider: this.provider,
      promptTokens,
      completionTokens,
      estimated: used !== undefined && used !== this.usage,
      latencyMs: this.sinceStartMs(),
      firstTokenMs: this.firstTokenMs,
      end,
    };
    this.tools.enter(this.record, this.streamed, this.allowance?.settle());
  }

  private sinceStartMs(): number {
    return Math.round(this.tools.steadyMs() - this.startMs);
  }

  /** Tokens that the request has cost; none if it was refused, or failed before its first word. */
  private usedTokens(end: RequestEnd): Usage | undefined {
    if (end === 'refused') return undefined;
    const failed = end === 'upstream_error' && !this.usage && this.firstTokenMs === undefined;
    if (failed) return undefined;
    try {
      return this.tokens();
    } catch (error) {
      this.tools.log.error({ err: error }, 'could not estimate the tokens of a request');
      return undefined;
    }
  }
}

/** Rounds an estimate for a record. */
function whole(tokens: number): number {
  return tokens > 0 ? Math.ceil(Math.min(tokens, MAX_TOKENS)) : 0;
}

function isCredible({ prompt_tokens, completion_tokens }: Usage): boolean {
  return isCredibleCount(prompt_tokens) && isCredibleCount(completion_tokens);
}

const isCredibleCount = (count: number) =>
  Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS;
