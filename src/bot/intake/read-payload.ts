import { createHash } from 'node:crypto';
import { oneLine } from '../../contracts/one-line.ts';
import { HIDDEN, isSecretName, mapSecrets, maskedTarget } from '../../contracts/secret-values.ts';
import { isMask } from '../shared/masked-links.ts';
import { counted, shortened } from '../shared/text-format.ts';
import type { ReportedAlert, ReportedAlerts } from './reported-alert.ts';

/** The body isn't a delivery of alerts. The message says what is wrong, for the person who set up the sender. */
export class PayloadError extends Error {
  override name = 'PayloadError' as const;
}

/** Most alerts of one delivery. */
const MAX_ALERTS = 10_000;

/** Keys are made of all labels. */
const MAX_KEYED_LABELS = 1_000;

const MAX_NAME_LENGTH = 200;
const MAX_SUMMARY_LENGTH = 1_000;

const MAX_FACTS = 40;
const MAX_LABEL_LENGTH = 60;
const MAX_VALUE_LENGTH = 300;

const MAX_LINKS = 5;
const MAX_URL_LENGTH = 2_000;

/** Longest key of PagerDuty. Longer keys, and ones that can't be stored as they are, are replaced by a hash. */
const MAX_KEY_LENGTH = 255;

/** No alert is older. */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
/** A sender's clock may be ahead this far. */
const AHEAD_MS = 86_400_000;
/** Smaller numbers are seconds, since in milliseconds they would be before 1974. */
const LEAST_MS = 100_000_000_000;

const TIME =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(?:(Z)|([+-]\d\d):?(\d\d))?$/i;

/** One line of visible ASCII needs no cleaning. */
const PLAIN = /^[!-~](?: ?[!-~])*$/;
const ADDRESS = /[a-z][a-z\d+.-]{0,20}:\/\/\S+/gi;

/** Internal labels, such as `__orgId__`. */
const INTERNAL = /^__.*__$/;

const MILD =
  /^(?:warn(?:ing)?|info(?:rmation(?:al)?)?|notice|none|ok|low|minor|medium|moderate|degraded|debug|(?:p|sev)-?[3-9])$/;

/** A JSON object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const recordOf = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});

/**
 * Turns a value into one line of text, without credentials in addresses. `undefined` if nothing is visible. Reads no
 * more of the value than it may show. Pure.
 */
export function lineOf(value: unknown, maxLength: number): string | undefined {
  const text = textOf(value, 4 * maxLength);
  if (text.length <= maxLength && PLAIN.test(text) && !text.includes('://')) return text;
  const safe = text.includes('://') ? withoutCredentials(text) : text;
  // Cutting may leave half a character, which `oneLine` removes.
  const line = oneLine(shortened(oneLine(safe), maxLength));
  return line === '' ? undefined : line;
}

export const nameOf = (value: unknown) => lineOf(value, MAX_NAME_LENGTH);
export const summaryOf = (value: unknown) => lineOf(value, MAX_SUMMARY_LENGTH);

/** The first value that can be read. */
export function firstOf<T>(
  read: (value: unknown) => T | undefined,
  ...values: unknown[]
): T | undefined {
  for (const value of values) {
    const found = read(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Normalizes a word: lower case, with single spaces. */
export const wordOf = (value: unknown) =>
  (lineOf(value, 60) ?? '').toLowerCase().replace(/[\s_-]+/g, ' ');

/** An unknown severity counts as critical. */
export const severityOf = (value: unknown): ReportedAlert['severity'] =>
  MILD.test(wordOf(value)) ? 'warning' : 'critical';

/**
 * Reads a time in RFC 3339 (UTC without a zone), or in seconds or milliseconds since 1970. `undefined` if it isn't
 * plausible.
 */
export function timeOf(value: unknown, nowMs: number): number | undefined {
  const ms = msOf(typeof value === 'string' ? value.trim() : value);
  return ms !== undefined && ms >= EARLIEST_MS && ms <= nowMs + AHEAD_MS ? ms : undefined;
}

/** The plausible times of an alert. */
export function timesOf(
  { from, to }: { from: unknown; to?: unknown },
  nowMs: number,
): Pick<ReportedAlert, 'startedAtMs' | 'endedAtMs'> {
  const startedAtMs = timeOf(from, nowMs);
  const endedAtMs = timeOf(to, nowMs);
  const isOrdered =
    startedAtMs === undefined || endedAtMs === undefined || endedAtMs >= startedAtMs;
  return {
    startedAtMs,
    ...(endedAtMs !== undefined && isOrdered && { endedAtMs }),
  };
}

export function keyOf(key: string): string {
  const isFit = key.length <= MAX_KEY_LENGTH && (PLAIN.test(key) || oneLine(key) === key);
  return isFit ? key : madeKey('sha256', key);
}

/** A stable key for the same parts. */
export function madeKey(kind: string, ...parts: unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `${kind}:${hash.slice(0, 32)}`;
}

/** A key from all labels, in any order. `where` names the alert in errors. */
export function keyOfLabels(labels: Record<string, unknown>, where: string): string {
  const names = Object.keys(labels);
  if (names.length > MAX_KEYED_LABELS) {
    throw new PayloadError(
      `${where} has ${names.length} labels and no key. Send its key, or at most ${MAX_KEYED_LABELS} labels.`,
    );
  }
  return madeKey(
    'labels',
    names.sort().map((name) => [name, labels[name]]),
  );
}

/** A delivery whose alerts are read while iterating. */
export interface PayloadReading extends Omit<ReportedAlerts, 'alerts'> {
  alerts: Iterable<ReportedAlert>;
}

/** `where` names the alert in errors. */
export function readAlerts(
  alerts: readonly unknown[],
  read: (alert: Record<string, unknown>, where: string) => ReportedAlert,
): Iterable<ReportedAlert> {
  if (alerts.length > MAX_ALERTS) {
    throw new PayloadError(
      `This delivery has ${alerts.length} alerts, but at most ${MAX_ALERTS} are accepted at once. Send smaller groups.`,
    );
  }
  return (function* () {
    for (const [index, alert] of alerts.entries()) {
      const where = `alerts[${index}]`;
      if (!isRecord(alert)) throw new PayloadError(`${where} must be an object.`);
      yield read(alert, where);
    }
  })();
}

/** Collects facts within the limits. The last one counts what was left out. */
export function createFacts() {
  const facts: { label: string; value: string }[] = [];
  let leftOut = 0;

  function add(name: string, value: unknown) {
    if (facts.length === MAX_FACTS) {
      leftOut += 1;
      return;
    }
    const label = lineOf(name, MAX_LABEL_LENGTH);
    const line = label === undefined ? undefined : lineOf(value, MAX_VALUE_LENGTH);
    if (label === undefined || line === undefined) return;
    facts.push({ label, value: isSecretName(label) ? HIDDEN : line });
  }

  return {
    add,
    /** All entries except these. */
    addAll(record: Record<string, unknown>, except: ReadonlySet<string> = new Set()) {
      const names = Object.keys(record);
      for (const [index, name] of names.entries()) {
        if (facts.length === MAX_FACTS) {
          leftOut += names.length - index;
          return;
        }
        if (!except.has(name) && !INTERNAL.test(name)) add(name, record[name]);
      }
    },
    list() {
      if (leftOut === 0) return facts;
      const more = counted(leftOut + 1, 'fact');
      return [...facts.slice(0, -1), { label: 'More', value: `${more} not shown` }];
    },
  };
}

/** Collects web links without credentials. */
export function createLinks() {
  const links: { label: string; url: string }[] = [];
  return {
    add(name: unknown, address: unknown) {
      if (links.length === MAX_LINKS) return;
      const url = urlOf(address);
      if (!url || links.some((link) => link.url === url.href)) return;
      const label = lineOf(name, MAX_LABEL_LENGTH);
      // A label must not claim another address.
      const isHonest = label !== undefined && !isMask(label, url.href);
      links.push({
        label: isHonest ? label : shortened(url.host, MAX_LABEL_LENGTH),
        url: url.href,
      });
    },
    list: () => links,
  };
}

/** A part of a value as text. */
function textOf(value: unknown, maxLength: number): string {
  if (typeof value === 'string') return value.slice(0, maxLength);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null) return '';
  let text = '';
  write(value);
  return text === '[]' || text === '{}' ? '' : text.slice(0, maxLength);

  /** Each call adds text, so this ends for any value. */
  function write(part: unknown) {
    if (text.length >= maxLength) return;
    if (typeof part !== 'object' || part === null) {
      text += typeof part === 'string' ? part.slice(0, maxLength) : String(part);
      return;
    }
    const isList = Array.isArray(part);
    text += isList ? '[' : '{';
    let count = 0;
    for (const name in part) {
      if (text.length >= maxLength) return;
      if (count > 0) text += ', ';
      if (!isList) text += `${name.slice(0, maxLength)}: `;
      write(isSecretName(name) ? HIDDEN : (part as Record<string, unknown>)[name]);
      count += 1;
    }
    text += isList ? ']' : '}';
  }
}

/** An HTTP status such as `code="503"` is no secret. */
export const holdsSecret = (label: string, value: string): boolean =>
  (isSecretName(label) && !/^\d{0,3}$/.test(value)) || withoutCredentials(value) !== value;

const withoutCredentials = (text: string) => text.replace(ADDRESS, (url) => maskedTarget(url));

function msOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value < LEAST_MS ? value * 1000 : value;
  if (typeof value !== 'string' || value.length > 40) return undefined;
  if (/^\d{9,13}$/.test(value)) return msOf(Number(value));
  const found = TIME.exec(value);
  if (!found) return undefined;
  const [, day, minute, second = '00', fraction = '', , hours = '+00', minutes = '00'] = found;
  const ms = Date.parse(
    `${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}${hours}:${minutes}`,
  );
  return Number.isNaN(ms) ? undefined : ms;
}

function urlOf(address: unknown): URL | undefined {
  if (typeof address !== 'string' || address.length > MAX_URL_LENGTH) return undefined;
  const bare = mapSecrets(address.trim(), () => '');
  if (!URL.canParse(bare)) return undefined;
  const url = new URL(bare);
  url.username = '';
  url.password = '';
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  return isWeb && url.href.length <= MAX_URL_LENGTH ? url : undefined;
}
