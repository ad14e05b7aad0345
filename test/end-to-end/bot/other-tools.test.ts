import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { startRawToolServer } from '../../fakes/tool-server.ts';
import { callOf } from '../../helpers/bot/other-tools.ts';
import { spawnAskwatch, startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const TOKEN = 'tok-0123456789abcdef';

/** The program's environment with a file of servers that has its token from a variable. */
async function withServers(dataDir: string, mcpServers: object) {
  const file = join(dataDir, 'mcp.json');
  await writeFile(file, JSON.stringify({ mcpServers }));
  return { MCP_CONFIG: file, ISSUES_TOKEN: TOKEN };
}

/** The files of the program that a process had loaded when it ended. */
async function loadedIn(folder: string) {
  const [name = ''] = await readdir(folder);
  const { result } = JSON.parse(await readFile(join(folder, name), 'utf8')) as {
    result: Array<{ url: string }>;
  };
  return result.map(({ url }) => url.split('/').at(-1) ?? '');
}

test('the MCP client is loaded only if a server is configured', async () => {
  const server = await startRawToolServer(() => undefined);
  for (const hasServer of [false, true]) {
    const dataDir = await temporaryFolder();
    const folder = join(dataDir, 'coverage');
    const servers = await withServers(dataDir, { docs: { url: server.url, tools: ['look'] } });
    const askwatch = await startAskwatch({
      dataDir,
      env: { NODE_V8_COVERAGE: folder, ...(hasServer && servers) },
    });
    if (hasServer)
      await eventually(() => server.messages.some(({ method }) => method === 'tools/list'));
    expect(await askwatch.stop()).toBe(0);
    const loaded = await loadedIn(folder);
    expect(loaded.some((name) => name.startsWith('main'))).toBe(true);
    expect(loaded.some((name) => name.startsWith('tool-server-connection'))).toBe(hasServer);
  }
});

test('a file that is wrong ends the start with where and what', async () => {
  const dataDir = await temporaryFolder();
  const env = await withServers(dataDir, { a: { command: 'npx' } });
  const child = spawnAskwatch({ dataDir, env });
  expect(await child.exit).toBe(1);
  expect(child.output()).toContain(
    `MCP_CONFIG: ${env.MCP_CONFIG}: mcpServers.a.command: only \`url\` works`,
  );
});

test('Slack hears what other servers say, changes something there once, and waits for none that hangs', async () => {
  const slack = await startSlack();
  const provider = await startModelProvider({ models: ['gpt-5.6-luna'] });
  onTestFinished(() => provider.close());
  const hanging = await startRawToolServer(() => true);
  let isHeld = true;
  const server = await startRawToolServer(
    ({ method, params }) =>
      (isHeld && method === 'tools/call' && params.name === 'create') || undefined,
    {
      tools: [{ name: 'look', annotations: { readOnlyHint: true } }, { name: 'create' }],
      call: () => ({ content: [{ type: 'text', text: `7 open, says ${TOKEN}. <!channel>` }] }),
    },
  );
  const dataDir = await temporaryFolder();
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable as the file has it
  const headers = { authorization: 'Bearer ${ISSUES_TOKEN}' };
  const env = {
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
    SLACK_API_URL: slack.apiUrl,
    OPENAI_API_KEY: provider.apiKey,
    OPENAI_BASE_URL: `${provider.url}/v1`,
    WHO_MAY_MANAGE: 'everyone',
    ...(await withServers(dataDir, {
      issues: { url: server.url, headers, tools: ['look', 'create'] },
      hanging: { url: hanging.url, tools: ['look'] },
    })),
  };
  const askwatch = await startAskwatch({ dataDir, env });
  await eventually(() => server.messages.some(({ method }) => method === 'tools/list'));
  const calling =
    (name: string) => (body: { messages: Array<{ role: string; content: string }> }) => {
      const last = body.messages.at(-1);
      return last?.role === 'tool'
        ? `Told: ${last.content}`
        : { calls: [callOf(name, { title: 'a' })] };
    };
  provider.answerWith(calling('issues__look'));
  const asked = slack.mention('how many issues are open?');
  const thread = () => slack.thread(CHANNEL, asked).map(shownText).join('\n');
  await eventually(() => thread().includes('7 open'));
  await eventually(() => thread().includes('look from issues'));
  expect(thread()).not.toContain('<!channel>');
  expect(server.headers.at(-1)?.authorization).toBe(`Bearer ${TOKEN}`);

  provider.answerWith(calling('issues__create'));
  const wanted = slack.mention('open an issue');
  const card = await eventually(() =>
    slack.thread(CHANNEL, wanted).find((message) => labelsOf(message).includes('Call')),
  );
  expect(shownText(card)).toContain('"title": "a"');
  const calls = () =>
    server.messages.filter(
      ({ method, params }) => method === 'tools/call' && params.name === 'create',
    );
  expect(calls()).toEqual([]);
  void slack.press('Call', { ts: card.ts });
  await eventually(() => calls().length === 1);
  await askwatch.kill();
  isHeld = false;
  const next = await startAskwatch({ dataDir, env });
  void slack.press('Call', { ts: card.ts });
  const told = () =>
    [...slack.channel(CHANNEL).messages, ...slack.channel(CHANNEL).ephemerals].map(shownText);
  await eventually(() => told().some((text) => text.includes('started before and interrupted')));
  expect(calls()).toHaveLength(1);
  expect(await next.stop()).toBe(0);
  const said = [
    askwatch.output(),
    next.output(),
    ...told(),
    JSON.stringify(provider.calls.map(({ body }) => body)),
  ];
  expect(said.filter((text) => text.includes(TOKEN))).toEqual([]);
});
