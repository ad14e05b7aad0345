import { execFileSync } from 'node:child_process';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { examine, runDoctor, startEverything } from '../helpers/end-to-end/run-doctor.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

/** Starts a scripted server and returns its address. */
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
  expect(of('Slack scopes')[0]?.text).toMatch(/lacks users:read\. .*reinstall the app/);
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
  expect(askwatch.output()).toMatch(
    /^ {2}Discord +connected, but not in any server; add it: https:/m,
  );
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

test('doctor warns without settings that no model answers, and exits with 0', async () => {
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
  expect(beside.of('Program')[0]?.text).toBe(`running as process ${askwatch.pid}`);
  expect(beside.of('Address')[0]?.text).toMatch(/^version \d\S+ answers at http/);
  expect(await lock()).toBe(before);

  const elsewhere = await startAskwatch({ dataDir: await temporaryFolder() });
  const taken = new URL(elsewhere.url).port;
  const otherPort = await examine({ PORT: taken }, { folder });
  expect(otherPort.of('Address').map(({ text }) => text)).toEqual([
    expect.stringMatching(`^version \\d\\S+ answers at ${askwatch.url}$`),
    `Askwatch is running at ${askwatch.url}, but PORT is ${taken} here. Use the settings that it was started with.`,
  ]);

  const another = await examine({ PORT: port });
  expect(another.of('Address')).toMatchObject([
    {
      level: 'problem',
      text: expect.stringMatching(/^PORT: an Askwatch with another data folder/),
    },
  ]);

  await askwatch.kill();
  const after = await examine({ PORT: port }, { folder });
  expect(after.of('Program')[0]?.text).toBe('not running');
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
      ['ro', 'problem', /disk is read-only.*DATA_DIR/],
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
