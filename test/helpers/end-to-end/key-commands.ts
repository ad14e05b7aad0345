import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type SharedAskwatch, startAskwatch } from './askwatch-process.ts';

const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** Runs `npx askwatch` on a data folder. */
export async function runCli(dataDir: string, args: string[], env: Record<string, string> = {}) {
  // npx runs the file itself, so it must be executable.
  return await promisify(execFile)(CLI, args, {
    cwd: dataDir,
    env: { PATH: process.env.PATH ?? '', DATA_DIR: `${dataDir}/data`, ...env },
  }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      output: error.stdout + error.stderr,
    }),
  );
}

/** A folder whose data folder is there and empty, as a volume is before the first start. */
async function emptyDataFolder(): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(`${folder}/data`);
  return folder;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const models = (url: string, key: string) => fetch(`${url}/v1/models`, { headers: bearer(key) });

export const chat = (url: string, key: string, content: string) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'small-4k', messages: [{ role: 'user', content }] }),
  });

/** The cells of a line of a table. */
export const cells = (line: string | undefined) => (line ?? '').split(/ {2,}/);

/** Creates a key, lists it, limits it and revokes it, with a program that runs all the while, or else only now and then. */
export async function managesKeys(running?: SharedAskwatch): Promise<void> {
  const dataDir = running?.dataDir ?? (await emptyDataFolder());
  const keys = (...args: string[]) => runCli(dataDir, ['keys', ...args]);
  const named = ['--service', 'gateway', '--name', 'ci job'];

  const create = ['keys', 'create', ...named, '--tokens-per-day', '5000'];
  const created = await runCli(dataDir, create);
  expect(created.code).toBe(0);
  const key = /awg_[A-Za-z0-9]{40}/.exec(created.output)?.[0] ?? '';
  const listed = (await keys('list', '--service', 'gateway')).output;
  expect(listed).not.toContain(key);
  const [heading, ...lines] = listed.split('\n');
  expect(cells(heading).slice(0, 4)).toEqual(['SERVICE', 'ID', 'CREATED', 'NAME']);
  const line = cells(lines.find((each) => each.includes('ci job')));
  const id = line[1] ?? '';
  expect(line).toEqual([
    'gateway',
    key.slice(4, 12),
    new Date().toISOString().slice(0, 10),
    'ci job',
    ...['0', '0', '0', '0'],
    '5000 tokens/day',
  ]);

  const change = ['--tokens-per-day', 'none', '--requests-per-minute', '1'];
  expect(await keys('limit', id, ...change)).toEqual({
    code: 0,
    output: `Limits for key ${id} (ci job): 1 requests/minute.\n`,
  });

  const askwatch = running ?? (await startAskwatch({ dataDir }));
  expect((await chat(askwatch.url, key, 'Hello')).status).toBe(200);
  const refused = await chat(askwatch.url, key, 'Hello again');
  expect([refused.status, refused.headers.get('x-ratelimit-limit-requests')]).toEqual([429, '1']);
  if (!running) await askwatch.stop();
  expect(await keys('revoke', id)).toMatchObject({ code: 0 });
  const after = running ?? (await startAskwatch({ dataDir }));
  expect((await models(after.url, key)).status).toBe(401);
}

/** Checks that usage is shown by day and model. */
export async function showsUsage(running?: SharedAskwatch): Promise<void> {
  const dataDir = running?.dataDir ?? (await emptyDataFolder());
  const askwatch = running ?? (await startAskwatch({ dataDir }));
  const key = await askwatch.createKey('gateway');
  const id = key.slice(4, 12);
  expect((await runCli(dataDir, ['keys', 'usage', id])).output).toBe(
    'No requests in the last 30 days.\n',
  );
  const answers = [await chat(askwatch.url, key, 'Hello'), await chat(askwatch.url, key, 'Bye')];
  let prompt = 0;
  let answer = 0;
  for (const { usage } of await Promise.all(answers.map((each) => each.json()))) {
    prompt += usage.prompt_tokens;
    answer += usage.completion_tokens;
  }
  // The record is made when the last byte has gone, which the caller may see earlier.
  const used = await eventually(async () => {
    const told = await fetch(`${askwatch.url}/v1/usage`, { headers: bearer(key) });
    const [day] = (await told.json()).data;
    return day?.requests === 2 && day;
  });
  expect(used).toMatchObject({ prompt_tokens: prompt, completion_tokens: answer });
  if (!running) await askwatch.stop();

  const today = new Date().toISOString().slice(0, 10);
  const lines = (await runCli(dataDir, ['keys', 'usage', id, '--days', '3'])).output.split('\n');
  expect(cells(lines[0]).slice(0, 5)).toEqual(['DAY', 'KEY', 'NAME', 'MODEL', 'REQUESTS']);
  const counts = ['2', '2', '0', '0', '0', String(prompt), String(answer), '0'];
  expect(cells(lines[1])).toEqual([today, id, 'test key', 'small-4k', ...counts]);
  expect(cells(lines[2])).toEqual(['TOTAL', ...counts]);
  const listed = (await runCli(dataDir, ['keys', 'list'])).output;
  const tokens = String(prompt + answer);
  expect(cells(listed.split('\n').find((line) => line.includes(id))).slice(4)).toEqual([
    ...['2', tokens, '2', tokens],
    'none',
  ]);
}

/** Monitoring keys take no limits, and hostile names are shown as they are spelled. */
export async function limitsOnlyGatewayKeys(running?: SharedAskwatch): Promise<void> {
  const dataDir = running?.dataDir ?? (await emptyDataFolder());
  const keys = (...args: string[]) => runCli(dataDir, ['keys', ...args]);
  const monitoring = [
    'create',
    '--service',
    'monitoring',
    '--write',
    '--name',
    '\u001b[2Jred\u202e\nx',
  ];
  const refused = await keys(...monitoring, '--requests-per-minute', '5');
  expect(refused).toMatchObject({ code: 1, output: expect.stringContaining("can't have limits") });
  const created = await keys(...monitoring);
  const id = /awm_(.{8})/.exec(created.output)?.[1] ?? '';
  expect((await keys('list', '--service', 'monitoring')).output).toContain(
    `${id}  ${new Date().toISOString().slice(0, 10)}  \\u{1b}[2Jred\\u{202e}\\u{a}x\n`,
  );
  const limited = await keys('limit', id, '--tokens-per-day', '5');
  expect(limited).toMatchObject({ code: 1, output: expect.stringContaining("can't have limits") });
}
