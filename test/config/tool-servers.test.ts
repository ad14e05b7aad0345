// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as the file has them
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readToolServers } from '../../src/app/settings.ts';
import { secretsOf } from '../../src/clients/tool-server-values.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

async function fileOf(content: unknown): Promise<string> {
  const file = join(await temporaryFolder(), 'mcp.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const read = async (mcpServers: unknown, env: Record<string, string> = {}) =>
  await readToolServers(await fileOf({ mcpServers }), env);

/** Errors without the name of the file. */
async function problemsOf(content: unknown, env: Record<string, string> = {}) {
  const file = await fileOf(content);
  const error = await readToolServers(file, env).then(
    () => new Error('It can be read.'),
    (failure: Error) => failure,
  );
  expect(error.name).toBe('SettingsError');
  return error.message.replaceAll(`MCP_CONFIG: ${file}: `, '').split('\n');
}

test('there are none without a file', async () => {
  expect(await readToolServers(undefined, {})).toEqual([]);
});

test('are read with the variables of the environment', async () => {
  const servers = {
    github: {
      type: 'http',
      url: 'https://${HOST:-mcp.example.com}/mcp?key=${KEY}',
      headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' },
      tools: ['search', 'create', 'search'],
      writes: ['create'],
      investigate: ['search'],
      channels: ['slack:C0123', 'console:general'],
    },
    docs: { url: 'http://10.0.0.7:8080/mcp' },
  };
  const found = await read(servers, { GITHUB_TOKEN: 'ghp_1234567', KEY: 'k-123456' });
  expect(found).toEqual([
    {
      name: 'github',
      url: 'https://mcp.example.com/mcp?key=k-123456',
      headers: { authorization: 'Bearer ghp_1234567' },
      tools: ['search', 'create'],
      writes: ['create'],
      investigate: ['search'],
      channels: [
        { platform: 'slack', channel: 'C0123' },
        { platform: 'console', channel: 'general' },
      ],
    },
    {
      name: 'docs',
      url: 'http://10.0.0.7:8080/mcp',
      headers: {},
      tools: [],
      writes: undefined,
      investigate: [],
      channels: undefined,
    },
  ]);
  expect(found.flatMap(secretsOf)).toEqual(['Bearer ghp_1234567', 'ghp_1234567', 'k-123456']);
});

test.each<[string, unknown, string]>([
  [
    'a program to start',
    { command: 'npx', args: [] },
    'mcpServers.a.command: only `url` works because Askwatch starts no programs: run the server with Streamable HTTP and set its URL',
  ],
  [
    'another way to speak',
    { type: 'sse', url: 'https://a.example' },
    'mcpServers.a.type: must be "http": Askwatch speaks Streamable HTTP only',
  ],
  [
    'no address',
    {},
    'mcpServers.a.url: must be the URL of a server, such as "https://mcp.example.com/mcp"',
  ],
  [
    'an address of something else',
    { url: 'file:///etc/passwd' },
    'mcpServers.a.url: must be a URL such as https://mcp.example.com/mcp',
  ],
  [
    'a password in the address',
    { url: 'https://me:hunter2@a.example' },
    'mcpServers.a.url: must not contain a user name or password; put credentials in `headers`',
  ],
  [
    'a variable that is not set',
    { url: 'https://a.example', headers: { Authorization: 'Bearer ${NOPE}' } },
    'mcpServers.a.headers.Authorization: the environment variable NOPE is not set; set it',
  ],
  [
    'a header of two lines',
    { url: 'https://a.example', headers: { 'X-Key': 'hunter2\r\nHost: b' } },
    'mcpServers.a.headers.X-Key: must be one line of characters allowed in a header',
  ],
  [
    'a header that is none',
    { url: 'https://a.example', headers: { 'X Key': 'a' } },
    'mcpServers.a.headers.X Key: must be a valid header name',
  ],
  [
    'a header of the protocol',
    { url: 'https://a.example', headers: { 'Mcp-Session-Id': 'a' } },
    'mcpServers.a.headers.Mcp-Session-Id: remove it: the protocol itself sets this header',
  ],
  [
    'a word that is not known',
    { url: 'https://a.example', tool: ['a'] },
    'mcpServers.a: unknown field tool; remove it, or use one of type, url, headers, tools, writes, investigate, channels',
  ],
  [
    'tools that are no list',
    { url: 'https://a.example', tools: 'all' },
    'mcpServers.a.tools: must be a list of tool names, such as ["search"]',
  ],
  [
    'a write that is not among the tools',
    { url: 'https://a.example', tools: ['a'], writes: ['b'] },
    'mcpServers.a.writes: b must also be in `tools`',
  ],
  [
    'a tool to investigate with that is not among the tools',
    { url: 'https://a.example', tools: ['a'], investigate: ['b'] },
    'mcpServers.a.investigate: b must also be in `tools`',
  ],
  [
    'a tool to investigate with that changes something',
    { url: 'https://a.example', tools: ['a'], writes: ['a'], investigate: ['a'] },
    'mcpServers.a.investigate: a is in `writes`, and investigations only read; remove it from one',
  ],
  [
    'tools to investigate with that are no list',
    { url: 'https://a.example', tools: ['a'], investigate: true },
    'mcpServers.a.investigate: must be a list of tool names, such as ["search"]',
  ],
  [
    'a channel of no platform',
    { url: 'https://a.example', channels: ['irc:a'] },
    "mcpServers.a.channels: 'irc:a' must look like one of",
  ],
  ['no object', 'https://a.example', 'mcpServers.a: must be an object'],
])('%s is told with its place and what to write', async (_, entry, problem) => {
  const problems = await problemsOf({ mcpServers: { a: entry } });
  expect(problems).toEqual([expect.stringContaining(problem)]);
  expect(problems.join('')).not.toContain('hunter2');
});

test.each(['A', 'a__b', '_a', 'a-', 'a b', '', 'a'.repeat(33)])(
  '%j is no name of a server',
  async (name) => {
    const problems = await problemsOf({ mcpServers: { [name]: { url: 'https://a.example' } } });
    expect(problems).toEqual([expect.stringContaining('the name must be lowercase letters')]);
  },
);

test('everything that is wrong is told at once', async () => {
  const problems = await problemsOf({
    mcpServers: {
      a: { command: 'x' },
      b: { url: 'x' },
      c: { url: 'https://a.example', tools: [7] },
    },
  });
  expect(problems.map((one) => one.split(':')[0])).toEqual([
    'mcpServers.a.command',
    'mcpServers.b.url',
    'mcpServers.c.tools.0',
  ]);
});

test('too many servers or tools are refused', async () => {
  const many = Array.from({ length: 17 }, (_, at) => [
    `a${at}`,
    { url: 'https://a.example', tools: ['a', 'b', 'c', 'd', 'e', 'f'] },
  ]);
  expect(await problemsOf({ mcpServers: Object.fromEntries(many) })).toEqual([
    'mcpServers: must have at most 16 servers',
    'mcpServers: all servers together must have at most 100 `tools`',
  ]);
});

test('a file that cannot be read is told without what stands in it', async () => {
  const missing = readToolServers('/nowhere/mcp.json', {});
  await expect(missing).rejects.toThrow(
    'MCP_CONFIG: /nowhere/mcp.json: cannot be read (no such file); name another file, or unset MCP_CONFIG',
  );
  expect(
    await problemsOf('{\n"mcpServers": {\n "a": {"headers": {"k": "hunter2", oops}}\n}}'),
  ).toEqual([expect.stringMatching(/^is not valid JSON(: see line 3)?$/)]);
  expect(await problemsOf('[]')).toEqual([
    'mcpServers: must be an object that maps names to servers',
  ]);
  expect(await problemsOf({ servers: {} })).toEqual([
    'mcpServers: must be an object that maps names to servers',
  ]);
  expect(await problemsOf('x'.repeat(1_100_000))).toEqual([
    expect.stringContaining('larger than 1 MB'),
  ]);
});

test('the page on it shows a file that can be read, and explains each field', async () => {
  const page = await readFile(new URL('../../docs/mcp.md', import.meta.url), 'utf8');
  const section = page.split("## Other people's tools\n")[1]?.split(/^## /m)[0] ?? '';
  const example = section.match(/```json\n(.*?)```/s)?.[1] ?? '';
  const found = await readToolServers(await fileOf(example), { ISSUES_TOKEN: 'tok_1234567' });
  expect(found.map(({ name, tools }) => [name, tools])).toEqual([
    ['issues', ['search_issues', 'create_issue']],
    ['runbooks', ['find']],
  ]);
  const problems = await problemsOf({ mcpServers: { a: { url: 'https://a.example', other: 1 } } });
  const fields = problems[0]?.split('use one of ')[1]?.split(', ');
  const explained = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, field]) => field);
  expect(explained).toEqual(fields);
});
