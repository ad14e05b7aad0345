import type { Logger } from 'pino';
import { z } from 'zod';
import type { Usage } from '../contracts/gateway.ts';
import { estimateTokensOfBytes } from '../contracts/tokens.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Store } from '../store/store.ts';

/** How a request ended. */
const End = z.enum(['complete', 'client_gone', 'upstream_error', 'refused']);
export type End = z.infer<typeof End>;

/** One request of a key holder; nothing of what was asked or answered. */
const UsageRecord = z.object({
  /** When the request came. */
  atMs: z.int(),
  keyId: z.string(),
  /** Id of the catalog, as asked for; absent when the request named none that exists. */
  model: z.string().optional(),
  /** Who answered, or was asked last. */
  provider: z.string().optional(),
  promptTokens: z.int().nonnegative(),
  completionTokens: z.int().nonnegative(),
  /** The tokens are our estimate, because the provider told none. */
  estimated: z.boolean(),
  latencyMs: z.number().nonnegative(),
  firstTokenMs: z.number().nonnegative().optional(),
  end: End,
});
export type UsageRecord = z.infer<typeof UsageRecord>;

/** What becomes known of a request while it is answered. */
export interface UsageMeter {
  model?: string;
  provider?: string;
  /** The provider's count; wins over the estimates. */
  usage?: Usage;
  promptEstimate: number;
  /** Counts a piece of the answer, and notes when the first one came. */
  addText(text: string): void;
  /** The provider's count, else our estimate of what was asked and came so far. */
  tokens(): Usage;
  /** Writes the record; only the first call does. */
  end(end: End): void;
}

/** Writes exactly one record for each request. */
export interface UsageLedger {
  open(keyId: string): UsageMeter;
  /** Waits for records that are still being written. */
  close(): Promise<void>;
}

/** Days that records are kept: a year to compare with, and some. */
const KEPT_DAYS = 400;
const DAY_MS = 86_400_000;

/** Opens the ledger over the store's journal `gateway-usage`; without a store it only counts. */
export function createUsageLedger(options: {
  store?: Store;
  metrics: Metrics;
  log: Logger;
}): UsageLedger {
  const { store, metrics, log } = options;
  const journal = store?.journal({ name: 'gateway-usage', schema: UsageRecord });
  const writing = new Set<Promise<void>>();
  const requests = metrics.counter(
    'askwatch_gateway_requests_total',
    'Chat requests with a valid key, by model of the catalog and how they ended.',
    ['model', 'end'],
  );

  async function prune(): Promise<void> {
    try {
      await journal?.prune(Date.now() - KEPT_DAYS * DAY_MS);
    } catch (error) {
      log.error({ err: error }, 'old usage records could not be removed');
    }
  }
  void prune();
  const pruning = setInterval(() => void prune(), DAY_MS);

  async function write(record: UsageRecord): Promise<void> {
    try {
      await journal?.append(record);
    } catch (error) {
      log.error({ err: error, record }, 'a usage record could not be stored');
    }
  }

  return {
    open(keyId) {
      const atMs = Date.now();
      const startMs = performance.now();
      const sinceStartMs = () => Math.round(performance.now() - startMs);
      let firstTokenMs: number | undefined;
      let answerBytes = 0;
      let ended = false;
      const meter: UsageMeter = {
        promptEstimate: 0,
        addText(text) {
          if (text === '') return;
          firstTokenMs ??= sinceStartMs();
          answerBytes += Buffer.byteLength(text);
        },
        tokens() {
          const prompt_tokens = meter.promptEstimate;
          const completion_tokens = estimateTokensOfBytes(answerBytes);
          const total_tokens = prompt_tokens + completion_tokens;
          return meter.usage ?? { prompt_tokens, completion_tokens, total_tokens };
        },
        end(end) {
          if (ended) return;
          ended = true;
          const { model, provider } = meter;
          const refused = end === 'refused';
          const { prompt_tokens, completion_tokens } = meter.tokens();
          requests.inc({ model: model ?? 'unknown', end });
          const written = write({
            atMs,
            keyId,
            ...(model !== undefined && { model }),
            ...(provider !== undefined && { provider }),
            promptTokens: refused ? 0 : prompt_tokens,
            completionTokens: completion_tokens,
            estimated: !refused && meter.usage === undefined,
            latencyMs: sinceStartMs(),
            ...(firstTokenMs !== undefined && { firstTokenMs }),
            end,
          });
          writing.add(written);
          void written.finally(() => writing.delete(written));
        },
      };
      return meter;
    },
    async close() {
      clearInterval(pruning);
      await Promise.all(writing);
    },
  };
}
