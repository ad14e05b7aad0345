import { execFile, execFileSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { kumaBackup, kumaRows, writeKumaDatabase } from '../../helpers/cli/kuma.ts';
import { readTexts } from '../../helpers/monitoring/provisioning/read-text.ts';
import { runCommand } from '../../helpers/run-command.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

async function importKuma(content: string | object[]) {
  const path = join(await temporaryFolder(), 'kuma.json');
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return await runCommand('monitors', 'import', 'kuma', path);
}

/** Reads an imported file as `monitors plan` does, with the variables and networks that it asks for. */
async function read(text: string) {
  const [, names = ''] = /Set these variables first: (.*)/.exec(text) ?? [];
  const [, networks = ''] = /MONITOR_ALLOW_PRIVATE=(\S+)/.exec(text) ?? [];
  const env = Object.fromEntries(names.split(', ').map((name) => [name, `value-of-${name}`]));
  return await readTexts(
    { 'a.yaml': text },
    { env, allowPrivate: networks === '' ? [] : networks.split(',') },
  );
}

const row = (fields: Record<string, unknown>) => ({
  ...{ id: 1, name: 'x', type: 'http', url: 'https://x.example/', interval: 60, ...fields },
});

async function onlyMonitor(fields: Record<string, unknown>) {
  const { out } = await importKuma([row(fields)]);
  const { monitors, problems } = await read(out);
  expect(problems).toEqual([]);
  const [monitor] = monitors;
  if (!monitor) throw new Error(out);
  return { ...monitor.definition, out };
}

test('imports monitors of all types from a backup, into a file without problems and secrets', async () => {
  const { code, out, err } = await importKuma(kumaBackup());
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const { monitors, problems } = await read(out);
  expect(problems).toEqual([]);
  expect(out).toContain('# Not imported (20):\n');
  expect(monitors).toHaveLength(kumaRows.length - 20 - 2);
  const types = new Set(monitors.map(({ definition }) => definition.check_type));
  expect(types).toEqual(new Set(['HTTP', 'KEYWORD', 'TCP', 'DNS', 'HEARTBEAT']));
  expect(out).not.toMatch(/S3cret|czNjcmV0|UzNjcmV0/);
  expect(out).toContain('MONITOR_ALLOW_PRIVATE=192.168.0.0/16,10.0.0.0/8\n');
  for (const setting of ['Cache bust', 'Resend Notification', 'its proxy', 'its body']) {
    expect(out).toContain(`# not imported: ${setting}`);
  }
  const [blog] = monitors;
  expect(blog?.definition).toMatchObject({
    ...{ name: 'blog', target: 'https://blog.example.com/', check_type: 'HTTP' },
    tags: ['berlin', 'env:prod', 'team-shop', 'web-servers'],
    config: {
      ...{ interval_seconds: 60, confirm_down: 2, retry_seconds: 20, timeout_seconds: 48 },
      ...{ expected_status: '200-299,401', max_redirects: 10, tls_expiry_days: 14 },
    },
  });
});

const hasSqlite = (() => {
  try {
    execFileSync('sqlite3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasSqlite && !process.env.CI)('a database of Uptime Kuma', () => {
  test('has the same monitors as a backup, and stays as it is', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'kuma.db');
    await writeKumaDatabase(path);
    const before = await readFile(path);
    const { code, out, err } = await runCommand('monitors', 'import', 'kuma', path);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const fromBackup = (await importKuma(kumaBackup())).out;
    expect(out.split('\n').slice(1)).toEqual(fromBackup.split('\n').slice(1));
    expect(await readdir(folder)).toEqual(['kuma.db']);
    expect(await readFile(path)).toEqual(before);
  });

  test('is read with what its log holds while Uptime Kuma runs', async () => {
    const path = join(await temporaryFolder(), 'kuma.db');
    await writeKumaDatabase(path);
    // It changes a row and is killed, so the change is only in the log.
    const change = [
      path,
      "UPDATE monitor SET name = 'renamed' WHERE id = 3",
      '.shell kill -9 $PPID',
    ];
    await promisify(execFile)('sqlite3', change).catch(() => {});
    expect((await runCommand('monitors', 'import', 'kuma', path)).out).toContain('name: renamed');
  });

  test('refuses the database of another program in one line', async () => {
    const path = join(await temporaryFolder(), 'other.db');
    await promisify(execFile)('sqlite3', [path, 'CREATE TABLE a (b)']);
    const { code, err } = await runCommand('monitors', 'import', 'kuma', path);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining('no such table: monitor'),
    });
    expect(err.trimEnd()).not.toContain('\n');
  });

  test('needs sqlite3, and says what to do without it', async () => {
    const path = join(await temporaryFolder(), 'kuma.db');
    await writeKumaDatabase(path);
    vi.stubEnv('PATH', '/nowhere');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { code, err } = await runCommand('monitors', 'import', 'kuma', path);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('apt install sqlite3') });
  });
});

test.each([
  ['not JSON', 'no', 'it is not JSON'],
  ['no monitors', '{"version": "1.23"}', 'it has no monitorList'],
  ['other lists', '[1, 2]', 'its monitors have no type'],
  ['too deep', `[${'['.repeat(100)}${']'.repeat(100)}]`, 'it is nested more than 32 levels deep'],
])('refuses a file with %s', async (_, content, sentence) => {
  const { code, out, err } = await importKuma(content);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toContain(`This is not a file of Uptime Kuma: ${sentence}.`);
});

test('refuses more monitors than Askwatch holds', async () => {
  const rows = Array.from({ length: 10_001 }, (_, id) => row({ id, name: `n${id}` }));
  expect((await importKuma(rows)).err).toContain('has 10001 monitors, and Askwatch holds at most');
});

describe('settings of Uptime Kuma', () => {
  test.each([
    ['no retries', { maxretries: 0 }, { confirm_down: 1 }],
    ['retries', { maxretries: 3, retry_interval: 30 }, { confirm_down: 4, retry_seconds: 30 }],
    ['too many retries', { maxretries: 50 }, { confirm_down: 10 }],
    ['a short interval', { interval: 1 }, { interval_seconds: 5 }],
    ['a long timeout', { interval: 30, timeout: 90 }, { timeout_seconds: 29 }],
    ['no redirects', { maxredirects: 0 }, { follow_redirects: false }],
    ['many redirects', { maxredirects: 20 }, { max_redirects: 10 }],
    ['ignored certificates', { ignore_tls: 1 }, { ignore_tls: true }],
    ['no expiry alerts', { expiry_notification: 0 }, { tls_expiry_days: 0 }],
    ['expiry alerts', { expiry_notification: 1 }, { tls_expiry_days: 14 }],
  ])('keep %s', async (_, fields, config) => {
    expect((await onlyMonitor(fields)).config).toMatchObject(config);
  });

  test.each([
    ['$.status', '==', 'ok', 'status == "ok"'],
    ['data.items[0].count', '>=', '5', 'data.items[0].count >= 5'],
    ['$.ready', '==', 'true', 'ready == true'],
    ['text', 'contains', '5', 'text contains "5"'],
  ])(
    'turn json query %s %s %s into %s',
    async (json_path, json_path_operator, expected_value, json) => {
      const query = { type: 'json-query', json_path, json_path_operator, expected_value };
      expect((await onlyMonitor(query)).config).toMatchObject({ json });
    },
  );

  test('become a comment if a json query has functions', async () => {
    const { config, out } = await onlyMonitor({ type: 'json-query', json_path: '$count(a)' });
    expect(config).not.toHaveProperty('json');
    expect(out).toContain('# not imported: json query $count(a)');
  });

  test.each([
    ['mysql', 'mysql://root:pa@s/s@db.example:3307/shop', 'db.example:3307'],
    ['postgres', 'postgres://a:b@db.example/shop?sslmode=require', 'db.example:5432'],
    ['sqlserver', 'Server=tcp:sql.example,1434;Password=x', 'sql.example:1434'],
    ['sqlserver', 'Server=sql.example;Password=x', 'sql.example:1433'],
    ['mongodb', 'mongodb://a:b@one.example,two.example/db', 'one.example:27017'],
    ['redis', 'rediss://:pw@cache.example:6380', 'cache.example:6380'],
  ])('check the port of a %s at %s', async (type, database_connection_string, target) => {
    const { check_type, ...monitor } = await onlyMonitor({ type, database_connection_string });
    expect([check_type, monitor.target]).toEqual(['TCP', target]);
  });

  test('give a push monitor as much grace as its retries took', async () => {
    const push = { type: 'push', url: '', interval: 3_600, maxretries: 3, retry_interval: 300 };
    expect(await onlyMonitor(push)).toMatchObject({
      check_type: 'HEARTBEAT',
      config: { period_seconds: 3_600, grace_seconds: 900 },
    });
  });
});

test('leaves a monitor out, with the reason, if it could not be planned', async () => {
  const { out } = await importKuma([
    row({ name: 'bad address', url: 'https://' }),
    row({ id: 2, name: 'in a paused group', parent: 9 }),
    row({ id: 3, name: 'no keyword', type: 'keyword', keyword: '' }),
    row({ id: 4, name: 'no type', type: 'constructor', hostname: 'db.example' }),
    { id: 9, name: 'group', type: 'group', active: 0 },
  ]);
  expect(out).toMatch(/# bad address: Invalid 'target': must be a full http or https URL/);
  expect(out).toMatch(/# in a paused group: it is paused, and a monitor in a file always runs/);
  expect(out).toMatch(/# no keyword: Invalid 'config\.target_keyword': must not be empty/);
  expect(out).toMatch(/# no type: Askwatch can't check constructor; use check_type: TCP/);
  expect((await read(out)).monitors).toEqual([]);
});

test('cannot be made to end its comments, declare monitors or read variables', async () => {
  const HOME = `$\{HOME}`;
  const evil = `a\nmonitors: {evil: {}}\u2028b: "${HOME}" &x *x !!js\u0085`;
  const { out } = await importKuma([
    row({ name: evil, description: evil, headers: JSON.stringify({ 'X-A': HOME }) }),
    row({ id: 2, name: evil, type: evil, parent: 2 }),
    row({ id: 3, type: 'keyword', keyword: evil, tags: [{ name: evil }, null, 5] }),
  ]);
  const { monitors, problems } = await read(out);
  expect(problems).toEqual([]);
  expect(monitors.map(({ key }) => key)).toEqual([expect.stringMatching(/^a-monitors-evil/), 'x']);
  expect(monitors[0]?.definition.config).toMatchObject({ headers: { 'X-A': HOME } });
});
