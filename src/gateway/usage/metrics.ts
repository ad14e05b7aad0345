import type { Metrics } from '../../http/metrics.ts';
import type { End, UsageRecord } from './journal.ts';

/** Counts requests for the metrics: as numbers of our own, which are made into metrics when somebody asks for them. */
interface UsageMetrics {
  began(): void;
  /** The answer to one of those under way is a stream. */
  streams(): void;
  ended(record: UsageRecord, streamed: boolean): void;
}

/** Requests for one model that ended in one way. */
interface Tally {
  labels: { model: string; end: End };
  requests: number;
  promptTokens: number;
  answerTokens: number;
}

const SECONDS_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
const FIRST_TOKEN_BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];

/** Declares the metrics of chat requests. Their labels are bounded by the catalog. */
export function createUsageMetrics(metrics: Metrics, waiting: () => number): UsageMetrics {
  const tallies = new Map<string, Tally>();
  let underWay = 0;
  let streaming = 0;

  metrics.counters(
    'askwatch_gateway_requests_total',
    'Chat requests with a valid key, by model of the catalog and how they ended.',
    ['model', 'end'],
    () => [...tallies.values()].map(({ labels, requests: value }) => ({ labels, value })),
  );
  metrics.counters(
    'askwatch_gateway_tokens_total',
    'Tokens of chat requests, by model of the catalog and whether of the prompt or the answer.',
    ['model', 'of'],
    () =>
      [...tallies.values()].flatMap(({ labels: { model }, promptTokens, answerTokens }) => [
        { labels: { model, of: 'prompt' }, value: promptTokens },
        { labels: { model, of: 'answer' }, value: answerTokens },
      ]),
  );
  const seconds = metrics.histogram(
    'askwatch_gateway_request_seconds',
    'Time from a chat request to its end, by model of the catalog and how it ended.',
    ['model', 'end'],
    SECONDS_BOUNDS,
  );
  const firstToken = metrics.histogram(
    'askwatch_gateway_first_token_seconds',
    'Time from a chat request to the first text of its answer; of one that is not streamed, to all of it.',
    ['model', 'end'],
    FIRST_TOKEN_BOUNDS,
  );
  metrics.gauge(
    'askwatch_gateway_requests_under_way',
    'Chat requests that have not ended, streams among them.',
    () => underWay,
  );
  metrics.gauge(
    'askwatch_gateway_streams_under_way',
    'Chat requests whose streamed answer has not ended.',
    () => streaming,
  );
  metrics.gauge(
    'askwatch_gateway_usage_waiting',
    'Usage records that are not stored yet; thousands mean that the disk refuses them.',
    waiting,
  );

  function tallyOf(model: string, end: End): Tally {
    const key = `${end} ${model}`;
    let tally = tallies.get(key);
    if (!tally) {
      tally = { labels: { model, end }, requests: 0, promptTokens: 0, answerTokens: 0 };
      tallies.set(key, tally);
    }
    return tally;
  }

  return {
    began() {
      underWay += 1;
    },
    streams() {
      streaming += 1;
    },
    ended({ model, end, promptTokens, completionTokens, latencyMs, firstTokenMs }, streamed) {
      underWay -= 1;
      if (streamed) streaming -= 1;
      const tally = tallyOf(model ?? 'unknown', end);
      tally.requests += 1;
      tally.promptTokens += promptTokens;
      tally.answerTokens += completionTokens;
      seconds.observe(tally.labels, latencyMs / 1000);
      if (firstTokenMs !== undefined) firstToken.observe(tally.labels, firstTokenMs / 1000);
    },
  };
}
