import type { Monitor } from '../../../contracts/monitoring.ts';
import type {
  CheckRecord,
  ComingWindow,
  Incident,
  Uptime,
} from '../../../contracts/monitoring-additions.ts';
import { latencyFacts, MAX_RESPONSE_TIMES } from '../../incidents/latency.ts';
import { type CardPart, type Fact, tablePart } from '../../shared/card.ts';
import { comingWords } from '../../shared/maintenance-words.ts';
import { observedSpans } from '../../shared/observed-spans.ts';
import { inWords, percentText, shortened } from '../../shared/text-format.ts';
import { incidentTimes } from '../../tools/read-model.ts';
import type { Call } from '../command.ts';
import { chartFromMs, chartSpanOf, responseChart } from './response-chart.ts';

/** Time limit for each request. Parts without an answer are left out. */
const REQUEST_MS = 3_000;

const HOUR_MS = 3_600_000;
const SPANS = [
  { words: '24 hours', ms: 24 * HOUR_MS },
  { words: '7 days', ms: 7 * 24 * HOUR_MS },
  { words: '30 days', ms: 30 * 24 * HOUR_MS },
];
const OUTAGES = 5;
const WINDOWS = 3;
/** Shorter outages are shown with seconds, because they begin and end in the same minute. */
const SHORT_MS = 2 * 60_000;
/** The service's limit, because the chart shows all outages of a day. */
const MAX_INCIDENTS = 100;

export interface ShownHistory {
  /** All of it. */
  runbook?: string;
  facts: Fact[];
  parts: CardPart[];
}

/** Reads a monitor's history. A service of the bare contract, which doesn't count changes, has none. */
export async function historyOf(
  monitor: Monitor,
  { monitoring, log }: Pick<Call, 'monitoring' | 'log'>,
): Promise<ShownHistory> {
  if (monitor.status_changes === undefined) return { facts: [], parts: [] };
  const { id } = monitor;
  const nowMs = Date.now();
  const within = { timeoutMs: REQUEST_MS };
  async function ifAnswered<T>(request: Promise<T>): Promise<T | undefined> {
    try {
      return await request;
    } catch (error) {
      log.debug({ err: error, monitor: id }, 'could not fetch part of the history of a monitor');
      return undefined;
    }
  }
  const span = chartSpanOf(monitor, nowMs);
  const from = new Date(chartFromMs(span, nowMs)).toISOString();
  const [details, results, outages, rollups, ...uptimes] = await Promise.all([
    ifAnswered(monitoring.show(id, within)),
    ifAnswered(monitoring.results(id, { limit: MAX_RESPONSE_TIMES, ...within })),
    ifAnswered(monitoring.incidents(id, { limit: MAX_INCIDENTS, ...within })),
    // The response time of a heartbeat is meaningless.
    monitor.check_type === 'HEARTBEAT'
      ? undefined
      : ifAnswered(monitoring.rollups(id, { by: span.by, from, ...within })),
    ...SPANS.map(({ ms }) =>
      ifAnswered(monitoring.uptime(id, { from: new Date(nowMs - ms).toISOString(), ...within })),
    ),
  ]);
  return {
    runbook: details?.runbook,
    facts: [
      ...uptimeFacts(uptimes),
      ...responseFacts(results),
      ...maintenanceFacts(details?.planned_maintenance, nowMs),
    ],
    parts: [
      ...responseChart({ span, rollups: rollups?.rollups, incidents: outages, nowMs }),
      ...outageParts(outages, nowMs),
    ],
  };
}

/** `99.98 % over 24 hours, 48.63 % (watched for 2 days)`. Pure. */
export function uptimeFacts(uptimes: ReadonlyArray<Uptime | undefined>): Fact[] {
  const answered = SPANS.flatMap(({ words, ms }, at) => {
    const { uptime = null, up_ms = 0, down_ms = 0 } = uptimes[at] ?? {};
    return uptime === null ? [] : [{ words, spanMs: ms, seenMs: up_ms + down_ms, uptime }];
  });
  const value = observedSpans(answered).map(({ words, seenMs, uptime, most }) => {
    return `${percentText(uptime)} ${most ? `over ${words}` : `(watched for ${inWords(seenMs)})`}`;
  });
  return value.length === 0 ? [] : [{ label: 'Uptime', value: value.join(', ') }];
}

function maintenanceFacts(windows: readonly ComingWindow[] = [], nowMs: number): Fact[] {
  return windows.slice(0, WINDOWS).map((window) => {
    const why = window.reason === undefined ? '' : `: ${shortened(window.reason, 100)}`;
    return { label: 'Maintenance', value: comingWords(window, nowMs) + why };
  });
}

function responseFacts(results: readonly CheckRecord[] = []): Fact[] {
  const passed = results.filter(({ ok }) => ok).map(({ response_time_ms: ms }) => Math.round(ms));
  return latencyFacts({ responseTimesMs: passed.reverse() });
}

function outageParts(outages: readonly Incident[] = [], nowMs: number): CardPart[] {
  if (outages.length === 0) return [];
  return [
    tablePart(
      ['Down from', 'For', 'Cause'],
      outages.slice(0, OUTAGES).map(({ started_at, ended_at, cause }) => {
        const { lastedMs } = incidentTimes({ started_at, ended_at }, nowMs);
        return [
          `${started_at.slice(0, lastedMs < SHORT_MS ? 19 : 16).replace('T', ' ')} UTC`,
          `${inWords(lastedMs)}${ended_at === null ? ' so far' : ''}`,
          shortened(cause, 100),
        ];
      }),
    ),
  ];
}
