import type { KeyedService } from '../contracts/api-key.ts';
import { USAGE_DAYS } from '../contracts/gateway.ts';
import { LIMIT_NAMES } from '../contracts/key-limits.ts';
import type { KeyInfo } from '../http/keys.ts';
import type { UsageRow } from '../store/usage.ts';
import type { PrintedResult } from './command.ts';
import { OPTION_OF } from './options.ts';
import { tableLines } from './table.ts';

export interface ServiceKey extends KeyInfo {
  service: KeyedService;
}

const KEY_HEADINGS = [
  'SERVICE',
  'ID',
  'CREATED',
  'NAME',
  'REQUESTS TODAY',
  'TOKENS TODAY',
  `REQUESTS ${USAGE_DAYS.default} DAYS`,
  `TOKENS ${USAGE_DAYS.default} DAYS`,
  'LIMITS',
];

type KeyUsageCounts = Omit<UsageRow, 'day' | 'keyId' | 'model'>;

/** Counts by their name in JSON, which is their heading in a table. */
const COUNTS: ReadonlyArray<[name: keyof KeyUsageCounts, shown: string]> = [
  ['requests', 'requests'],
  ['complete', 'complete'],
  ['client_gone', 'left'],
  ['upstream_error', 'failed'],
  ['refused', 'refused'],
  ['promptTokens', 'promptTokens'],
  ['completionTokens', 'answerTokens'],
  ['estimated', 'estimated'],
];

const USAGE_HEADINGS = [
  ...['DAY', 'KEY', 'NAME', 'MODEL'],
  ...COUNTS.map(([, shown]) => shown.replace('Tokens', ' tokens').toUpperCase()),
];

/** Lists the keys, with the recent usage of gateway keys; `rows` covers the last days. */
export function keyTable(
  keys: ServiceKey[],
  rows: UsageRow[] | undefined,
  today: string,
): PrintedResult {
  const usages = keys.map(({ service, id }) => {
    const own = service === 'gateway' ? rows?.filter(({ keyId }) => keyId === id) : undefined;
    return own && [usedIn(own.filter(({ day }) => day === today)), usedIn(own)];
  });
  const lines = keys.map((key, at) => {
    const { service, id, name, createdAtMs } = key;
    const created = new Date(createdAtMs).toISOString().slice(0, 10);
    const used = usages[at]?.flatMap(({ requests, tokens }) => [requests, tokens]);
    const limits = service === 'gateway' ? limitsText(key) : key.readOnly ? 'read-only' : '';
    return [service, id, created, name, ...(used ?? ['', '', '', '']), limits];
  });
  const data = keys.map(({ service, id, name, createdAtMs, readOnly, limits = {} }, at) => {
    const [usedToday, used30Days] = usages[at] ?? [];
    const createdAt = new Date(createdAtMs).toISOString();
    const own =
      service === 'gateway' ? { limits, usedToday, used30Days } : { readOnly: !!readOnly };
    return { service, id, name, createdAt, ...own };
  });
  return { data: { keys: data }, lines: tableLines(KEY_HEADINGS, lines) };
}

/** Usage by day, key and model, and its total. */
export function usageTable(
  rows: UsageRow[],
  { names, days }: { names: ReadonlyMap<string, string>; days: number },
): PrintedResult {
  const usage = rows.map((row) => {
    const { day, keyId, model } = row;
    return { day, keyId, name: names.get(keyId) ?? '', model, ...countsOf([row]) };
  });
  const total = ['TOTAL', '', '', '', ...Object.values(countsOf(rows))];
  const table = tableLines(USAGE_HEADINGS, [...usage.map((row) => Object.values(row)), total]);
  const lines =
    rows.length === 0
      ? [`No requests in the last ${days} days.`]
      : [
          ...table,
          '',
          'Days are UTC. LEFT: the caller disconnected. ESTIMATED: requests with estimated tokens, because the provider reported none.',
        ];
  return { data: { days, usage }, lines, quietLines: rows.length === 0 ? [] : table };
}

export function limitsText({ limits = {} }: KeyInfo): string {
  const set = LIMIT_NAMES.filter((name) => limits[name] !== undefined);
  const words = set.map((name) => `${limits[name]} ${OPTION_OF[name].replace('-per-', '/')}`);
  return words.join(', ') || 'none';
}

const countsOf = (rows: UsageRow[]): Record<string, number> =>
  Object.fromEntries(COUNTS.map(([name, shown]) => [shown, sumOf(rows, name)]));

const sumOf = (rows: UsageRow[], name: keyof KeyUsageCounts) =>
  rows.reduce((total, row) => total + row[name], 0);

function usedIn(rows: UsageRow[]) {
  const tokens = sumOf(rows, 'promptTokens') + sumOf(rows, 'completionTokens');
  return { requests: sumOf(rows, 'requests'), tokens };
}
