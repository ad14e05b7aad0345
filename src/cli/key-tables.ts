import type { KeyedService } from '../contracts/api-key.ts';
import { USAGE_DAYS } from '../contracts/gateway.ts';
import { LIMIT_NAMES } from '../contracts/key-limits.ts';
import type { KeyInfo } from '../http/keys.ts';
import type { UsageRow } from '../store/usage.ts';
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

const COUNTS: ReadonlyArray<[name: keyof KeyUsageCounts, heading: string]> = [
  ['requests', 'REQUESTS'],
  ['complete', 'COMPLETE'],
  ['client_gone', 'LEFT'],
  ['upstream_error', 'FAILED'],
  ['refused', 'REFUSED'],
  ['promptTokens', 'PROMPT TOKENS'],
  ['completionTokens', 'ANSWER TOKENS'],
  ['estimated', 'ESTIMATED'],
];

const USAGE_HEADINGS = ['DAY', 'KEY', 'NAME', 'MODEL', ...COUNTS.map(([, heading]) => heading)];

/** Lists the keys, with the recent usage of gateway keys; `rows` covers the last days. */
export function keyTable(
  keys: ServiceKey[],
  rows: UsageRow[] | undefined,
  today: string,
): string[] {
  const lines = keys.map((key) => {
    const { service, id, name, createdAtMs } = key;
    const created = new Date(createdAtMs).toISOString().slice(0, 10);
    const known = [service, id, created, name];
    if (service !== 'gateway') {
      return key.readOnly ? [...known, '', '', '', '', 'read-only'] : known;
    }
    const own = rows?.filter(({ keyId }) => keyId === id);
    const used = own && [...usedIn(own.filter(({ day }) => day === today)), ...usedIn(own)];
    return [...known, ...(used ?? ['', '', '', '']), limitsText(key)];
  });
  return tableLines(KEY_HEADINGS, lines);
}

/** Usage by day, key and model, and its total. */
export function usageTable(rows: UsageRow[], names: ReadonlyMap<string, string>): string[] {
  const lines = rows.map((row) => {
    const { day, keyId, model } = row;
    return [day, keyId, names.get(keyId) ?? '', model, ...countCells([row])];
  });
  const total = ['TOTAL', '', '', '', ...countCells(rows)];
  return [
    ...tableLines(USAGE_HEADINGS, [...lines, total]),
    '',
    'Days are UTC. LEFT: the caller disconnected. ESTIMATED: requests with estimated tokens, because the provider reported none.',
  ];
}

export function limitsText({ limits = {} }: KeyInfo): string {
  const set = LIMIT_NAMES.filter((name) => limits[name] !== undefined);
  const words = set.map((name) => `${limits[name]} ${OPTION_OF[name].replace('-per-', '/')}`);
  return words.join(', ') || 'none';
}

const countCells = (rows: UsageRow[]) => COUNTS.map(([name]) => sumOf(rows, name));

const sumOf = (rows: UsageRow[], name: keyof KeyUsageCounts) =>
  rows.reduce((total, row) => total + row[name], 0);

function usedIn(rows: UsageRow[]): number[] {
  const tokens = sumOf(rows, 'promptTokens') + sumOf(rows, 'completionTokens');
  return [sumOf(rows, 'requests'), tokens];
}
