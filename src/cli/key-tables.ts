import type { Service } from '../contracts/api-key.ts';
import { USAGE_DAYS } from '../contracts/gateway.ts';
import { LIMIT_NAMES } from '../contracts/key-limits.ts';
import type { UsageRow } from '../gateway/usage/days.ts';
import type { KeyInfo } from '../http/keys.ts';
import { type Column, tableLines } from './table.ts';

/** A key and whose it is. */
export interface ServiceKey extends KeyInfo {
  service: Service;
}

const WORDS = {
  requestsPerMinute: 'requests/minute',
  tokensPerMinute: 'tokens/minute',
  tokensPerDay: 'tokens/day',
  tokensPerMonth: 'tokens/month',
} as const;

const KEY_COLUMNS: Column[] = [
  { heading: 'SERVICE' },
  { heading: 'ID' },
  { heading: 'CREATED' },
  { heading: 'NAME' },
  { heading: 'REQUESTS TODAY', numbers: true },
  { heading: 'TOKENS TODAY', numbers: true },
  { heading: `REQUESTS ${USAGE_DAYS.default} DAYS`, numbers: true },
  { heading: `TOKENS ${USAGE_DAYS.default} DAYS`, numbers: true },
  { heading: 'LIMITS' },
];

type Counts = Omit<UsageRow, 'day' | 'keyId' | 'model'>;

/** What is counted, with the headings, in the order of the columns. */
const COUNTS: ReadonlyArray<[name: keyof Counts, heading: string]> = [
  ['requests', 'REQUESTS'],
  ['complete', 'COMPLETE'],
  ['client_gone', 'LEFT'],
  ['upstream_error', 'FAILED'],
  ['refused', 'REFUSED'],
  ['promptTokens', 'PROMPT TOKENS'],
  ['completionTokens', 'ANSWER TOKENS'],
  ['estimated', 'ESTIMATED'],
];

const USAGE_COLUMNS: Column[] = [
  { heading: 'DAY' },
  { heading: 'KEY' },
  { heading: 'NAME' },
  { heading: 'MODEL' },
  ...COUNTS.map(([, heading]) => ({ heading, numbers: true })),
];

/** The keys, with what those of the gateway have used today and of late; `rows` are of the last days. */
export function keyTable(
  keys: ServiceKey[],
  rows: UsageRow[] | undefined,
  today: string,
): string[] {
  const lines = keys.map((key) => {
    const { service, id, name, createdAtMs } = key;
    const created = new Date(createdAtMs).toISOString().slice(0, 10);
    const known = [service, id, created, name];
    if (service !== 'gateway') return known;
    const own = rows?.filter(({ keyId }) => keyId === id);
    const used = own && [...usedIn(own.filter(({ day }) => day === today)), ...usedIn(own)];
    return [...known, ...(used ?? ['', '', '', '']), limitsText(key)];
  });
  return tableLines(KEY_COLUMNS, lines);
}

/** Usage by day, key and model, and its total. */
export function usageTable(rows: UsageRow[], names: ReadonlyMap<string, string>): string[] {
  const lines = rows.map((row) => {
    const { day, keyId, model } = row;
    return [day, keyId, names.get(keyId) ?? '', model, ...countCells([row])];
  });
  const total = ['TOTAL', '', '', '', ...countCells(rows)];
  return [
    ...tableLines(USAGE_COLUMNS, [...lines, total]),
    '',
    'Days are UTC. LEFT: the caller left. ESTIMATED: requests whose tokens are our estimate, as the provider told none.',
  ];
}

/** The limits of a key in words. */
export function limitsText({ limits = {} }: KeyInfo): string {
  const set = LIMIT_NAMES.filter((name) => limits[name] !== undefined);
  return set.map((name) => `${limits[name]} ${WORDS[name]}`).join(', ') || 'none';
}

const countCells = (rows: UsageRow[]) => COUNTS.map(([name]) => String(sumOf(rows, name)));

const sumOf = (rows: UsageRow[], name: keyof Counts) =>
  rows.reduce((total, row) => total + row[name], 0);

/** Requests and tokens. */
function usedIn(rows: UsageRow[]): string[] {
  const tokens = sumOf(rows, 'promptTokens') + sumOf(rows, 'completionTokens');
  return [sumOf(rows, 'requests'), tokens].map(String);
}
