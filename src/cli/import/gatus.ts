import { type Imported, leftOut, tagsFrom } from './imported.ts';

/** The supported fields of an endpoint. Source: Gatus, README, "Configuration". */
interface Endpoint {
  enabled?: unknown;
  name?: unknown;
  group?: unknown;
  url?: unknown;
  method?: unknown;
  body?: unknown;
  headers?: unknown;
  interval?: unknown;
  conditions?: unknown;
  client?: { timeout?: unknown; insecure?: unknown; 'ignore-redirect'?: unknown } | null;
  dns?: { 'query-name'?: unknown; 'query-type'?: unknown } | null;
}

/** Fields of an endpoint that mean something here, or nothing for a monitor. */
const KNOWN = new Set([
  ...['enabled', 'name', 'group', 'url', 'method', 'body', 'headers', 'interval', 'conditions'],
  ...['client', 'dns'],
]);

export function gatusMonitors(value: unknown): Imported[] {
  const { endpoints } = (value ?? {}) as { endpoints?: unknown };
  return (Array.isArray(endpoints) ? endpoints : []).map((one: unknown) => {
    const endpoint = (one ?? {}) as Endpoint;
    const imported = monitorOf(endpoint);
    const tags = tagsFrom([String(endpoint.group ?? '')], imported.comments);
    if ('isLeftOut' in imported || tags.length === 0) return imported;
    return { ...imported, fields: { ...imported.fields, tags } };
  });
}

function monitorOf(endpoint: Endpoint): Imported {
  const group = endpoint.group === undefined ? '' : `${endpoint.group}/`;
  const name = `${group}${endpoint.name ?? endpoint.url ?? 'endpoint'}`;
  const url = String(endpoint.url ?? '');
  if (endpoint.enabled === false) return leftOut(name, 'it is disabled');
  const comments = Object.keys(endpoint)
    .filter((field) => !KNOWN.has(field))
    .map((field) => `not imported: ${field}`);
  const intervalSeconds = secondsOf(endpoint.interval ?? '60s');
  const timeoutSeconds = secondsOf(endpoint.client?.timeout);
  const times = {
    ...(intervalSeconds !== undefined &&
      intervalSeconds !== 60 && { interval_seconds: Math.max(5, intervalSeconds) }),
    ...(timeoutSeconds !== undefined &&
      timeoutSeconds < (intervalSeconds ?? 60) && {
        timeout_seconds: Math.min(60, Math.max(1, timeoutSeconds)),
      }),
  };
  const conditions = Array.isArray(endpoint.conditions) ? endpoint.conditions.map(String) : [];
  if (endpoint.dns) return dnsMonitor(name, { endpoint, conditions, comments, times });
  if (/^https?:\/\//i.test(url))
    return pageMonitor(name, { endpoint, conditions, comments, times });
  if (/^(tcp|tls):\/\//i.test(url)) {
    return portMonitor(name, { endpoint, conditions, comments, times });
  }
  const scheme = /^[a-z+]+(?=:\/\/)/i.exec(url)?.[0] ?? 'no scheme';
  return leftOut(
    name,
    `its type of check (${scheme}) can't be imported; see docs/monitoring.md for the supported ones`,
  );
}

interface Parts {
  endpoint: Endpoint;
  conditions: string[];
  comments: string[];
  times: Record<string, unknown>;
}

function pageMonitor(name: string, { endpoint, conditions, comments, times }: Parts): Imported {
  const config: Record<string, unknown> = { ...times };
  for (const condition of conditions) {
    const meant = pageCondition(condition);
    const isSecond = meant?.json !== undefined && config.json !== undefined;
    if (meant === undefined || isSecond) comments.push(`not imported: ${condition}`);
    else Object.assign(config, meant);
  }
  if (config.json !== undefined && config.target_keyword !== undefined) {
    comments.push(`not imported, because KEYWORD monitors don't support it: json ${config.json}`);
    delete config.json;
  }
  const { method, body, headers, client } = endpoint;
  if (method !== undefined && method !== 'GET') config.method = method;
  if (body !== undefined && body !== '') config.body = String(body);
  if (typeof headers === 'object' && headers !== null) {
    config.headers = Object.fromEntries(
      // The target determines the host.
      Object.entries(headers)
        .filter(([header]) => header.toLowerCase() !== 'host')
        .map(([header, text]) => [header, String(text)]),
    );
  }
  if (client?.insecure === true) config.ignore_tls = true;
  if (client?.['ignore-redirect'] === true) config.follow_redirects = false;
  const check_type = config.target_keyword === undefined ? 'HTTP' : 'KEYWORD';
  return { name, comments, fields: fieldsOf(name, String(endpoint.url), check_type, config) };
}

/** A port, or the certificate behind it where that is what is asked about. */
function portMonitor(name: string, { endpoint, conditions, comments, times }: Parts): Imported {
  const url = String(endpoint.url);
  const config: Record<string, unknown> = { ...times };
  if (/^tls:/i.test(url)) config.tls = true;
  for (const condition of conditions) {
    const meant = pageCondition(condition) ?? {};
    const { degraded_after_ms, tls_expiry_days } = meant;
    if (degraded_after_ms !== undefined) config.degraded_after_ms = degraded_after_ms;
    else if (tls_expiry_days !== undefined && config.tls) config.tls_expiry_days = tls_expiry_days;
    else if (!/^\[CONNECTED\] == true$/.test(condition.trim())) {
      comments.push(`not imported: ${condition}`);
    }
  }
  if (endpoint.client?.insecure === true && config.tls) config.ignore_tls = true;
  const target = url.replace(/^tls:/i, 'tcp:').replace(/^tcp:\/\//i, '');
  return { name, comments, fields: fieldsOf(name, target, 'TCP', config) };
}

const fieldsOf = (name: string, target: string, check_type: string, config: object) => ({
  ...{ name, target, check_type },
  ...(Object.keys(config).length > 0 && { config }),
});

/** The settings that a condition is here; `undefined` when it cannot be said. */
function pageCondition(condition: string): Record<string, unknown> | undefined {
  const text = condition.trim();
  const any = /^\[STATUS\] == any\(([\d, ]+)\)$/.exec(text)?.[1];
  if (any !== undefined) return { expected_status: any.replace(/\s/g, '') };
  const [, name, sign = '', value = ''] = /^\[(\w+)\] (==|<=|<|>=|>) (.+)$/.exec(text) ?? [];
  const number = Number(value);
  if (name === 'STATUS' && Number.isInteger(number)) return statusCondition(sign, number);
  if (name === 'CONNECTED' && sign === '==' && value === 'true') return {};
  if (name === 'RESPONSE_TIME' && sign.startsWith('<') && number >= 1 && number <= 60_000) {
    return { degraded_after_ms: number };
  }
  if (name === 'CERTIFICATE_EXPIRATION' && sign.startsWith('>')) {
    const seconds = secondsOf(value);
    return seconds === undefined
      ? undefined
      : { tls_expiry_days: Math.min(365, Math.ceil(seconds / 86_400)) };
  }
  const json = jsonCondition(text);
  if (json !== undefined) return { json };
  const keyword =
    name === 'BODY' && sign === '==' ? /^pat\(\*([^*]+)\*\)$/.exec(value)?.[1] : undefined;
  return keyword === undefined ? undefined : { target_keyword: keyword };
}

/** A value of a JSON answer; of functions such as `len(…)` and `pat(…)` none is said here. */
function jsonCondition(text: string): string | undefined {
  const [, path, sign, value = ''] =
    /^\[BODY\]\.([A-Za-z_][\w.[\]]*) (==|!=|<=|<|>=|>) ([^()]+)$/.exec(text) ?? [];
  if (path === undefined) return undefined;
  const isPlain = /^(-?\d+(\.\d+)?|true|false|null)$/.test(value);
  return `${path} ${sign} ${isPlain ? value : JSON.stringify(value)}`;
}

function statusCondition(sign: string, code: number): Record<string, unknown> | undefined {
  const ranges: Record<string, [from: number, to: number]> = {
    '==': [code, code],
    '<': [100, code - 1],
    '<=': [100, code],
    '>': [code + 1, 599],
    '>=': [code, 599],
  };
  const [from, to] = ranges[sign] ?? [0, 0];
  if (from < 100 || to > 599 || from > to) return undefined;
  const expected = from === to ? `${from}` : `${from}-${to}`;
  return expected === '200-299' ? {} : { expected_status: expected };
}

function dnsMonitor(name: string, { endpoint, conditions, comments, times }: Parts): Imported {
  const expected: string[] = [];
  const config: Record<string, unknown> = { ...times };
  if (endpoint.dns?.['query-type'] !== undefined) config.record_type = endpoint.dns['query-type'];
  for (const condition of conditions) {
    const [, field, value = ''] = /^\[(BODY|DNS_RCODE)\] == (.+)$/.exec(condition.trim()) ?? [];
    if (field === 'DNS_RCODE') {
      if (value !== 'NOERROR') config.rcode = value;
    } else if (field === 'BODY' && !/^\w+\(/.test(value)) expected.push(value);
    else comments.push(`not imported: ${condition}`);
  }
  if (expected.length > 0) config.expected = expected;
  const resolver = String(endpoint.url ?? '').replace(/^[a-z]+:\/\//i, '');
  if (resolver !== '') config.resolver = resolver;
  const target = String(endpoint.dns?.['query-name'] ?? '');
  if (target === '') return leftOut(name, 'it has no query-name');
  return { name, comments, fields: fieldsOf(name, target, 'DNS', config) };
}

const UNITS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

/** Whole seconds of a duration such as `1m30s`. */
function secondsOf(duration: unknown): number | undefined {
  if (typeof duration === 'number') return undefined;
  const text = String(duration ?? '');
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, count, , unit = 's'] of text.matchAll(/(\d+(\.\d+)?)(ms|s|m|h|d)/g)) {
    seconds += Number(count) * (UNITS[unit] ?? 1);
  }
  return Math.ceil(seconds);
}
