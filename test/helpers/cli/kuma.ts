import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export type KumaRow = Record<string, unknown>;

/** Columns of the table `monitor` that the importer reads, and some others. Source: Uptime Kuma 2.5, db/knex_init_db.js and migrations. */
const COLUMNS: Record<string, string> = {
  id: 'INTEGER PRIMARY KEY',
  name: 'VARCHAR(150)',
  active: 'BOOLEAN NOT NULL DEFAULT 1',
  interval: 'INTEGER NOT NULL DEFAULT 20',
  url: 'TEXT',
  type: 'VARCHAR(20)',
  hostname: 'VARCHAR(255)',
  port: 'INTEGER',
  keyword: 'VARCHAR(255)',
  maxretries: 'INTEGER NOT NULL DEFAULT 0',
  ignore_tls: 'BOOLEAN NOT NULL DEFAULT 0',
  upside_down: 'BOOLEAN NOT NULL DEFAULT 0',
  maxredirects: 'INTEGER NOT NULL DEFAULT 10',
  accepted_statuscodes_json: `TEXT NOT NULL DEFAULT '["200-299"]'`,
  dns_resolve_type: 'VARCHAR(5)',
  dns_resolve_server: 'VARCHAR(255)',
  retry_interval: 'INTEGER NOT NULL DEFAULT 0',
  push_token: 'VARCHAR(32)',
  method: `TEXT NOT NULL DEFAULT 'GET'`,
  body: 'TEXT',
  headers: 'TEXT',
  basic_auth_user: 'TEXT',
  basic_auth_pass: 'TEXT',
  proxy_id: 'INTEGER',
  expiry_notification: 'BOOLEAN DEFAULT 1',
  database_connection_string: 'VARCHAR(2000)',
  auth_method: 'VARCHAR(250)',
  resend_interval: 'INTEGER NOT NULL DEFAULT 0',
  http_body_encoding: 'VARCHAR(25)',
  description: 'TEXT',
  parent: 'INTEGER',
  invert_keyword: 'BOOLEAN NOT NULL DEFAULT 0',
  json_path: 'TEXT',
  expected_value: 'VARCHAR(255)',
  json_path_operator: 'VARCHAR(255)',
  timeout: 'DOUBLE NOT NULL DEFAULT 0',
  cache_bust: 'BOOLEAN NOT NULL DEFAULT 0',
  conditions: `TEXT NOT NULL DEFAULT '[]'`,
  smtp_security: 'VARCHAR(255)',
  bearer_token: 'TEXT',
};

const http = (name: string, fields: KumaRow = {}): KumaRow => ({
  ...{ name, type: 'http', url: `https://${name.replaceAll(' ', '-')}.example.com/` },
  ...{ interval: 60, maxretries: 1, retry_interval: 20, timeout: 48, method: 'GET' },
  ...fields,
});

const port = (name: string, fields: KumaRow = {}): KumaRow => ({
  ...{ name, type: 'port', hostname: 'db.example.com', port: 5432, interval: 60, ...fields },
});

const json = (name: string, json_path: string, fields: KumaRow = {}): KumaRow =>
  http(name, { type: 'json-query', json_path, expected_value: 'ok', ...fields });

const dns = (name: string, fields: KumaRow = {}): KumaRow => ({
  ...{ name, type: 'dns', hostname: 'example.com', port: 53, dns_resolve_type: 'A' },
  ...{ dns_resolve_server: '1.1.1.1', interval: 60, ...fields },
});

const database = (type: string, connection: string): KumaRow => ({
  ...{ name: type, type, interval: 60, database_connection_string: connection },
});

/** Types without a counterpart. Source: Uptime Kuma 2.5, src/pages/EditMonitor.vue. */
const OTHERS = [
  ...['ping', 'docker', 'system-service', 'pm2', 'manual', 'globalping', 'grpc-keyword'],
  ...['kafka-producer', 'mqtt', 'ntp', 'rabbitmq', 'sip-options', 'snmp', 'tailscale-ping'],
  ...['websocket-upgrade', 'radius', 'gamedig', 'steam'],
];

/** Monitors of all types: groups, 31 that are imported, and 20 that aren't. */
export const kumaRows: KumaRow[] = [
  { id: 1, name: 'Web Servers', type: 'group', interval: 60 },
  { id: 2, name: 'Berlin', type: 'group', parent: 1, interval: 60 },
  http('blog', { parent: 2, accepted_statuscodes_json: '["200-299","401"]' }),
  http('blog', { description: 'The same again' }),
  http('basic', { auth_method: 'basic', basic_auth_user: 'alice', basic_auth_pass: 'S3cret-pass' }),
  http('older basic', { basic_auth_user: 'alice', basic_auth_pass: 'S3cret-pass' }),
  http('bearer', { auth_method: 'bearer', bearer_token: 'S3cret-token' }),
  http('oauth', { auth_method: 'oauth2-cc' }),
  http('login in the address', { url: 'https://alice:S3cret-pass@x.example.com/a' }),
  http('token in the address', { url: 'https://x.example.com/?token=S3cret-token&page=2' }),
  http('headers', { headers: '{"X-Shop": "a", "X-Api-Key": "S3cret-key", "Host": "x"}' }),
  http('form', { method: 'POST', http_body_encoding: 'form', body: 'page=2' }),
  http('login body', { method: 'POST', body: '{"user": "a", "password": "S3cret-pass"}' }),
  http('never redirected', { maxredirects: 0, ignore_tls: 1, expiry_notification: 0 }),
  http('extremes', { interval: 1, maxretries: 99, retry_interval: 9999, timeout: 500 }),
  http('cached', { cache_bust: 1, proxy_id: 1, resend_interval: 5 }),
  { ...http('text'), type: 'keyword', keyword: 'Cart' },
  { ...http('no text'), type: 'keyword', keyword: 'Error', invert_keyword: 1 },
  { ...http('upside down text'), type: 'keyword', keyword: 'Error', upside_down: 1 },
  { ...http('browser'), type: 'real-browser' },
  json('json', '$.status'),
  json('json number', 'queue[0].depth', { json_path_operator: '<', expected_value: '5' }),
  json('json function', '$count(items)'),
  port('postgres port'),
  port('ipv6 port', { hostname: '2606:4700::7', port: 22 }),
  port('tls port', { port: 443, smtp_security: 'secure' }),
  port('private port', { hostname: '192.168.1.5' }),
  { name: 'mail', type: 'smtp', hostname: 'mail.example.com', port: 587, interval: 60 },
  dns('dns'),
  dns('dns of two', {
    dns_resolve_type: 'MX',
    dns_resolve_server: 'adguard, 10.0.0.2',
    port: 5353,
  }),
  dns('dns with a value', {
    conditions: '[{"type":"expression","variable":"record","operator":"equals","value":"1.2.3.4"}]',
  }),
  { name: 'Nightly backup', type: 'push', interval: 86_400, maxretries: 2, retry_interval: 600 },
  database('mysql', 'mysql://root:S3cret@p/ass@db.example.com:3307/shop'),
  database('postgres', 'postgres://postgres:S3cret@db.example.com/shop'),
  database('sqlserver', 'Server=sql.example.com,1434;Database=a;User Id=a;Password=S3cret'),
  database('mongodb', 'mongodb://u:S3cret@a.example.com:27017,b.example.com/db'),
  database('redis', 'redis://:S3cret@10.1.2.3:6379/0'),
  database('oracledb', 'db.example.com:1521/shop'),
  ...OTHERS.map((type): KumaRow => ({ name: type, type, hostname: 'x.example.com', interval: 60 })),
  http('paused', { active: 0 }),
  http('upside down', { upside_down: 1 }),
].map((row, at) => ({ id: at + 1, ...row }));

/** Tags of the first monitor that isn't a group. */
const TAGS = [
  { id: 1, name: 'Env', value: 'Prod' },
  { id: 2, name: 'Team Shop', value: '' },
];

const TAGGED_ID = 3;

/** A backup of version 1: names in camel case, lists instead of JSON texts. Source: Uptime Kuma 1.23, `toJSON` in server/model/monitor.js. */
export function kumaBackup(rows = kumaRows): string {
  const inCamelCase = ['retry_interval', 'upside_down', 'ignore_tls', 'expiry_notification'];
  const monitorList = rows.map(({ accepted_statuscodes_json = '["200-299"]', ...row }) => {
    const entries = Object.entries(row).map(([name, value]) => [
      /^(json_path|expected_|invert_|http_body|smtp_|cache_|resend_|database_)/.test(name) ||
      inCamelCase.includes(name)
        ? name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
        : name,
      value,
    ]);
    const active = row.active !== 0;
    const tags = row.id === TAGGED_ID ? TAGS : [];
    const accepted_statuscodes = JSON.parse(String(accepted_statuscodes_json));
    const expiryNotification = row.expiry_notification !== 0;
    return {
      ...Object.fromEntries(entries),
      active,
      tags,
      accepted_statuscodes,
      expiryNotification,
    };
  });
  return JSON.stringify({ version: '1.23.16', notificationList: [], monitorList });
}

/** Writes a database as Uptime Kuma 2 has it, in the mode with a log. */
export async function writeKumaDatabase(path: string, rows = kumaRows): Promise<void> {
  const quoted = (value: unknown) =>
    typeof value === 'number' ? `${value}` : `'${String(value).replaceAll("'", "''")}'`;
  const insert = (table: string, row: KumaRow) =>
    `INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.values(row).map(quoted)});`;
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${type}`);
  const sql = [
    'PRAGMA journal_mode = WAL;',
    `CREATE TABLE monitor (${columns});`,
    'CREATE TABLE tag (id INTEGER PRIMARY KEY, name VARCHAR(255), color VARCHAR(255));',
    'CREATE TABLE monitor_tag (id INTEGER PRIMARY KEY, monitor_id INTEGER, tag_id INTEGER, value TEXT);',
    ...rows.map((row) => insert('monitor', row)),
    ...TAGS.map(({ id, name }) => insert('tag', { id, name, color: '#fff' })),
    ...TAGS.map(({ id, value }) =>
      insert('monitor_tag', { monitor_id: TAGGED_ID, tag_id: id, value }),
    ),
  ];
  await promisify(execFile)('sqlite3', ['-batch', path, sql.join('\n')]);
}
