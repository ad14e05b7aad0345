import type { Metrics } from '../../http/metrics.ts';
import type { UsageRecord } from '../../store/usage.ts';

const SECONDS_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
const FIRST_TOKEN_BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];

/** Declares the metrics of chat requests. Their labels are bounded by the catalog. */
export function createUsageMetrics(metrics: Metrics, waiting: () => number) {
  let underWay = 0;
  let streaming = 0;

  const requests = metrics.counter(
    'askwatch_gateway_requests_total',
    'Chat requests with a valid key, by catalog model and how they ended.',
    ['model', 'end'],
  );
  const tokens = metrics.counter(
    'askwatch_gateway_tokens_total',
    'Tokens of chat requests, by catalog model and by prompt or answer.',
    ['model', 'of'],
  );
  const seconds = metrics.histogram(
    'askwatch_gateway_request_seconds',
    'Time from a chat request to its end, by catalog model and how it ended.',
    ['model', 'end'],
    SECONDS_BOUNDS,
  );
  const firstToken = metrics.histogram(
    'askwatch_gateway_first_token_seconds',
    'Time from a chat request to the first text of its answer, or to the whole answer if it is not streamed.',
    ['model', 'end'],
    FIRST_TOKEN_BOUNDS,
  );
  metrics.gauge(
    'askwatch_gateway_requests_under_way',
    'Chat requests in progress, including streams.',
    () => underWay,
  );
  metrics.gauge(
    'askwatch_gateway_streams_under_way',
    'Streamed answers in progress.',
    () => streaming,
  );
  metrics.gauge(
    'askwatch_gateway_usage_waiting',
    'Usage records waiting to be stored; thousands mean that the disk rejects them.',
    waiting,
  );

  return {
    began() {
      underWay += 1;
    },
    /** A request in progress turned out to be streamed. */
    streams() {
      streaming += 1;
    },
    ended(record: UsageRecord, streamed: boolean) {
      const { model = 'unknown', end, promptTokens, completionTokens } = record;
      const { latencyMs, firstTokenMs } = record;
      underWay -= 1;
      if (streamed) streaming -= 1;
      requests(model, end).inc();
      tokens(model, 'prompt').inc(promptTokens);
      tokens(model, 'answer').inc(completionTokens);
      seconds(model, end).observe(latencyMs / 1000);
      if (firstTokenMs !== undefined) firstToken(model, end).observe(firstTokenMs / 1000);
    },
  };
}
