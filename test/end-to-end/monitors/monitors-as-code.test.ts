import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type AskwatchProcess, startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { runCli } from '../../helpers/end-to-end/key-commands.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const MONITORS = '/api/v1/public/monitors?include_paused=true';

interface Listed {
  id: string;
  name: string;
  status: string;
  managed_by?: { key: string; line: number; left_at?: string };
}

const fileOf = (monitors: Record<string, string>) =>
  [
    'monitors:',
    ...Object.entries(monitors).map(
      ([key, name]) =>
        `  ${key}: {name: ${name}, target: "http://127.0.0.1:9/${key}", check_type: HTTP}`,
    ),
  ].join('\n');

const many = (count: number, name: (at: number) => string, from = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${from + at}`, name(from + at)]));

async function setUp() {
  const dataDir = await temporaryFolder();
  const path = join(dataDir, 'monitors.yaml');
  const env = {
    MONITORS_FILE: path,
    ASKWATCH_ROLES: 'monitoring',
    MONITOR_ALLOW_PRIVATE: '127.0.0.0/8',
  };
  let key = '';
  return {
    dataDir,
    path,
    env,
    async start() {
      const askwatch = await startAskwatch({ dataDir, env });
      key ||= await askwatch.createKey('monitoring');
      return askwatch;
    },
    cli: (...args: string[]) => runCli(dataDir, ['monitors', ...args], env),
    /** A key may list 120 times a minute. */
    async list({ url }: AskwatchProcess): Promise<Listed[]> {
      const answer = await fetch(url + MONITORS, { headers: { 'x-api-key': key } });
      if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
      return ((await answer.json()) as { monitors: Listed[] }).monitors;
    },
    /** The number of monitors, without a rate limit. */
    async count({ url }: AskwatchProcess): Promise<number> {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const counts = metrics.matchAll(/^askwatch_monitors\{status="\w+"\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
  };
}

/** For what a program does with 400 monitors, on a machine that is busy. */
const WITHIN_MS = 90_000;

test('kill -9 in the middle of an apply ends in the state of the file', {
  timeout: 400_000,
}, async () => {
  const COUNT = 400;
  const { path, start, list, count, cli } = await setUp();
  await writeFile(path, fileOf(many(COUNT, (at) => `First ${at}`)));
  const counts: number[] = [];
  let askwatch = await start();
  for (let kills = 0; kills < 2; kills += 1) {
    const before = counts.at(-1) ?? 0;
    await eventually(async () => (await count(askwatch)) > before, { everyMs: 20 });
    await askwatch.kill();
    askwatch = await start();
    counts.push(await count(askwatch));
  }
  // At least one kill came before all was made.
  expect(counts[0]).toBeLessThan(COUNT);
  await eventually(async () => (await count(askwatch)) === COUNT, { withinMs: WITHIN_MS });
  const made = await list(askwatch);
  expect(new Set(made.map(({ name }) => name)).size).toBe(COUNT);

  // A third is renamed, a third leaves.
  const third = Math.floor(COUNT / 3);
  await writeFile(
    path,
    fileOf({
      ...many(third, (at) => `Second ${at}`),
      ...many(COUNT - 2 * third, (at) => `First ${at}`, third),
    }),
  );
  const isChanged = ({ name }: Listed) => name.startsWith('Second');
  const hasLeft = ({ managed_by }: Listed) => managed_by?.left_at !== undefined;
  await eventually(async () => (await list(askwatch)).some(isChanged), { everyMs: 600 });
  await askwatch.kill();
  askwatch = await start();
  await eventually(
    async () => {
      const now = await list(askwatch);
      return (
        now.filter(isChanged).length === third &&
        now.filter((one) => hasLeft(one) && one.status === 'PAUSED').length === third
      );
    },
    { everyMs: 600, withinMs: WITHIN_MS },
  );
  const ended = await list(askwatch);
  expect(ended.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort());
  expect(ended.filter(({ status }) => status === 'PAUSED')).toHaveLength(third);
  expect((await cli('plan')).code).toBe(0);
});

test('the command line plans, applies, exports and imports, beside a program that runs and without one', async () => {
  const { dataDir, path, start, list, cli } = await setUp();
  await writeFile(path, fileOf({ a: 'A', b: 'B', c: 'C', d: 'D', e: 'E' }));
  const first = await cli('plan');
  expect(first).toMatchObject({ code: 2 });
  expect(first.output).toContain('+ a: create HTTP http://127.0.0.1:9/a');
  const asJson = await cli('plan', '--json');
  expect([asJson.code, JSON.parse(asJson.output)]).toMatchObject([2, { create: 5, unchanged: 0 }]);
  expect(await cli('apply')).toMatchObject({
    code: 0,
    output: expect.stringContaining('It applies this when it starts'),
  });

  const askwatch = await start();
  expect(JSON.parse((await cli('apply', '--json')).output)).toMatchObject({ state: 'applied' });
  expect(await list(askwatch)).toHaveLength(5);
  expect(await cli('plan')).toMatchObject({
    code: 0,
    output: expect.stringContaining('5 unchanged'),
  });

  const copy = join(dataDir, 'copy.yaml');
  await writeFile(copy, await readFile(path));
  expect((await cli('plan', copy)).code).toBe(0);

  await writeFile(path, 'monitors:\n  a: {target: "http://127.0.0.1:9/a", chek_type: HTTP}\n');
  const broken = await cli('plan');
  expect(broken.code).toBe(1);
  expect(broken.output).toContain(
    `${path}:2:39: unknown field 'chek_type'. Did you mean 'check_type'?`,
  );

  await writeFile(path, fileOf({ a: 'A' }));
  const asked = await cli('apply');
  expect([asked.code, asked.output]).toEqual([
    2,
    expect.stringContaining('This would remove 4 of 5 monitors'),
  ]);
  expect((await list(askwatch)).filter(({ status }) => status === 'PAUSED')).toEqual([]);
  expect(await cli('apply', '--yes')).toMatchObject({ code: 0 });
  expect((await list(askwatch)).filter(({ status }) => status === 'PAUSED')).toHaveLength(4);
  expect((await cli('apply', join(dataDir, 'other.yaml'))).output).toContain(
    'works only with the file in MONITORS_FILE',
  );

  const exported = await cli('export');
  expect(exported).toMatchObject({ code: 0 });
  expect(exported.output).toMatch(/^monitors:\n {2}a:\n {4}id: mon_/m);
  await askwatch.stop();
  expect((await cli('export')).output).toBe(exported.output);
  await writeFile(path, exported.output);
  expect(await cli('plan')).toMatchObject({ code: 0 });

  const gatus = join(dataDir, 'gatus.yaml');
  await writeFile(
    gatus,
    'endpoints: [{name: front, url: "https://front.example", conditions: ["[STATUS] == 200"]}]',
  );
  const imported = await cli('import', 'gatus', gatus);
  expect(imported).toMatchObject({ code: 0 });
  await writeFile(join(dataDir, 'imported.yaml'), imported.output);
  expect((await cli('plan', join(dataDir, 'imported.yaml'))).output).toContain(
    '+ front: create HTTP https://front.example',
  );
  expect(await readFile(path, 'utf8')).toBe(exported.output);
});
