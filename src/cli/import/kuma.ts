import { isIP } from 'node:net';
import { jsonFault, parseUntrustedJson } from '../../contracts/parse-json.ts';
import { isSecretName } from '../../contracts/secret-values.ts';
import { CommandLineError } from '../command.ts';
import { type Imported, leftOut, tagsFrom } from './imported.ts';

/** Fields of a monitor: columns of a database, or the same names in camel case of a backup. Source: Uptime Kuma 2.5, server/model/monitor.js. */
type KumaFields = Record<string, unknown>;

interface KumaMonitor {
  name: string;
  type: string;
  text(field: string): string;
  number(field: string): number;
  flag(field: string): boolean;
  list(field: string): unknown[];
}

/** Enough for 10,000 monitors with a hundred fields each. */
const LIMITS = { depth: 32, values: 5_000_000, names: 20_000 };

/** A monitor has 60 seconds and 10 retries at most here, and 5 seconds between checks at least. */
const clamp = (value: number, least: number, most: number) =>
  Math.min(most, Math.max(least, Math.round(value)));

const DATABASE_PORTS = new Map([
  ['mysql', 3306],
  ['postgres', 5432],
  ['sqlserver', 1433],
  ['mongodb', 27017],
  ['redis', 6379],
  ['oracledb', 1521],
]);

/** Reads a backup of Uptime Kuma 1.x, or rows of the table `monitor`. */
export function kumaMonitors(json: string): Imported[] {
  let value: unknown;
  try {
    value = parseUntrustedJson(json, LIMITS);
  } catch (error) {
    throw notKuma(`it ${jsonFault(error)}`);
  }
  const listed = Array.isArray(value) ? value : (value as KumaFields | null)?.monitorList;
  const rows = typeof listed === 'object' && listed !== null ? Object.values(listed) : undefined;
  if (!rows) throw notKuma('it has no monitorList');
  if (!rows.every((row) => typeof row === 'object' && row !== null && 'type' in row)) {
    throw notKuma('its monitors have no type');
  }
  const byId = new Map((rows as KumaFields[]).map((row) => [String(row.id), row]));
  return (rows as KumaFields[])
    .filter(({ type }) => type !== 'group')
    .map((row) => {
      const groups = groupsOf(row, byId);
      const monitor = monitorFrom(row);
      const isPaused = [row, ...groups].some(({ active }) => active === false || active === 0);
      if (isPaused)
        return leftOut(monitor.name, 'it is paused, and a monitor in a file always runs');
      const comments: string[] = [];
      const tags = tagsFrom(
        [...tagTexts(monitor), ...groups.map(({ name }) => String(name))],
        comments,
      );
      const imported = importedMonitor(monitor, comments);
      if ('isLeftOut' in imported) return imported;
      const { name, fields } = imported;
      return { name, comments, fields: { name, ...fields, ...(tags.length > 0 && { tags }) } };
    });
}

const notKuma = (why: string) =>
  new CommandLineError(
    `This is not a file of Uptime Kuma: ${why}. Use kuma.db from its data folder, or a backup (Settings, Backup) of version 1.`,
  );

function monitorFrom(row: KumaFields): KumaMonitor {
  const read = (field: string) =>
    row[field] ?? row[field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())] ?? '';
  const text = (field: string) => String(read(field)).trim();
  return {
    ...{ name: text('name') || `monitor ${text('id')}`, type: text('type'), text },
    number: (field) => Number(read(field)) || 0,
    flag: (field) => [true, 1, '1'].includes(read(field) as number),
    list: (field) => listFrom(read(field)),
  };
}

function listFrom(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  const parsed = typeof value === 'string' && value !== '' ? parsedJson(value) : undefined;
  return Array.isArray(parsed) ? parsed : [];
}

function parsedJson(text: string): unknown {
  try {
    return parseUntrustedJson(text);
  } catch {
    return undefined;
  }
}

/** The groups around a monitor, the nearest first. */
function groupsOf(row: KumaFields, byId: ReadonlyMap<string, KumaFields>): KumaFields[] {
  const groups: KumaFields[] = [];
  let group = byId.get(String(row.parent));
  while (group && !groups.includes(group) && groups.length < 10) {
    groups.push(group);
    group = byId.get(String(group.parent));
  }
  return groups;
}

/** A tag may have a value: `env: prod`. */
const tagTexts = (monitor: KumaMonitor) =>
  monitor.list('tags').map((tag) => {
    const { name = '', value } = (tag ?? {}) as { name?: unknown; value?: unknown };
    return value ? `${name}:${value}` : String(name);
  });

function importedMonitor(monitor: KumaMonitor, comments: string[]): Imported {
  const { name, type, text, flag, number } = monitor;
  const as = (check_type: string, target: string, config: Record<string, unknown>): Imported => ({
    ...{ name, comments, fields: { target, check_type, config } },
  });
  const host = text('hostname');
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${text('port')}`;
  for (const [field, about] of IGNORED) {
    if (number(field) > 0) comments.push(`not imported: ${about}`);
  }
  if (text('proxy_id') !== '') comments.push('not imported: its proxy');
  if (text('description') !== '') comments.push(text('description').slice(0, 500));
  if (flag('upside_down') && type !== 'keyword') {
    return leftOut(name, 'it is upside down, which only KEYWORD monitors can be (inverted: true)');
  }
  switch (type) {
    case 'http':
    case 'keyword':
    case 'json-query':
    case 'real-browser':
      return pageMonitor(monitor, comments);
    case 'port': {
      const isTls = text('smtp_security') === 'secure';
      const expiry = isTls && isWithoutExpiry(monitor) ? { tls_expiry_days: 0 } : {};
      return as('TCP', target, { ...timesOf(monitor, comments), tls: isTls, ...expiry });
    }
    case 'smtp': {
      const port = text('port') || '25';
      const config = { expect: '220', tls: text('smtp_security') === 'secure' };
      return as('TCP', target.replace(/:\d*$/, `:${port}`), {
        ...timesOf(monitor, comments),
        ...config,
      });
    }
    case 'dns':
      return as('DNS', host, { ...timesOf(monitor, comments), ...dnsSettings(monitor, comments) });
    case 'push':
      comments.push('the job has to call its new push address: /monitor show, New push address');
      return as('HEARTBEAT', name, heartbeatSettings(monitor));
  }
  const port = DATABASE_PORTS.get(type);
  if (port !== undefined) {
    comments.push(`only the port is checked; Uptime Kuma logs in (${type})`);
    const database = databaseTarget(text('database_connection_string'), port);
    return as('TCP', database, timesOf(monitor, comments));
  }
  const use = host === '' ? 'a HEARTBEAT that a script pings' : 'check_type: TCP and a port of it';
  return leftOut(name, `Askwatch can't check ${type}; use ${use}`);
}

/** Settings that have no counterpart, with their names in Uptime Kuma. */
const IGNORED = [
  ['cache_bust', 'Cache bust'],
  ['resend_interval', 'Resend Notification; use /monitor alerts on remind=4h'],
] as const;

/** Times that all probes have. Source: Uptime Kuma 2.5, `beat` in server/model/monitor.js. */
function timesOf(monitor: KumaMonitor, comments: string[]): Record<string, number> {
  const interval_seconds = clamp(monitor.number('interval') || 60, 5, 86_400);
  const retries = monitor.number('maxretries');
  if (retries > 9) comments.push(`${retries} retries became 9, the most`);
  const retrySeconds = monitor.number('retry_interval');
  const timeout = monitor.number('timeout');
  return {
    interval_seconds,
    confirm_down: clamp(retries + 1, 1, 10),
    ...(retries > 0 && retrySeconds > 0 && { retry_seconds: clamp(retrySeconds, 1, 3_600) }),
    ...(timeout > 0 && { timeout_seconds: clamp(timeout, 1, Math.min(60, interval_seconds - 1)) }),
  };
}

function pageMonitor(monitor: KumaMonitor, comments: string[]): Imported {
  const { name, type, text, flag, number } = monitor;
  const url = URL.canParse(text('url')) ? new URL(text('url')) : undefined;
  const login = url && `${decode(url.username)}:${decode(url.password)}`;
  const target = url ? text('url').replace(/^([a-z]+:\/\/)[^/?#]*@/i, '$1') : text('url');
  const statuses = monitor
    .list('accepted_statuscodes_json')
    .concat(monitor.list('accepted_statuscodes'));
  const method = text('method').toUpperCase() || 'GET';
  const canSend = text('body') !== '' && !['GET', 'HEAD'].includes(method);
  const hasBody = canSend && !holdsSecret(text('body'));
  if (canSend && !hasBody) {
    comments.push(
      'not imported: its body, which seems to hold a secret. Bodies are shown; use a header',
    );
  }
  const redirects = text('maxredirects') === '' ? 10 : number('maxredirects');
  const config: Record<string, unknown> = {
    ...timesOf(monitor, comments),
    method,
    ...(statuses.length > 0 && { expected_status: statuses.join(',') }),
    ...(redirects > 0 ? { max_redirects: clamp(redirects, 1, 10) } : { follow_redirects: false }),
    headers: headersOf(monitor, { login: login === ':' ? undefined : login, hasBody, comments }),
    ...(hasBody && { body: text('body') }),
    ...(isWithoutExpiry(monitor) && { tls_expiry_days: 0 }),
    ignore_tls: flag('ignore_tls'),
  };
  if (type === 'json-query') {
    const json = jsonCondition(monitor);
    if (json === undefined) comments.push(`not imported: json query ${text('json_path')}`);
    else config.json = json;
  }
  if (type === 'real-browser') comments.push('the page is fetched, without a browser');
  if (type !== 'keyword') return { name, comments, fields: { target, check_type: 'HTTP', config } };
  config.target_keyword = text('keyword');
  config.inverted = flag('invert_keyword') !== flag('upside_down');
  if (flag('upside_down')) comments.push('it was upside down; now a missing answer is DOWN, too');
  return { name, comments, fields: { target, check_type: 'KEYWORD', config } };
}

const isWithoutExpiry = ({ text }: KumaMonitor) =>
  ['0', 'false'].includes(text('expiry_notification'));

/** A JSON or form body with a value under a name such as `password`. */
const holdsSecret = (body: string) =>
  [...body.matchAll(/([\w-]{1,100})["']?\s*[:=]/g)].some(([, name = '']) => isSecretName(name));

const CONTENT_TYPES = new Map([
  ['json', 'application/json'],
  ['form', 'application/x-www-form-urlencoded'],
  ['xml', 'text/xml; charset=utf-8'],
]);

/** Headers of the connection itself, which the target determines. */
const OWN_HEADERS = new Set(['host', 'content-length', 'connection', 'transfer-encoding']);

function headersOf(
  { text }: KumaMonitor,
  { login, hasBody, comments }: { login?: string; hasBody: boolean; comments: string[] },
): Record<string, string> {
  const headers: Record<string, string> = {};
  const contentType = CONTENT_TYPES.get(text('http_body_encoding') || 'json');
  if (hasBody && contentType !== undefined) headers['Content-Type'] = contentType;
  const method = text('auth_method') || (text('basic_auth_user') === '' ? '' : 'basic');
  const user = method === 'basic' ? `${text('basic_auth_user')}:${text('basic_auth_pass')}` : login;
  if (user !== undefined) {
    headers.Authorization = `Basic ${Buffer.from(user).toString('base64')}`;
    comments.push('the value of Authorization is Basic, a space, and user:password in Base64');
  } else if (method === 'bearer') {
    headers.Authorization = `Bearer ${text('bearer_token')}`;
    comments.push('the value of Authorization is Bearer, a space, and the token');
  } else if (method !== '') comments.push(`not imported: authentication by ${method}`);
  const own = text('headers') === '' ? {} : parsedJson(text('headers'));
  if (typeof own !== 'object' || own === null)
    comments.push('not imported: headers, which are not JSON');
  for (const [header, value] of Object.entries(own ?? {})) {
    const earlier = Object.keys(headers).find((one) => one.toLowerCase() === header.toLowerCase());
    if (earlier !== undefined) delete headers[earlier];
    if (!OWN_HEADERS.has(header.toLowerCase())) headers[header] = String(value);
  }
  return headers;
}

/** A path with names and places in lists; functions and filters of JSONata can't be said here. */
function jsonCondition({ text }: KumaMonitor): string | undefined {
  const path = text('json_path').replace(/^\$\.?/, '');
  const operator = text('json_path_operator') || '==';
  if (!/^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*|\[\d+\])*$/.test(path)) return undefined;
  const expected = text('expected_value');
  const isPlain = operator !== 'contains' && /^(-?\d+(\.\d+)?|true|false)$/.test(expected);
  return `${path} ${operator} ${isPlain ? expected : JSON.stringify(expected)}`;
}

function dnsSettings(monitor: KumaMonitor, comments: string[]): Record<string, unknown> {
  const resolvers = monitor
    .text('dns_resolve_server')
    .split(',')
    .map((one) => one.trim());
  const resolver = resolvers.find((one) => isIP(one) > 0);
  if (resolvers.length > 1 || resolver === undefined) {
    comments.push(
      `not imported: resolvers ${resolvers.filter((one) => one !== resolver).join(', ')}`,
    );
  }
  const port = monitor.text('port') || '53';
  const withPort = resolver?.includes(':') ? `[${resolver}]:${port}` : `${resolver}:${port}`;
  const conditions = monitor.list('conditions') as Array<{ operator?: unknown; value?: unknown }>;
  const [first] = conditions;
  const isKnown = conditions.length === 1 && first?.operator === 'equals';
  if (conditions.length > 0 && !isKnown) comments.push('not imported: conditions for the records');
  return {
    record_type: monitor.text('dns_resolve_type') || 'A',
    ...(resolver !== undefined && { resolver: port === '53' ? resolver : withPort }),
    ...(isKnown && { expected: [String(first.value)] }),
  };
}

/** A ping may be late by as long as Uptime Kuma would try again. */
function heartbeatSettings({ number }: KumaMonitor): Record<string, number> {
  const period = clamp(number('interval') || 60, 5, 366 * 86_400);
  const grace = number('maxretries') * (number('retry_interval') || period);
  return { period_seconds: period, grace_seconds: clamp(grace, 60, 30 * 86_400) };
}

/** Host and port of a connection string, which also holds a name and a password; the first host of several. */
function databaseTarget(connection: string, defaultPort: number): string {
  const [, server, port] =
    /(?:server|data source)\s*=\s*(?:tcp:)?([^;,]+)(?:,(\d+))?/i.exec(connection) ?? [];
  if (server !== undefined) return `${server.trim()}:${port ?? defaultPort}`;
  const [bare = ''] = connection.split('?');
  const address = bare.slice(bare.lastIndexOf('@') + 1).replace(/^[a-z+]+:\/\//i, '');
  const [host = ''] = address.split(/[/,]/);
  return /:\d+$/.test(host) ? host : `${host}:${defaultPort}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
