import { writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../src/app/settings.ts';
import { checkConsole, checkProxies } from '../../src/cli/doctor-console.ts';
import { createProbe, readClock } from '../../src/cli/doctor-fetch.ts';
import { checkClock, checkNode } from '../../src/cli/doctor-machine.ts';
import { checkProviders } from '../../src/cli/doctor-providers.ts';
import type { ProviderSettings } from '../../src/gateway/providers/providers.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Findings about providers with these responses. */
async function providers(
  given: ProviderSettings | ((baseUrl: string) => ProviderSettings),
  status: number,
  body: string,
  env: NodeJS.ProcessEnv = {},
) {
  const asked: string[] = [];
  const baseUrl = await serve((request, response) => {
    asked.push(
      `${request.method} ${request.url} ${request.headers.authorization ?? request.headers['x-api-key']}`,
    );
    response.writeHead(status).end(body);
  });
  const settings = {
    ...readSettings(env),
    providers: typeof given === 'function' ? given(baseUrl) : given,
  };
  const findings = await checkProviders(settings, createProbe());
  return { findings, asked };
}

const apiKey = 'key-0123456789';

test.each([
  [
    200,
    '{"data":[{"id":"gpt-5.6-luna"},{"id":"gpt-5.6-terra"},{"id":"gpt-5.6-sol"}]}',
    'ok',
    'accepts the key',
  ],
  [200, '{"data":[]}', 'warning', 'lists no chat model'],
  [200, '<html>', 'problem', 'web page answered instead of an API'],
  [401, '{}', 'problem', 'OpenAI rejected the API key (401). Check OPENAI_API_KEY.'],
  [403, '{}', 'problem', 'OpenAI denied access (403). Check OPENAI_API_KEY'],
  [404, '{}', 'warning', 'was not tested'],
  [429, '{}', 'warning', 'is rate limiting'],
  [429, '{"error":{"code":"insufficient_quota","message":"no"}}', 'problem', 'no credit left'],
  [503, '{}', 'warning', '(503)'],
])('a provider that answers %s %s', async (status, body, level, text) => {
  const { findings, asked } = await providers(
    (baseUrl) => ({ openai: { apiKey, baseUrl } }),
    status,
    body,
  );
  expect(findings).toEqual([{ check: 'OpenAI', level, text: expect.stringContaining(text) }]);
  expect(asked).toEqual([`GET /models Bearer ${apiKey}`]);
});

test('a service at OPENAI_BASE_URL that has other names than the catalog', async () => {
  const list = '{"data":[{"id":"small"},{"id":"llama-70b","max_model_len":8192}]}';
  const given = (baseUrl: string) => ({ openai: { apiKey, baseUrl } });
  const shipped = await providers(given, 200, list);
  expect(shipped.findings).toEqual([
    {
      check: 'OpenAI',
      level: 'ok',
      text: expect.stringMatching(
        /^accepts the key\. .*llama-70b \(8192 tokens of context\) answers for all 9/,
      ),
    },
  ]);
  const file = join(await temporaryFolder(), 'catalog.json');
  const upstreams = [{ provider: 'openai', model: 'gpt-9' }];
  const models = [{ id: 'mine', kind: 'text', context_length: 1000, upstreams }];
  await writeFile(file, JSON.stringify({ models }));
  const own = await providers(given, 200, list, { ASKWATCH_CATALOG: file });
  expect(own.findings[1]).toMatchObject({
    level: 'problem',
    text: expect.stringMatching(/does not list gpt-9, .* for mine\. .* llama-70b, small/),
  });
});

test('each provider is called with its own headers and path, and its refusal is shown in its own words', async () => {
  const own = (baseUrl: string) => ({
    anthropic: { apiKey, baseUrl },
    openrouter: { apiKey, baseUrl },
  });
  expect((await providers(own, 200, '{}')).asked.sort()).toEqual([
    `GET /key Bearer ${apiKey}`,
    `GET /models ${apiKey}`,
  ]);
  const refusal =
    '[{"error":{"code":400,"message":"API key not valid. Please pass a valid one."}}]';
  const gemini = await providers((baseUrl) => ({ gemini: { apiKey, baseUrl } }), 400, refusal);
  expect(gemini.findings[0]).toMatchObject({
    level: 'problem',
    text: expect.stringMatching(/rejected the API key .* Check GEMINI_API_KEY\.$/),
  });
});

test('an Ollama that is set is reported, whether it answers or not', async () => {
  const list = '{"data":[{"id":"llama3.2"},{"id":"nomic-embed-text"}]}';
  const there = await providers((baseUrl) => ({ ollama: { baseUrl } }), 200, list);
  expect(there.findings).toEqual([
    { check: 'Ollama', level: 'ok', text: 'running; 1 chat model' },
    {
      check: 'Model catalog',
      level: 'warning',
      text: expect.stringMatching(/'vision-16k'.* set OPENAI_API_KEY, ANTHROPIC_API_KEY or/),
    },
  ]);
  const asked = await providers((baseUrl) => ({ ollama: { baseUrl } }), 200, list, {
    ASK_MODEL: 'vision-16k',
  });
  expect(asked.findings[1]).toMatchObject({
    level: 'problem',
    text: expect.stringMatching(/^ASK_MODEL: .*OPENAI_API_KEY/),
  });
  const away = await providers((baseUrl) => ({ ollama: { baseUrl } }), 500, '');
  expect(away.findings[0]).toMatchObject({
    level: 'problem',
    text: expect.stringContaining('OLLAMA_BASE_URL'),
  });
});

const NOW = Date.parse('2026-11-22T10:00:00Z');
const date = (offsetMs: number) => ({ date: new Date(NOW + offsetMs).toUTCString() });

test.each([
  ['the same second', date(0), 0, 0],
  ['a second that had begun', date(-1_000), 0, 0],
  ['a long trip explains it', date(-9_000), 8_000, 0],
  ['we are ahead', date(-3_600_000), 2_000, 3_597_000],
  ['we are behind', date(3_600_000), 2_000, -3_600_000],
  ['an answer that somebody kept', { ...date(-3_600_000), age: '3600' }, 0, undefined],
  ['no time', {}, 0, undefined],
  ['no time that can be read', { date: 'tomorrow' }, 0, undefined],
])('the clock of an answer: %s', (_, headers, tripMs, skewMs) => {
  expect(readClock(new Headers(headers as Record<string, string>), tripMs, NOW)).toBe(skewMs);
});

test('the clock check trusts the majority of servers, and other machines before this one', () => {
  const level = (...readings: [skewMs: number, near?: boolean][]) =>
    checkClock(readings.map(([skewMs, near = false]) => ({ skewMs, near }))).level;
  expect(level()).toBe('ok');
  expect(level([10_000])).toBe('ok');
  expect(level([-10_001])).toBe('warning');
  expect(level([-300_000])).toBe('problem');
  expect(level([400_000], [0], [0])).toBe('ok');
  expect(level([0], [400_000], [400_000])).toBe('problem');
  expect(level([400_000], [0, true], [0, true])).toBe('problem');
  expect(level([400_000, true])).toBe('problem');
});

test('Node.js: versions count by number, not by letter', () => {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  expect(checkNode(`>=${major}.${minor}`).level).toBe('ok');
  expect(checkNode(`>=${major - 1}.${minor + 1}`).level).toBe('ok');
  expect(checkNode('>=9.99').level).toBe('ok');
  expect(checkNode(`>=${major}.${minor + 1}`)).toMatchObject({
    level: 'problem',
    text: expect.stringContaining(`${major}.${minor + 1} or newer`),
  });
  expect(checkNode(`>=${major + 1}.0`).level).toBe('problem');
});

const CONSOLE_PASSWORD = 'correct horse battery';

test.each([
  [{}, 'ok', 'only on this machine'],
  [{ CONSOLE_PASSWORD }, 'ok', 'protected by CONSOLE_PASSWORD'],
  [{ CONSOLE_PASSWORD, HOST: '0.0.0.0' }, 'warning', 'HTTPS proxy in front'],
  [{ ASKWATCH_ROLES: 'gateway,monitoring,bot', HOST: '0.0.0.0' }, 'ok', 'off'],
])('the console with %j', (env, level, text) => {
  const finding = checkConsole(readSettings(env));
  expect(finding).toEqual({ check: 'Console', level, text: expect.stringContaining(text) });
  expect(finding.text).not.toContain(CONSOLE_PASSWORD);
});

const PUBLIC_URL = 'https://ask.example.com';

test.each([
  [{}, []],
  [{ PUBLIC_URL: 'http://ask.example.com' }, []],
  [{ PUBLIC_URL }, ['warning']],
  [{ PUBLIC_URL, TRUSTED_PROXIES: '127.0.0.1' }, ['ok']],
])('the proxies in front with %j', (env, levels) => {
  const findings = checkProxies(readSettings(env));
  expect(findings.map(({ level }) => level)).toEqual(levels);
  for (const { level, text } of findings) {
    expect(text).toContain(level === 'ok' ? '127.0.0.1' : 'TRUSTED_PROXIES');
  }
});
