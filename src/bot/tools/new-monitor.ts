import { z } from 'zod';
import {
  CertificateConfig,
  CheckType,
  DnsConfig,
  HeartbeatConfig,
  IntervalSeconds,
  type MonitorCreateInput,
  probeSettings,
  Runbook,
  TypedTags,
} from '../../contracts/monitoring.ts';
import type { MonitorDetails } from '../../contracts/monitoring-additions.ts';
import { maskedTarget } from '../../contracts/secret-values.ts';
import { zoneIn } from '../channels/quiet-hours.ts';
import { compact, type Fact } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { checkWords } from '../shared/status.ts';
import { shownTarget } from '../shared/target-link.ts';
import { counted, inWords } from '../shared/text-format.ts';

const text = (max: number, description: string) => z.string().max(max).describe(description);
const optional = (max: number, description: string) => text(max, description).optional();

const StartTls = CertificateConfig.shape.starttls.unwrap().exclude(['none']);
const RecordType = DnsConfig.shape.record_type.unwrap();

/** A new monitor as people and models describe it. */
export const NewMonitor = z.object({
  target: text(
    2048,
    'An address (https://example.com, db.example:5432), a DNS name, or any label for a heartbeat',
  ),
  name: optional(200, 'Name; default: the host'),
  type: CheckType.optional().describe(
    'Type of check. If omitted, it is guessed from the target and other inputs.',
  ),
  keyword: optional(1000, 'Text that the page must contain'),
  record: RecordType.optional().describe('DNS record that must resolve'),
  json: optional(500, 'Condition on the JSON response, such as data.queue[0].depth < 100'),
  expect: optional(1000, 'Text that the TCP response must contain'),
  send: optional(4096, 'Text to send over TCP first, such as PING\\r\\n; it is never shown'),
  days: CertificateConfig.shape.days_left
    .unwrap()
    .optional()
    .describe('Days before expiry at which to warn; default: 14'),
  starttls: StartTls.optional().describe('STARTTLS protocol to use before the certificate is read'),
  interval: z
    .int()
    .min(IntervalSeconds.min)
    .max(IntervalSeconds.max)
    .optional()
    .describe('Seconds between checks, or between heartbeat pings'),
  timeout: probeSettings.timeout_seconds.describe('Seconds after which a check fails'),
  cron: optional(
    200,
    'When a heartbeat is expected, such as cron="0 3 * * *"; use instead of interval',
  ),
  zone: optional(100, 'Time zone of cron, such as Europe/Berlin; default: UTC'),
  grace: HeartbeatConfig.shape.grace_seconds
    .unwrap()
    .optional()
    .describe('Seconds that a heartbeat may be late; default: 1 hour'),
  tags: TypedTags.optional().describe('Words that group monitors, such as shop,eu'),
  runbook: Runbook.optional().describe(
    'Instructions for an outage: an address or text, such as https://wiki.example.com/shop',
  ),
});
export type NewMonitor = z.output<typeof NewMonitor>;

interface NewType {
  /** Inputs that only this type has; using one chooses the type. */
  inputs: ReadonlyArray<
    Exclude<
      keyof NewMonitor,
      'target' | 'name' | 'type' | 'interval' | 'timeout' | 'tags' | 'runbook'
    >
  >;
  /** Throws a `CommandError` for wrong or missing inputs. */
  monitor(input: NewMonitor): MonitorCreateInput;
}

export const TYPES: Record<CheckType, NewType> = {
  HTTP: {
    inputs: ['json'],
    monitor(input) {
      const config = { ...probeTimes(input), json: input.json };
      return { check_type: 'HTTP', ...pageOf(input), config };
    },
  },
  KEYWORD: {
    inputs: ['keyword'],
    monitor(input) {
      const page = pageOf(input);
      if (input.keyword === undefined) {
        throw wrongInput(
          'keyword',
          'A KEYWORD monitor needs the text to look for, such as keyword=Cart or keyword="Add to cart".',
        );
      }
      const config = { ...probeTimes(input), target_keyword: input.keyword };
      return { check_type: 'KEYWORD', ...page, config };
    },
  },
  DNS: {
    inputs: ['record'],
    monitor(input) {
      const target = hostOf(input.target);
      const config = { ...probeTimes(input), record_type: input.record };
      return { check_type: 'DNS', name: input.name ?? target, target, config };
    },
  },
  TCP: {
    inputs: ['expect', 'send'],
    monitor(input) {
      const [, scheme = '', rest = input.target] = HOST_WITH_SCHEME.exec(input.target) ?? [];
      const target = rest.replace(/\/$/, '');
      if (!/:\d+$/.test(target)) {
        throw wrongInput(
          'target',
          `“${input.target}” has no port. A TCP monitor needs a host and a port, such as db.example:5432.`,
        );
      }
      const { send, expect } = input;
      const tls = scheme.toLowerCase() === 'tls' || undefined;
      const config = { ...probeTimes(input), send, expect, tls };
      return { check_type: 'TCP', name: input.name ?? target, target, config };
    },
  },
  CERTIFICATE: {
    inputs: ['days', 'starttls'],
    monitor(input) {
      const { days, starttls } = input;
      const target = hostOf(input.target, 'host');
      const config = { ...probeTimes(input), days_left: days, starttls };
      return { check_type: 'CERTIFICATE', name: input.name ?? target, target, config };
    },
  },
  HEARTBEAT: {
    inputs: ['cron', 'zone', 'grace'],
    monitor(input) {
      const { target, name = target, interval, cron, grace } = input;
      refuseUnfitTimes(input);
      const config = {
        period_seconds: interval,
        cron,
        timezone: input.zone === undefined ? undefined : zoneIn(input.zone),
        grace_seconds: grace,
      };
      return { check_type: 'HEARTBEAT', name, target, config };
    },
  },
};

/** The monitor for the service. Throws a `CommandError` for inputs that don't go together. Pure. */
export function monitorOf(input: NewMonitor): MonitorCreateInput {
  const typed = CheckType.options.flatMap((type) =>
    TYPES[type].inputs.filter((name) => input[name] !== undefined).map((name) => ({ type, name })),
  );
  const type = input.type ?? typed[0]?.type ?? typeByTarget(input.target);
  const other = typed.find((each) => each.type !== type);
  if (other) {
    const sentence = `“${other.name}” works with type=${other.type}, not with type=${type}.`;
    throw wrongInput(other.name, sentence);
  }
  const monitor = TYPES[type].monitor(input);
  // A setting that is undefined must not hide a default.
  const config = Object.entries(monitor.config ?? {}).filter(([, value]) => value !== undefined);
  const { tags, runbook } = input;
  return {
    ...monitor,
    config: Object.fromEntries(config),
    ...(tags !== undefined && { tags }),
    ...(runbook && { runbook }),
  } as MonitorCreateInput;
}

/** A scheme without web pages. */
const HOST_WITH_SCHEME = /^(tcp|tls):\/\/(.*)$/i;

/** Ports of mail, shells, directories, databases, queues and caches. Source: IANA port registry. */
const NOT_WEB = new Set([
  ...[21, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 636, 853, 993, 995, 1433, 1521, 1883, 2181],
  ...[3306, 3389, 4222, 5222, 5432, 5672, 6379, 6380, 6432, 8883, 9042, 9092, 11211, 27017],
]);

/**
 * The type of a target without other inputs: a page, except on a port that never has one. A check of a page finds more
 * problems than one of a port, so `example.com:8443` is a page.
 */
function typeByTarget(target: string): CheckType {
  if (HOST_WITH_SCHEME.test(target)) return 'TCP';
  const port = /^(?:\[[\da-f:.]+\]|[^\s/?#@:]+):(\d{1,5})$/i.exec(target)?.[1];
  return NOT_WEB.has(Number(port)) ? 'TCP' : 'HTTP';
}

function probeTimes({ interval, timeout }: NewMonitor) {
  if (interval !== undefined && interval > IntervalSeconds.max) {
    const longest = inWords(IntervalSeconds.max * 1000);
    throw wrongInput('interval', `“interval” can be at most ${longest}, except for a heartbeat.`);
  }
  return { interval_seconds: interval, timeout_seconds: timeout };
}

/** Throws a `CommandError` for times that don't go together, or don't go with a heartbeat. */
function refuseUnfitTimes({ interval, timeout, cron, zone }: NewMonitor): void {
  if (timeout !== undefined) {
    throw wrongInput(
      'timeout',
      'A heartbeat has no “timeout”. Use “grace” to say how late its ping may be.',
    );
  }
  if (cron !== undefined && interval !== undefined) {
    throw wrongInput('cron', 'Set “interval” or “cron”, not both.');
  }
  if (cron !== undefined && cron.trim().split(/\s+/).length !== 5) {
    throw wrongInput(
      'cron',
      `I didn't understand “${cron}”. A crontab has five fields: cron="0 3 * * *".`,
    );
  }
  if (zone !== undefined && cron === undefined) {
    throw wrongInput('zone', '“zone” needs “cron”: cron="0 3 * * *" zone=Europe/Berlin.');
  }
}

function pageOf({ target, name }: NewMonitor) {
  const url = urlOf(target);
  return { name: name ?? url.host, target: withScheme(target) };
}

function withScheme(target: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(target) ? target : `https://${target}`;
}

function urlOf(target: string): URL {
  const text = withScheme(target);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw wrongInput(
      'target',
      `“${target}” is not a web address. Write one such as https://example.com or example.com/health.`,
    );
  }
  return url;
}

const wrongInput = (input: keyof NewMonitor, sentence: string) =>
  new CommandError(sentence, { input });

/** The host of a page's address, which is enough for checks of names and certificates. */
function hostOf(target: string, part: 'hostname' | 'host' = 'hostname'): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(target) ? urlOf(target)[part] : target;
}

/** Throws a `CommandError` for an address that contains a secret: a proposal is stored and shown. */
export function refuseSecrets(target: string): void {
  if (maskedTarget(target) === target) return;
  throw new CommandError(
    'This address seems to contain a password or a key. Add it with /monitor add, which never shows it.',
  );
}

/** An input of a new monitor that can change later: all but the type. */
export type SettingName = Exclude<keyof NewMonitor, 'type'>;

/** Settings as inputs; `null` is a reset one. */
export const SettingValues = z.partialRecord(
  NewMonitor.keyof().exclude(['type']),
  z.union([z.string(), z.number(), z.null()]),
);
export type SettingValues = z.infer<typeof SettingValues>;

interface MonitorSetting {
  label: string;
  /** Name in `config`; absent for a field of the monitor itself. */
  key?: string;
  /** The value itself if absent. */
  words?(value: string | number): string;
  /** Words for no value; `default` if absent. */
  none?: string;
}

const duration = (seconds: string | number) => inWords(Number(seconds) * 1000);

/** In the order of cards. */
export const SETTINGS: Record<SettingName, MonitorSetting> = {
  name: { label: 'Name' },
  target: { label: 'Target', words: (target) => shownTarget(String(target)) },
  interval: { label: 'Every', key: 'interval_seconds', words: duration },
  cron: { label: 'Pinged at', key: 'cron', none: 'an interval' },
  zone: { label: 'Time zone', key: 'timezone' },
  grace: { label: 'Grace', key: 'grace_seconds', words: duration },
  timeout: { label: 'Timeout', key: 'timeout_seconds', words: duration },
  keyword: { label: 'Keyword', key: 'target_keyword' },
  record: { label: 'Record', key: 'record_type' },
  json: { label: 'JSON', key: 'json', none: 'any' },
  expect: { label: 'Expects', key: 'expect', none: 'anything' },
  send: { label: 'Sends', key: 'send', words: () => 'a new text, which is never shown' },
  days: {
    label: 'Warns',
    key: 'days_left',
    words: (days) => `${counted(Number(days), 'day')} before expiry`,
  },
  starttls: { label: 'STARTTLS', key: 'starttls', none: 'none' },
  tags: { label: 'Tags', words: (tags) => String(tags).replaceAll(',', ', '), none: 'none' },
  runbook: { label: 'Runbook', none: 'none' },
};
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

export const keyOf = (name: SettingName, type: string) =>
  name === 'interval' && type === 'HEARTBEAT' ? 'period_seconds' : SETTINGS[name].key;

/** Settings of a type, the most used first. Of a type that only another service has, few are known. */
export function settingNames(type: string): SettingName[] {
  const own = TYPES[type as CheckType]?.inputs;
  return [
    ...(['name', 'target', 'interval'] as const),
    ...(own ?? []),
    'tags',
    ...(own && type !== 'HEARTBEAT' ? (['timeout'] as const) : []),
    'runbook',
  ];
}

export type MonitorSettings = Pick<
  MonitorDetails,
  'name' | 'target' | 'check_type' | 'tags' | 'runbook'
> & { config?: object };

/** The monitor's settings as inputs. `send` is never known. A TCP target begins with `tls://` if TLS is on. Pure. */
export function settingsIn({
  name,
  target,
  check_type,
  config = {},
  tags = [],
  runbook,
}: MonitorSettings): SettingValues {
  const known = new Map<string | undefined, unknown>(Object.entries(config));
  const values: SettingValues = {
    name,
    target: known.get('tls') === true ? `tls://${target}` : target,
    ...(tags.length > 0 && { tags: tags.join(',') }),
    ...(runbook && { runbook }),
  };
  for (const one of settingNames(check_type)) {
    const value = known.get(keyOf(one, check_type));
    const isSet = one !== 'send' && value !== SETTINGS[one].none;
    if (isSet && (typeof value === 'string' || typeof value === 'number')) values[one] = value;
  }
  // A crontab replaces the interval. Without one, its zone is meaningless.
  delete values[values.cron === undefined ? 'zone' : 'interval'];
  return values;
}

/** All settings except name and target. Pure. */
export function settingFacts(monitor: {
  check_type: string;
  config: Readonly<Record<string, unknown>>;
  tags?: string[];
  runbook?: string;
}): Fact[] {
  const { check_type, config } = monitor;
  const values = settingsIn({ ...monitor, name: '', target: '' });
  const facts = SETTING_NAMES.flatMap((name) => {
    const { label } = SETTINGS[name];
    const value = values[name];
    if (value === undefined || name === 'name' || name === 'target') return [];
    const words = settingWords(name, value);
    return [
      { label: name === 'interval' ? checkWords({ check_type }).every : label, value: words },
    ];
  });
  return compact(...facts, config.tls === true && { label: 'TLS', value: 'yes' });
}

export function settingWords(name: SettingName, value: string | number | null): string {
  const { words = String, none = 'default' } = SETTINGS[name];
  return value === null ? none : words(value);
}
