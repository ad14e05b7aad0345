import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { InteractionOutcome, Message } from '../../src/console/shared/api-types.ts';
import { CURSOR_HEADER } from '../../src/contracts/monitoring-additions.ts';
import { openTab, repliesOf, type Tab } from '../helpers/console/test-console.ts';
import { sharedAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { writeWatchedPast } from '../helpers/end-to-end/watched-past.ts';
import { eventually } from '../helpers/eventually.ts';
import { type AtEnd, temporaryFolder } from '../helpers/temporary-folder.ts';

const ROOT = new URL('../../', import.meta.url);

const PAGES = [
  'README.md',
  ...readdirSync(new URL('docs/', ROOT))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Monitors that the examples of the documentation are about. */
const MONITORS = ['Database', 'Blog', 'Payments', 'My service', 'Queue'];

/** Commands that must fail here, each with the reason: they also show that a failure is noticed. */
const REFUSED = new Map([
  ['/askwatch forget', 'has to be typed in a thread'],
  ['/askwatch greet Ada', 'hello-world.md adds this command; a test of its own tries it'],
  ['/monitor resume Shop', 'needs a paused monitor'],
  ...['', ' after=5m', ' budget=100k/day', ' tags=shop,eu'].map(
    (more) =>
      [`/monitor investigate on${more}`, 'needs a model: bot/investigations.test.ts'] as const,
  ),
  [
    '/monitor alerts on shop via=https://hooks.example.com/services/T0/B1/abcdefgh1234',
    'the host of the webhook doesn’t exist',
  ],
  [
    '/monitor alerts on fallback=https://ntfy.example.com/your-topic#ntfy',
    'the host of the webhook doesn’t exist',
  ],
]);

/** Questions that only a model can answer; the answer says so. */
const FOR_A_MODEL = new Set([
  '/ask why is the sky blue',
  '/ask model=long-200k summarise the incident rules',
  '/ask private=true what does ECONNRESET mean?',
  '/ask which open issues mention the checkout?',
]);

/** The files that the examples name; a page that shows monitors.yaml has its own. */
const FILES = {
  'monitors.yaml': `monitors:
  shop: {target: "https://example.com", check_type: HTTP}
`,
  'gatus.yaml': `endpoints:
  - name: website
    group: core
    url: https://example.org
    interval: 30s
    conditions: ["[STATUS] == 200", "[BODY] == pat(*Example*)", "[RESPONSE_TIME] < 500"]
`,
  'targets.json': '[{"targets": ["db.example.com:5432"]}]',
  'monitors.csv': `Type,Friendly Name,URL/IP
HTTP,Shop,https://example.com
`,
};

/** Sessions that need another world than this test has, by page and command, with the place that tries them. */
const ELSEWHERE = new Map([
  [/npm |askwatch start|ASKWATCH_ROLES| PORT=/, 'programs that start: test/end-to-end'],
  [/move-state/, 'needs PostgreSQL: test/cli/move-state.slow.test.ts'],
  [
    /monitors apply|troubleshooting.md npx askwatch monitors plan/,
    'needs MONITORS_FILE: test/end-to-end/monitors',
  ],
  [/chek_type/, 'needs a file with mistakes: test/monitoring/provisioning'],
  [/keys usage|cat feedback/, 'need past usage: test/end-to-end/keys.test.ts, feedback.test.ts'],
  [
    /(?:behind-a-proxy|several-processes|scale-out|troubleshooting|use-other-tools)\.md npx askwatch doctor/,
    'other settings: test/cli/doctor*.test.ts',
  ],
  [/import kuma/, 'needs a database: test/cli/import/kuma.test.ts'],
  [/claude mcp add|evals|openapi-typescript/, 'other programs: run by hand'],
]);

const askwatch = sharedAskwatch(async (atEnd, dataDir) => {
  const target = await startTarget(atEnd);
  await writeWatchedPast(`${dataDir}/data`, { target, atEnd });
  return {
    MONITOR_ALLOW_PRIVATE: '127.0.0.0/8,10.0.0.0/24',
    ALERTMANAGER_URL: 'http://alertmanager:9093,http://alertmanager-2:9093',
    ALERT_POLL_SECONDS: '1',
  };
});

test('every chat command that the documentation shows works when it is typed', {
  timeout: 300_000,
}, async () => {
  const tab = await openTab(askwatch().url);
  for (const name of ['oncall', 'ops']) await tab.tell('channels', { name });
  await tab.tell('name', { name: 'alice' });
  await tab.say('hello');
  for (const [index, name] of MONITORS.entries()) {
    await typeInto(tab, `/monitor add http://127.0.0.${index + 2}:9 name="${name}" tags=shop,eu`);
  }

  await typeInto(tab, '/monitor add nightly-backup type=HEARTBEAT name="Nightly backup"');

  const shown = new Map(PAGES.flatMap((page) => commandsOf(page).map((text) => [text, page])));
  const failed: string[] = [];
  for (const [text, page] of shown) {
    const problem = problemIn(text, await typeInto(tab, text));
    if ((problem !== undefined) !== REFUSED.has(text)) {
      failed.push(`${page}: ${text}\n  ${problem ?? 'worked, but is listed in REFUSED'}`);
    }
  }
  expect(failed).toEqual([]);
  expect([...REFUSED.keys(), ...FOR_A_MODEL].filter((text) => !shown.has(text))).toEqual([]);
  expect(shown.size).toBeGreaterThan(40);
});

test('every shell session that the documentation shows runs and prints that', {
  timeout: 300_000,
}, async () => {
  const shell = await openShell();
  const sessions = PAGES.flatMap(sessionsOf).filter(
    ({ page, command, output }) =>
      ![...ELSEWHERE.keys()].some((pattern) => pattern.test(`${page} ${command} ${output[0]}`)),
  );
  const failed: string[] = [];
  for (const session of sessions) {
    const { printed, code } = await shell.run(session);
    const missing = session.output.filter((line) => !patternOf(line).test(printed));
    // 2 says that a plan would change something.
    const hasFailed = code !== 0 && !(code === 2 && session.command.includes('monitors plan'));
    const isRefused = /"error":/.test(printed) && !session.output.join().includes('"error":');
    if (missing.length > 0 || hasFailed || isRefused) {
      failed.push(
        `${session.page}: ${session.command}\n  not: ${missing.join('\n  ')}\n  but (${code}): ${printed.slice(0, 1500)}`,
      );
    }
  }
  expect(failed).toEqual([]);
  expect(sessions.length).toBeGreaterThan(30);
});

/**
 * Commands of a page with concrete values: lines of code, and code within a line. Patterns such as `<monitor>` and
 * the generated table, which shows only these, are left out.
 */
function commandsOf(page: string): string[] {
  const text = readFileSync(new URL(page, ROOT), 'utf8');
  const withoutTable = text.replace(/<!-- table -->.*<!-- \/table -->/s, '');
  const fences = [...withoutTable.matchAll(/^ *```\w*\n(.*?)^ *```$/gms)];
  const lines = fences.flatMap(([, code = '']) => code.split('\n'));
  const inline = withoutTable.replace(/^ *```.*?^ *```$/gms, '').matchAll(/`([^`]+)`/g);
  return [...lines, ...[...inline].map(([, code = '']) => code)]
    .map((line) => line.trim())
    .filter((line) => /^\/(?:ask|monitor|askwatch) \w/.test(line) && !/[<…]/.test(line));
}

/** Types a line in the channel and returns the message that it leads to, once that is whole; none for a form. */
async function typeInto(tab: Tab, text: string): Promise<Message | undefined> {
  const outcome = await tab.say(text);
  if (outcome.shown !== 'channel' && outcome.shown !== 'thread') return undefined;
  return await eventually(async () => {
    const message = await messageOf(tab, outcome);
    return message && !(message.body.kind === 'answer' && message.body.growing) && message;
  });
}

async function messageOf(tab: Tab, outcome: InteractionOutcome & { message: string }) {
  const listed = tab.heard
    .flatMap((event) => (event.kind === 'message' ? [event.listed.message] : []))
    .findLast(({ id }) => id === outcome.message);
  if (listed && listed.author.kind === 'askwatch') return listed;
  const replies = await repliesOf(askwatch().url, outcome.message, tab.cookie);
  return replies.findLast(({ author }) => author.kind === 'askwatch');
}

/** The reason a command failed, or a question was not understood. */
function problemIn(text: string, message: Message | undefined): string | undefined {
  if (message?.body.kind === 'card') {
    const { card } = message.body;
    const hasFailed = /did(?: not|n’t|n't) work|^I don't know /.test(card.title);
    return hasFailed ? JSON.stringify(card).slice(0, 400) : undefined;
  }
  if (message?.body.kind !== 'answer') return undefined;
  const { footer = '', text: answer } = message.body;
  const needsModel = /\blanguage model\b/.test(answer);
  const isExpected = footer.startsWith('rules, ') && needsModel === FOR_A_MODEL.has(text);
  return isExpected ? undefined : answer;
}

/** A command that a page shows in a shell, with the output that it shows. */
interface Session {
  page: string;
  command: string;
  output: string[];
}

/** Commands of a page behind `$ `, with continued lines, and bare lines of `npx askwatch`. */
function sessionsOf(page: string): Session[] {
  const text = readFileSync(new URL(page, ROOT), 'utf8');
  const sessions: Session[] = [];
  for (const [, indent = '', code = ''] of text.matchAll(/^( *)```\w*\n(.*?)^ *```$/gms)) {
    let current: Session | undefined;
    let isOpen = false;
    for (const indented of code.split('\n')) {
      const line = indented.slice(indent.length);
      const isCommand = /^(?:\$ |npx askwatch )/.test(line);
      if (isOpen && current) current.command += `\n${line}`;
      else if (isCommand) {
        current = { page, command: line.replace(/^\$ /, ''), output: [] };
        sessions.push(current);
      } else if (line !== '') current?.output.push(line);
      isOpen = current !== undefined && !isComplete(current.command);
    }
  }
  return sessions;
}

/** A shell would run it as it is: no quote is open, and no line is continued. */
const isComplete = (command: string) =>
  !command.endsWith('\\') && command.split("'").length % 2 === 1;

/**
 * A line of output as a pattern: `…` stands for anything, and figures, ids, keys, paths and times differ from run to
 * run. Of JSON the names of the fields count, of a table of keys the heading.
 */
function patternOf(line: string): RegExp {
  if (/^(?:data: )?\{/.test(line)) {
    const names = [...line.matchAll(/"(\w+)":/g)].map(([, name = '']) => `(?=[^]*"${name}\\\\?":)`);
    return new RegExp(names.join(''));
  }
  if (/^(?:gateway|monitoring) {2}/.test(line)) return /^/;
  const pattern = line
    .trim()
    .replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    .replace(/\/\S*\/data\b/g, '\\S+')
    .replace(/mon_\w+|aw[gm]_\w+|chatcmpl-\w+/g, '\\S+?')
    .replace(/\b(?=\w*[a-z])(?=\w*[A-Z])\w{8}\b/g, '\\w+')
    .replace(/\d+(?:\\\.\d+)?/g, '[\\d.]+')
    .replace(/\s+/g, '\\s+')
    .replace(/…/g, '[^]*?');
  return new RegExp(pattern);
}

/** A shell in a folder with the files of the examples, in which `npx askwatch` is the built program. */
async function openShell() {
  const folder = await temporaryFolder();
  const bin = `${folder}/bin`;
  await mkdir(bin);
  const cli = fileURLToPath(new URL('dist/cli.js', ROOT));
  for (const [name, skipped] of [
    ['npx', 'shift'],
    ['askwatch', ':'],
  ] as const) {
    await writeFile(`${bin}/${name}`, `#!/bin/sh\n${skipped}\nexec ${cli} "$@"\n`, { mode: 0o755 });
  }
  for (const [name, text] of Object.entries(FILES)) await writeFile(`${folder}/${name}`, text);
  const { url, dataDir } = askwatch();
  const monitoringKey = await askwatch().createKey('monitoring');
  const tab = await openTab(url);
  await tab.say('hello');
  const tokenOf = async (kind: string) => {
    const card = await typeInto(tab, `/monitor intake add ${kind} Docs ${kind}`);
    return /(?:hooks\/generic\/|"text":")([\w-]{30,})/.exec(JSON.stringify(card?.body))?.[1] ?? '';
  };
  const tokens = { generic: await tokenOf('generic'), pagerduty: await tokenOf('pagerduty') };
  const list = await fetch(`${url}/api/v1/public/monitors`, {
    headers: { 'x-api-key': monitoringKey },
  });
  const { monitors } = (await list.json()) as { monitors: Array<{ id: string }> };
  const ids = new Map<string, string>();
  const run = async (command: string) =>
    await promisify(execFile)('sh', ['-c', command], {
      cwd: folder,
      env: {
        PATH: `${bin}:${process.env.PATH}`,
        DATA_DIR: `${dataDir}/data`,
        PORT: new URL(url).port,
      },
    }).then(
      ({ stdout, stderr }) => ({ printed: stdout + stderr, code: 0 }),
      ({ stdout, stderr, code }: { stdout: string; stderr: string; code: number }) => ({
        printed: stdout + stderr,
        code,
      }),
    );
  /** The page that has the current key. */
  let page = '';
  let gatewayKey = '';
  let keyId = '';
  return {
    async run(session: Session) {
      if (session.page !== page && /awg_…|ZRWsNBZz|6fT2kQ9x/.test(session.command)) {
        page = session.page;
        const { printed: made } = await run(
          'npx askwatch keys create --service gateway --name "ci job" --requests-per-minute 30 --tokens-per-day 200000',
        );
        keyId = /key (\w+)/.exec(made)?.[1] ?? '';
        gatewayKey = made.trim().split('\n').at(-1) ?? '';
      }
      const text = readFileSync(new URL(session.page, ROOT), 'utf8');
      const own = /```yaml\n((?:#.*\n|\n)*monitors:\n.*?)^```$/ms.exec(text)?.[1];
      await writeFile(`${folder}/monitors.yaml`, own ?? FILES['monitors.yaml']);
      const command = session.command
        .replaceAll(/http:\/\/127\.0\.0\.1:3000|https:\/\/askwatch\.example\.com/g, url)
        .replaceAll('awg_…', gatewayKey)
        .replaceAll('awm_…', monitoringKey)
        .replaceAll('AS8H…', list.headers.get(CURSOR_HEADER) ?? '')
        .replaceAll('<token>', session.command.includes('/v2/') ? tokens.pagerduty : tokens.generic)
        .replaceAll(/ZRWsNBZz|6fT2kQ9x/g, keyId)
        .replaceAll(/mon_\w{16}/g, (id) => {
          if (!ids.has(id)) ids.set(id, monitors[ids.size]?.id ?? '');
          return ids.get(id) ?? '';
        })
        .replace(/^curl /, 'curl -sS ');
      return await run(command);
    },
  };
}

async function startTarget(atEnd: AtEnd): Promise<string> {
  const server = createServer((_request, response) => response.end('Cart'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
