import { execFile, execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, onTestFinished, test } from 'vitest';
import { startDiscord } from '../fakes/discord.ts';
import { startModelProvider } from '../fakes/model-provider.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { CHANNEL, startSlack } from '../fakes/slack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startAskwatch } from './askwatch-process.ts';

const CLI = join(inject('bundledProgram'), 'cli.mjs');

type Env = Record<string, string>;
interface Finding {
  check: string;
  level: string;
  text: string;
}

/** Runs the doctor as a person does, with nothing of the surrounding environment but PATH. No secret may be in what it says. */
async function runDoctor(
  env: Env,
  options: { folder?: string; args?: string[]; shell?: string } = {},
) {
  const { args = [], shell } = options;
  const folder = options.folder ?? (await temporaryFolder());
  const command = [CLI, 'doctor', ...args];
  const [program = '', ...rest] =
    shell === undefined ? command : ['sh', '-c', shell, 'sh', ...command];
  const { code, output } = await promisify(execFile)(program, rest, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', DATA_DIR: `${folder}/data`, PORT: '0', ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      output: error.stdout + error.stderr,
    }),
  );
  for (const [name, value] of Object.entries(env)) {
    if (/TOKEN|KEY|SECRET/.test(name)) expect(output).not.toContain(value);
  }
  return { code, output };
}

/** The same, by check. */
async function examine(env: Env, options: { folder?: string; shell?: string } = {}) {
  const { code, output } = await runDoctor(env, { ...options, args: ['--json'] });
  const { findings } = JSON.parse(output) as { findings: Finding[] };
  const of = (check: string) => findings.filter((one) => one.check === check);
  return { code, findings, of };
}

/** Everything that Askwatch can be connected with, all well. */
async function startEverything() {
  const slack = await startSlack();
  const discord = await startDiscord();
  const provider = await startModelProvider();
  const gateway = await startModelProvider({ apiKey: 'gateway-key-abcdef', models: ['far-4k'] });
  const monitoring = await startMonitoringService();
  for (const service of [provider, gateway, monitoring]) onTestFinished(() => service.close());
  const env = {
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_API_URL: slack.apiUrl,
    DISCORD_TOKEN: discord.settings.token,
    DISCORD_GUILD_ID: discord.guildId,
    DISCORD_API_URL: discord.api,
    GATEWAY_BASE_URL: gateway.url,
    GATEWAY_API_KEY: gateway.apiKey,
    MONITORING_BASE_URL: monitoring.url,
    MONITORING_API_KEY: monitoring.apiKey,
    OPENAI_API_KEY: provider.apiKey,
    OPENAI_BASE_URL: `${provider.url}/v1`,
    ALERT_CHANNELS: `slack:${CHANNEL},discord:${discord.general.id}`,
  };
  return { slack, discord, provider, gateway, monitoring, env };
}

/** A server of this machine that does whatever it is told; gives its address. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An address where nobody listens any more. */
async function deadAddress(): Promise<string> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

test('all is well: one line a check, in an order that stays, and nothing is changed anywhere', async () => {
  const { slack, discord, provider, gateway, monitoring, env } = await startEverything();
  const folder = await temporaryFolder();
  const { code, output } = await runDoctor(env, { folder });
  const lines = output.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines.slice(0, -3).map(([result, check]) => [result, check])).toEqual([
    ['RESULT', 'CHECK'],
    ['ok', 'Node.js'],
    ['ok', 'Settings'],
    ['ok', 'Data folder'],
    ['ok', 'Program'],
    ['ok', 'Address'],
    ['ok', 'Console'],
    ['ok', 'Model catalog'],
    ['ok', 'Model gateway'],
    ['ok', 'OpenAI'],
    ['ok', 'Monitoring service'],
    ['ok', 'Slack bot'],
    ['ok', 'Slack scopes'],
    ['ok', `Slack ${CHANNEL}`],
    ['ok', 'Slack app token'],
    ['ok', 'Discord bot'],
    ['ok', 'Discord intent'],
    ['ok', 'Discord shards'],
    ['ok', 'Discord server'],
    ['ok', `Discord ${discord.general.id}`],
    ['ok', 'Discord invite'],
    ['ok', 'Clock'],
  ]);
  expect(output).toContain('agrees with that of those who answered');
  expect([code, output.trimEnd().split('\n').at(-1)]).toEqual([0, 'All is well.']);

  expect(await readdir(folder)).toEqual([]);
  expect(slack.calls.map(({ method }) => method).sort()).toEqual([
    'apps.connections.open',
    'auth.test',
    'conversations.history',
  ]);
  expect(slack.sockets()).toBe(0);
  expect(discord.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  expect(discord.gateway.counts().identified).toBe(0);
  expect([provider, gateway].flatMap(({ calls }) => calls)).toEqual([]);
  expect(monitoring.requests.map(({ method }) => method)).toEqual(['GET']);
  expect([slack, provider, gateway, monitoring].flatMap(({ unhandled }) => unhandled)).toEqual([]);
});

test('tokens and keys that are refused', async () => {
  const { env } = await startEverything();
  const wrong = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      /TOKEN|KEY/.test(name) ? `${value}-of-another` : value,
    ]),
  );
  const { code, findings, of } = await examine(wrong);
  expect(code).toBe(1);
  for (const [check, setting] of [
    ['Slack bot', 'SLACK_BOT_TOKEN'],
    ['Slack app token', 'SLACK_APP_TOKEN'],
    ['Discord bot', 'DISCORD_TOKEN'],
    ['Model gateway', 'GATEWAY_API_KEY'],
    ['Monitoring service', 'MONITORING_API_KEY'],
    ['OpenAI', 'OPENAI_API_KEY'],
  ] as const) {
    expect(of(check), check).toMatchObject([
      { level: 'problem', text: expect.stringContaining(setting) },
    ]);
  }
  expect(findings.filter(({ level }) => level === 'problem')).toHaveLength(6);
});

test('a scope that is missing, an intent that is off, channels where it may not post', async () => {
  const { slack, discord, env } = await startEverything();
  slack.scopes.delete('users:read');
  slack.addChannel({ id: 'C00ELSEWHERE', member: false });
  discord.deny(discord.general, 'EmbedLinks');
  const { code, findings, of } = await examine({
    ...env,
    DISCORD_MESSAGE_CONTENT: 'true',
    ALERT_CHANNELS: `${env.ALERT_CHANNELS},slack:C00ELSEWHERE`,
  });
  expect(code).toBe(1);
  expect(of('Slack scopes')[0]?.text).toMatch(/lacks users:read\. .*install the app again/);
  expect(of('Slack C00ELSEWHERE')[0]?.text).toContain('/invite @Askwatch');
  expect(of('Discord intent')[0]?.text).toMatch(/Message Content Intent.*DISCORD_MESSAGE_CONTENT/);
  expect(of(`Discord ${discord.general.id}`)[0]?.text).toContain('lacks Embed Links.');
  expect(findings.filter(({ level }) => level === 'problem')).toHaveLength(4);
});

test('a bot that is in no server is shown the way into one', async () => {
  const { discord, env } = await startEverything();
  discord.removeBot();
  const { DISCORD_GUILD_ID: _everywhere, ...global } = env;
  const link = `client_id=${discord.bot.id}&scope=bot+applications.commands`;
  for (const given of [env, global]) {
    const { code, of } = await examine(given);
    expect([code, of('Discord server')[0]?.text]).toEqual([1, expect.stringContaining(link)]);
  }
  const askwatch = await startAskwatch({ dataDir: await temporaryFolder(), env: global });
  expect(askwatch.output()).toMatch(/^ {2}Discord +connected, but in no server; add it: https:/m);
  expect(askwatch.output()).toContain(link);
});

test('addresses where nobody answers', async () => {
  const { env } = await startEverything();
  const dead = await deadAddress();
  const { code, of } = await examine({
    ...env,
    SLACK_API_URL: dead,
    // A password in an address is one, too.
    DISCORD_API_URL: dead.replace('//', '//me:hunter2-hunter2@'),
    GATEWAY_BASE_URL: dead,
    MONITORING_BASE_URL: dead.replace('//', '//me:hunter2-hunter2@'),
    OPENAI_BASE_URL: dead,
  });
  expect(code).toBe(1);
  for (const [check, setting] of [
    ['Slack bot', 'SLACK_API_URL'],
    ['Slack app token', 'SLACK_API_URL'],
    ['Discord bot', 'DISCORD_API_URL'],
    ['Model gateway', 'GATEWAY_BASE_URL'],
    ['Monitoring service', 'MONITORING_BASE_URL'],
    ['OpenAI', 'OPENAI_BASE_URL'],
  ] as const) {
    const [{ level, text } = { level: '', text: '' }] = of(check);
    expect([check, level, text]).toEqual([check, 'problem', expect.stringContaining(setting)]);
    expect(text).toContain('ECONNREFUSED');
    expect(text).not.toContain('hunter2');
  }
});

test('addresses where a page answers, and one that sends a key on to another', async () => {
  const { env } = await startEverything();
  const page = await serve((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<html><body>Welcome ${env.SLACK_BOT_TOKEN}\u001b[2J</body></html>`);
  });
  const asked: string[] = [];
  const elsewhere = await serve((request, response) => {
    asked.push(request.url ?? '');
    response.end('{}');
  });
  const moved = await serve((_, response) => {
    response.writeHead(302, { location: elsewhere }).end();
  });
  const { code, of } = await examine({
    ...env,
    SLACK_API_URL: page,
    DISCORD_API_URL: page,
    GATEWAY_BASE_URL: page,
    MONITORING_BASE_URL: moved,
    OPENAI_BASE_URL: moved,
  });
  expect(code).toBe(1);
  expect(of('Slack bot')[0]?.text).toMatch(/^SLACK_API_URL: .*does not speak Slack/);
  expect(of('Discord bot')[0]?.text).toMatch(/DISCORD_API_URL/);
  expect(of('Model gateway')[0]?.text).toMatch(/^GATEWAY_BASE_URL: .*not JSON/);
  expect(of('Monitoring service')[0]?.text).toMatch(/^MONITORING_BASE_URL: .*redirect/);
  expect(of('OpenAI')[0]?.text).toMatch(/redirect.*OPENAI_BASE_URL/);
  expect(asked).toEqual([]);
});

test('what peers say is shown without secrets, and without what a terminal would obey', async () => {
  const { slack, env } = await startEverything();
  const echo = await serve((_, response) => {
    const message = `No key, but \u001b[2J${slack.botToken} and awm_${'x'.repeat(40)}.`;
    response.writeHead(401).end(JSON.stringify({ error: { message, type: 'hostile' } }));
  });
  const named = await serve((_, response) => {
    const name = `Hello\u001b[2J\u202e ${slack.botToken}`;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: '123456789012345678', name, flags: 0 }));
  });
  const { code, output } = await runDoctor({
    ...env,
    MONITORING_BASE_URL: echo,
    DISCORD_API_URL: named,
  });
  expect(code).toBe(1);
  expect(output).toContain('the application Hello\\u{1b}[2J\\u{202e} [secret]');
  expect(output).toMatch(/^problem +Monitoring service +MONITORING_API_KEY: .*No key/m);
  expect(output).not.toMatch(/x{40}/);
  expect(output).not.toContain('\u001b');
});

test('peers that say nothing are given up in bounded time', async () => {
  const { slack, discord, env } = await startEverything();
  const silent = await serve(() => {});
  const trickle = await serve((_, response) => void response.write('{"data":['));
  slack.fail('auth.test', { kind: 'hang' });
  discord.fail({ path: /applications/, hang: true });
  const begunMs = performance.now();
  const { code, of } = await examine({
    ...env,
    GATEWAY_BASE_URL: silent,
    MONITORING_BASE_URL: trickle,
    OPENAI_BASE_URL: trickle,
  });
  // Each is given 8 s and an area 30 s; the rest is for a machine that has others to look after.
  expect(performance.now() - begunMs).toBeLessThan(90_000);
  expect(code).toBe(1);
  for (const check of ['Slack bot', 'Discord bot', 'OpenAI']) {
    expect(of(check)[0]?.text, check).toContain('no answer within 8 s');
  }
  for (const check of ['Model gateway', 'Monitoring service']) {
    expect(of(check)[0]?.text, check).toContain('did not answer within 8 s');
  }
});

test('a clock that is an hour ahead', async () => {
  const { env } = await startEverything();
  const ahead = 'const now = Date.now; Date.now = () => now() + 3_600_000;';
  const { code, of } = await examine({
    ...env,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(ahead)}`,
  });
  expect([code, of('Clock')]).toMatchObject([
    1,
    [{ level: 'problem', text: expect.stringContaining('60 minutes ahead') }],
  ]);
});

test('settings that are wrong are told as the start tells them, and what they are is not', async () => {
  const { code, findings } = await examine({ SLACK_BOT_TOKEN: 'hunter2-hunter2', PORT: 'x' });
  const { output } = await runDoctor({ SLACK_BOT_TOKEN: 'hunter2-hunter2', PORT: 'x' });
  expect(code).toBe(1);
  expect(findings.filter(({ check }) => check === 'Settings')).toMatchObject([
    { level: 'problem', text: expect.stringMatching(/^SLACK_BOT_TOKEN: must start with xoxb-/) },
    { level: 'problem', text: expect.stringMatching(/^PORT: must be/) },
  ]);
  expect(output).toMatch(/^problem +Settings +SLACK_BOT_TOKEN: must start with/m);
  expect(output).toContain('2 problems, 1 warning.');
});

test('without anything set it warns that no model answers, and that is no failure', async () => {
  const { code, findings } = await examine({});
  expect(code).toBe(0);
  expect(findings.filter(({ level }) => level !== 'ok')).toMatchObject([
    { check: 'Model providers', level: 'warning', text: expect.stringContaining('OPENAI_API_KEY') },
  ]);
});

test('beside a running program, which it leaves alone, and on a port that is taken', async () => {
  const folder = await temporaryFolder();
  const port = new URL(await deadAddress()).port;
  const askwatch = await startAskwatch({ dataDir: folder, env: { PORT: port } });
  const lock = () => readFile(join(folder, 'data', '.lock'), 'utf8');
  const before = await lock();
  const beside = await examine({ PORT: port }, { folder });
  expect(beside.code).toBe(0);
  expect(beside.of('Program')[0]?.text).toBe(`runs as process ${askwatch.pid}`);
  expect(beside.of('Address')[0]?.text).toMatch(/^version \d\S+ answers at http/);
  expect(await lock()).toBe(before);

  const another = await examine({ PORT: port });
  expect(another.of('Address')).toMatchObject([
    {
      level: 'problem',
      text: expect.stringMatching(/^PORT: an Askwatch with another data folder/),
    },
  ]);

  await askwatch.kill();
  const after = await examine({ PORT: port }, { folder });
  expect(after.of('Program')[0]?.text).toBe('does not run');
  expect(after.of('Address')[0]).toMatchObject({ level: 'ok' });
  expect(await lock()).toBe(before);
  expect((await startAskwatch({ dataDir: folder })).pid).not.toBe(askwatch.pid);
});

/** Mounts in a name space of its own, which goes away with the child. The data folder is `$DATA_DIR`. */
const onDisk = (options: string) =>
  `exec unshare -m sh -c 'mount -t tmpfs -o ${options} tmpfs "$DATA_DIR" && exec "$@"' sh "$@"`;

function mayMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    console.log('This user may not mount a disk: the test of a full one is skipped.');
    return false;
  }
}

test.skipIf(!mayMount())(
  'a data folder on a disk that is full, nearly full or read-only',
  async () => {
    for (const [disk, level, text] of [
      ['size=512k', 'problem', /^.*\/data: the disk is full.*DATA_DIR/],
      ['size=64m', 'warning', /only 6\d MiB free/],
      ['ro', 'problem', /can only be read.*DATA_DIR/],
    ] as const) {
      const folder = await temporaryFolder();
      await mkdir(join(folder, 'data'));
      const { code, of } = await examine({}, { folder, shell: onDisk(disk) });
      expect([disk, code, of('Data folder')]).toEqual([
        disk,
        level === 'problem' ? 1 : 0,
        [{ check: 'Data folder', level, text: expect.stringMatching(text) }],
      ]);
      expect((await stat(join(folder, 'data'))).isDirectory()).toBe(true);
    }
  },
);
