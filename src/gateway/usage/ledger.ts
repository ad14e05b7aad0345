import type { Logger } from 'pino';
import type { Usage } from '../../contracts/gateway.ts';
import { roughTokens } from '../../contracts/tokens.ts';
import type { KeyInfo } from '../../http/keys.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { Store } from '../../store/store.ts';
import { openUsageDays } from './days.ts';
import { createUsageWriter, type End, type UsageRecord, usageJournal } from './journal.ts';
import { createKeyLimiter } from './key-limits.ts';
import { createUsageMetrics } from './metrics.ts';

/** What becomes known of a request while it is answered. */
export type UsageMeter = ReturnType<UsageLedger['open']>;

/** Writes exactly one record for each request, and holds keys to their limits. */
export type UsageLedger = Awaited<ReturnType<typeof createUsageLedger>>;

/** What days are over is looked at so often. */
const TIDY_MS = 3_600_000;

/** More tokens than any request has; a provider that tells more is not believed. */
const MAX_TOKENS = 1_000_000_000;

const noEstimate = () => 0;

/** Opens the ledger over the store's journal `gateway-usage`; without a store it counts in memory only. */
export async function createUsageLedger(options: {
  store?: Store | undefined;
  metrics: Metrics;
  log: Logger;
  /** Unix time, and a clock that never goes back; both milliseconds. */
  clocks?: { unixMs: () => number; steadyMs: () => number };
}) {
  const { store, metrics, log } = options;
  const { unixMs, steadyMs } = options.clocks ?? {
    unixMs: Date.now,
    steadyMs: () => performance.now(),
  };
  const journal = store?.journal(usageJournal);
  const writer = journal && createUsageWriter(journal, log);
  const days = await openUsageDays({ store, journal, clockMs: unixMs, log });
  const limiter = createKeyLimiter({ spentBy: days.spentBy, nowMs: days.nowMs, steadyMs });
  const counts = createUsageMetrics(metrics, () => writer?.waiting() ?? 0);

  let tidying: Promise<void> | undefined;
  function tidy() {
    tidying ??= days
      .tidy()
      .catch((error: unknown) => log.error({ err: error }, 'usage could not be tidied up'))
      .finally(() => {
        tidying = undefined;
      });
  }
  tidy();
  const timer = setInterval(tidy, TIDY_MS);

  return {
    /** Starts to meter a request. */
    open(key: KeyInfo) {
      const allowance = limiter.open(key);
      const startMs = steadyMs();
      const sinceStartMs = () => Math.round(steadyMs() - startMs);
      let firstTokenMs: number | undefined;
      let answerTokens = 0;
      let streamed = false;
      let ended = false;
      counts.began();

      /** What the request has cost; nothing when it was refused, or failed before its first word. */
      function usedTokens(end: End): Usage | undefined {
        if (end === 'refused') return undefined;
        if (end === 'upstream_error' && !meter.usage && firstTokenMs === undefined)
          return undefined;
        try {
          return meter.tokens();
        } catch (error) {
          log.error({ err: error }, 'the tokens of a request could not be estimated');
          return undefined;
        }
      }

      const meter = {
        model: undefined as string | undefined,
        provider: undefined as string | undefined,
        /** The provider's name for the model, for the log alone. */
        providerModel: undefined as string | undefined,
        /** What was recorded of the request, once it has ended. */
        record: undefined as UsageRecord | undefined,
        /** The provider's count; wins over the estimates. */
        usage: undefined as Usage | undefined,
        /** Tokens of the prompt; asked for only when the provider told no usage, as it may be costly. Set by the route. */
        estimatePrompt: noEstimate,
        /** Whether the key has limits counted in tokens, so that an estimate of the prompt is needed beforehand. */
        countsTokens: allowance?.countsTokens ?? false,
        /** Headers that tell the key's limits; empty when it has none. */
        limitHeaders: () => allowance?.headers() ?? {},
        /** Counts the request towards the key's requests per minute. Throws the 429. */
        takeRequest: () => allowance?.takeRequest(),
        /**
         * Sets tokens aside from the key's limits until the request has ended. Throws the 429 that says what is used up and
         * when to come back.
         */
        reserve: (promptTokens: number, replyTokens: number) =>
          allowance?.reserve(promptTokens, replyTokens),
        /** Notes that the answer is streamed. */
        streams(): void {
          if (streamed || ended) return;
          streamed = true;
          counts.streams();
        },
        /** Notes when the first text came, and nothing else. */
        firstToken(): void {
          firstTokenMs ??= sinceStartMs();
        },
        /** Counts answer tokens by estimate, fractions too, and notes when the first came. */
        addAnswer(count: number): void {
          meter.firstToken();
          answerTokens += count;
        },
        /** Counts a piece of the answer, and notes when the first one came. */
        addText(text: string): void {
          if (text !== '') meter.addAnswer(roughTokens(text));
        },
        /** The provider's count, else our estimate of what was asked and came so far. */
        tokens(): Usage {
          if (meter.usage && isCredible(meter.usage)) return meter.usage;
          const prompt_tokens = whole(meter.estimatePrompt());
          const completion_tokens = whole(answerTokens);
          const total_tokens = prompt_tokens + completion_tokens;
          return { prompt_tokens, completion_tokens, total_tokens };
        },
        /** Writes the record and gives back what was set aside; only the first call does. */
        end(end: End): void {
          if (ended) return;
          ended = true;
          const { model, provider } = meter;
          const used = usedTokens(end);
          const promptTokens = used?.prompt_tokens ?? 0;
          const completionTokens = used?.completion_tokens ?? 0;
          const record: UsageRecord = {
            atMs: days.nowMs(),
            keyId: key.id,
            model,
            provider,
            promptTokens,
            completionTokens,
            estimated: used !== undefined && used !== meter.usage,
            latencyMs: sinceStartMs(),
            firstTokenMs,
            end,
          };
          writer?.add(record);
          days.add(record);
          allowance?.settle(promptTokens + completionTokens);
          counts.ended(record, streamed);
          meter.record = record;
        },
      };
      return meter;
    },
    summary: days.summary,
    left: limiter.left,
    /** Writes the records that are waiting. */
    async close(): Promise<void> {
      clearInterval(timer);
      await tidying;
      await writer?.close();
    },
  };
}

/** An estimate as a record takes it. */
function whole(tokens: number): number {
  return tokens > 0 ? Math.ceil(Math.min(tokens, MAX_TOKENS)) : 0;
}

function isCredible({ prompt_tokens, completion_tokens }: Usage): boolean {
  return [prompt_tokens, completion_tokens].every(
    (count) => Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS,
  );
}
