import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import { GatewayPath, USAGE_DAYS, UsageReport } from '../../contracts/gateway.ts';
import type { KeyLimits } from '../../contracts/key-limits.ts';
import type { Authenticate } from '../../http/authentication.ts';
import { HttpError } from '../../http/errors.ts';
import type { KeyInfo } from '../../http/keys.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import type { HttpRequest, HttpServer } from '../../http/server-types.ts';
import { keyOnlyAnswers } from '../../http/shared-answers.ts';
import type { UsageRow } from '../../store/usage.ts';
import type { UsageLedger } from './ledger.ts';

const DAY_MS = 86_400_000;

/** A report of a year may read hundreds of files; each process is protected by itself. */
const REPORTS_PER_MINUTE = 20;

const Query = z.object({
  days: z.coerce
    .number()
    .int()
    .min(1)
    .max(USAGE_DAYS.max)
    .default(USAGE_DAYS.default)
    .describe('Days to look back, including today.'),
});

/** Adds GET /v1/usage: what the key that asks has used, and what it may still use. */
export function addUsageRoute(options: {
  server: HttpServer;
  authenticate: Authenticate;
  ledger: UsageLedger;
}): void {
  const { server, authenticate, ledger } = options;
  const asking = new WeakMap<HttpRequest, KeyInfo>();
  const reports = createRateLimit({ limit: REPORTS_PER_MINUTE, windowMs: 60_000 });

  server.get(
    GatewayPath.usage,
    {
      schema: {
        operationId: 'showUsage',
        summary: 'Show the usage of your own key',
        tags: ['gateway'],
        security: [{ bearer: [] }],
        querystring: Query,
        response: { 200: UsageReport },
        components: { UsageReport },
        answers: {
          ...keyOnlyAnswers,
          200: "The key's usage by day and model, and what remains of its limits.",
          400: 'The number of days is out of range.',
          429: {
            ...keyOnlyAnswers[429],
            description: `More than ${REPORTS_PER_MINUTE} requests for usage in a minute, or too many requests without a valid key from this address.`,
          },
        },
      },
      onRequest: async (request) => {
        const key = authenticate(request);
        await authenticate.confirm(key);
        const { allowed, resetMs } = reports.take(key.id);
        if (!allowed) throw tooMany(resetMs);
        asking.set(request, key);
      },
    },
    async (request) => {
      const key = asking.get(request);
      if (!key) throw new Error('The request has no key.');
      const nowMs = Date.now();
      const from = dayOf(nowMs - (request.query.days - 1) * DAY_MS);
      const to = dayOf(nowMs);
      const rows = await ledger.summary({ keyId: key.id, fromDay: from, toDay: to });
      return {
        object: 'usage' as const,
        key: { id: key.id, name: key.name },
        from,
        to,
        limits: onWire(key.limits ?? {}),
        remaining: onWire(await ledger.left(key)),
        data: rows.map(entryOf),
      };
    },
  );
}

function entryOf(row: UsageRow): UsageReport['data'][number] {
  const { day, model, requests, complete, client_gone, upstream_error, refused } = row;
  return {
    date: day,
    model,
    requests,
    ends: { complete, client_gone, upstream_error, refused },
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    total_tokens: row.promptTokens + row.completionTokens,
    estimated_requests: row.estimated,
  };
}

function onWire(limits: KeyLimits): UsageReport['limits'] {
  return {
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    tokens_per_day: limits.tokensPerDay,
    tokens_per_month: limits.tokensPerMonth,
  };
}

function tooMany(resetMs: number): HttpError {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  return new HttpError(
    429,
    ErrorCode.rateLimited,
    `More than ${REPORTS_PER_MINUTE} requests for usage in a minute. Wait ${seconds} s (Retry-After) and try again.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
