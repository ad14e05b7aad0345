import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/app/settings.ts';
import { checkToolServers } from '../../src/cli/doctor-tools.ts';
import { startRawToolServer, startToolServer } from '../fakes/tool-server.ts';
import { otherServer, startBotWithTools, untilOffered } from '../helpers/bot/other-tools.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { folderOfFiles } from '../helpers/test-store.ts';

const LOOK = { name: 'look', annotations: { readOnlyHint: true } };

async function examine(mcpServers: unknown, env: NodeJS.ProcessEnv = {}) {
  const file = join(await temporaryFolder(), 'mcp.json');
  await writeFile(file, JSON.stringify({ mcpServers }));
  const settings = readSettings({ MCP_CONFIG: file, ...env });
  const findings = await checkToolServers(settings, '1.2.3');
  return findings.map(
    ({ level, check, text }) => `${level} ${check}: ${text.replace(file, 'FILE')}`,
  );
}

test('nothing is said where no server is set up', async () => {
  expect(await checkToolServers(readSettings({}), '1.2.3')).toEqual([]);
  expect(await examine({})).toEqual(['warning MCP servers: MCP_CONFIG: the file lists no servers']);
  expect(await examine({ a: { command: 'x' } }, { ASKWATCH_ROLES: 'gateway' })).toEqual([]);
});

test('what is wrong in the file is told with its place', async () => {
  expect(await examine({ a: { command: 'x' }, b: { url: 'x' } })).toEqual([
    expect.stringMatching(
      /^problem MCP servers: MCP_CONFIG: FILE: mcpServers\.a\.command: only `url` works/,
    ),
    expect.stringMatching(
      /^problem MCP servers: MCP_CONFIG: FILE: mcpServers\.b\.url: must be a URL/,
    ),
  ]);
});

test('a server that answers is told with what of it is on, and what is amiss', async () => {
  const server = await startToolServer({
    tools: [
      LOOK,
      { ...LOOK, name: 'besides' },
      { ...LOOK, name: 'huge', inputSchema: { type: 'object', a: 'x'.repeat(20_000) } },
    ],
  });
  expect(await examine({ docs: { url: server.url, tools: ['look', 'gone', 'huge'] } })).toEqual([
    `ok MCP server docs: answers at ${server.url}; 3 tools, 1 of them on`,
    "warning MCP server docs: gone: not found on the server; remove from `tools`, or ask the server's operator.",
    'warning MCP server docs: huge: not usable because the schema is too long, too deep or missing.',
  ]);
  expect(await examine({ docs: { url: server.url } })).toEqual([
    `ok MCP server docs: answers at ${server.url}; 3 tools, 0 of them on`,
    'warning MCP server docs: None of its tools are on. Add some to `tools`: look, besides, huge.',
  ]);
});

test('a tool that may change something is named if investigations should use it', async () => {
  const server = await startToolServer({ tools: [LOOK, { name: 'deploy' }] });
  const tools = ['look', 'deploy'];
  const docs = { url: server.url, tools, investigate: tools };
  expect(await examine({ docs })).toEqual([
    expect.stringContaining('2 of them on'),
    'warning MCP server docs: deploy: may change something, so investigations can’t use it; list the tools that do in `writes`.',
  ]);
  expect(await examine({ docs: { ...docs, writes: [] } })).toHaveLength(1);
});

test('a server that does not is a problem, with what to look at and without its token', async () => {
  const refusing = await startRawToolServer((_, response) => {
    response.writeHead(401).end();
    return true;
  });
  const gone = await startRawToolServer(() => undefined);
  await gone.close();
  const headers = { authorization: 'Bearer hunter2-hunter2' };
  const found = await examine({
    refusing: { url: refusing.url, headers, tools: ['look'] },
    gone: { url: `${gone.url}?key=hunter2-hunter2`, tools: ['look'] },
  });
  expect(found).toEqual([
    'problem MCP server refusing: refusing answered with status 401. Check its `headers` in the file of MCP_CONFIG.',
    expect.stringMatching(
      /^problem MCP server gone: gone could not be reached: .* Check its `url`/,
    ),
  ]);
  expect(found.join()).not.toContain('hunter2');
});

test('what changed since the program saw it is told, and nothing is written', async () => {
  const server = await startToolServer({ tools: [LOOK] });
  const folder = await folderOfFiles();
  const bot = await startBotWithTools([otherServer('docs', { url: server.url, tools: ['look'] })], {
    folder,
  });
  await untilOffered(bot, 'docs__look');
  const docs = { url: server.url, tools: ['look'] };
  // Also while the program uses the folder.
  expect(await examine({ docs }, { DATA_DIR: folder })).toEqual([
    expect.stringMatching(/^ok .* 1 of them on$/),
  ]);
  await bot.stop();
  server.offer.tools = [{ ...LOOK, description: 'Another.' }];
  const changed = [
    expect.stringMatching(/^ok .* 0 of them on$/),
    'warning MCP server docs: look: changed, so off until someone accepts the change with /askwatch tools.',
  ];
  expect(await examine({ docs }, { DATA_DIR: folder })).toEqual(changed);
  expect(await examine({ docs }, { DATA_DIR: folder })).toEqual(changed);
});

test('headers that travel unencrypted are told, also of a server that does not answer', async () => {
  const docs = { url: 'http://tools.invalid/mcp', headers: { authorization: 'Bearer a' } };
  expect(await examine({ docs })).toEqual([
    expect.stringMatching(/^problem MCP server docs: docs could not be reached: /),
    'warning MCP server docs: Its headers are sent unencrypted. Use https if anyone else can read the traffic.',
  ]);
  expect(await examine({ docs: { url: docs.url } })).toEqual([expect.stringMatching(/^problem /)]);
});
