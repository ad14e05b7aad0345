import { groupBy } from '../../bot/incidents/watch-state.ts';
import type { OutcomeCounts, UsageAnswer, UsageBy, UsageGroup } from './api-types.ts';
import { MAX_GROUPS } from './spans.ts';

/** Usage of one key and one model on one day of the UTC calendar. */
export interface UsageDayRow {
  day: string;
  keyId: string;
  model: string;
  requests: number;
  /** Outcomes, which add up to `requests`. */
  complete: number;
  client_gone: number;
  upstream_error: number;
  refused: number;
  promptTokens: number;
  completionTokens: number;
  estimated: number;
}

/** Reads usage from one day to another, both included, in order of days. */
export type UsageSource = (query: { fromDay: string; toDay: string }) => Promise<UsageDayRow[]>;

const MAX_ROWS = 200;

const MAX_KEYS = 500;

const DAY_MS = 86_400_000;

/** Returns the first and the last of so many days up to today, UTC. */
export function lastDays(days: number, nowMs = Date.now()) {
  return { fromDay: dayOf(nowMs - (days - 1) * DAY_MS), toDay: dayOf(nowMs) };
}

/** Sums usage per day and key or model, and per key and model. `keyId` leaves out all other keys. Pure. */
export function usageReport(
  all: readonly UsageDayRow[],
  options: {
    range: ReturnType<typeof lastDays>;
    by: UsageBy;
    keyId?: string;
    nameOf: (keyId: string) => string;
  },
): UsageAnswer {
  const { range, by, keyId, nameOf } = options;
  const rows = keyId === undefined ? all : all.filter((row) => row.keyId === keyId);
  const days = daysIn(range);
  const used = [...new Set(all.map((row) => row.keyId))];
  const pairs = [...groupBy(rows, (row) => JSON.stringify([row.keyId, row.model])).values()]
    .map((own) => {
      const { keyId: id, model } = own[0];
      return { keyId: id, keyName: nameOf(id), model, counts: countsOf(own) };
    })
    .sort((a, b) => compareCounts(a.counts, b.counts));
  return {
    days,
    total: countsOf(rows),
    groups: groupsOf(rows, days, by, nameOf),
    rows: pairs.slice(0, MAX_ROWS),
    moreRows: Math.max(0, pairs.length - MAX_ROWS),
    keys: used.slice(0, MAX_KEYS).map((id) => ({ id, name: nameOf(id) })),
  };
}

function groupsOf(
  rows: readonly UsageDayRow[],
  days: readonly string[],
  by: UsageBy,
  nameOf: (keyId: string) => string,
): UsageGroup[] {
  const groups = [...groupBy(rows, (row) => (by === 'key' ? row.keyId : row.model))]
    .map(([id, own]) => ({ id, own, counts: countsOf(own) }))
    .sort((a, b) => compareCounts(a.counts, b.counts));
  const shown = groups.slice(0, MAX_GROUPS).map(({ id, own }) => ({
    id,
    name: by === 'key' ? nameOf(id) : id,
    ...perDay(own, days),
  }));
  const others = groups.slice(MAX_GROUPS);
  if (others.length === 0) return shown;
  const rest = others.flatMap(({ own }) => own);
  return [...shown, { name: `${others.length} others`, ...perDay(rest, days) }];
}

function perDay(rows: readonly UsageDayRow[], days: readonly string[]) {
  const at = new Map(days.map((day, index) => [day, index]));
  const requests = days.map(() => 0);
  const tokens = days.map(() => 0);
  for (const row of rows) {
    const index = at.get(row.day);
    if (index === undefined) continue;
    requests[index] = (requests[index] ?? 0) + row.requests;
    tokens[index] = (tokens[index] ?? 0) + row.promptTokens + row.completionTokens;
  }
  return { requests, tokens };
}

function countsOf(rows: readonly UsageDayRow[]): OutcomeCounts {
  const sum = (of: (row: UsageDayRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  return {
    requests: sum((row) => row.requests),
    complete: sum((row) => row.complete),
    left: sum((row) => row.client_gone),
    failed: sum((row) => row.upstream_error),
    refused: sum((row) => row.refused),
    promptTokens: sum((row) => row.promptTokens),
    answerTokens: sum((row) => row.completionTokens),
    estimated: sum((row) => row.estimated),
  };
}

const tokensIn = ({ promptTokens, answerTokens }: OutcomeCounts) => promptTokens + answerTokens;

/** Most tokens first, then most requests. */
function compareCounts(a: OutcomeCounts, b: OutcomeCounts): number {
  return tokensIn(b) - tokensIn(a) || b.requests - a.requests;
}

function daysIn({ fromDay, toDay }: ReturnType<typeof lastDays>): string[] {
  const days: string[] = [];
  for (let atMs = Date.parse(fromDay); atMs <= Date.parse(toDay); atMs += DAY_MS) {
    days.push(dayOf(atMs));
  }
  return days;
}

const dayOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);
