import { execFile, execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { kumaBackup, kumaRows, writeKumaDatabase } from '../../helpers/cli/kuma.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { runCli } from '../../helpers/end-to-end/key-commands.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const hasSqlite = () => {
  try {
    execFileSync('sqlite3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

test.skipIf(!process.env.CI && !hasSqlite())(
  "monitors from Uptime Kuma's database are planned and applied by a running program",
  async () => {
    const dataDir = await temporaryFolder();
    await writeKumaDatabase(join(dataDir, 'kuma.db'));
    const imported = await runCli(dataDir, ['monitors', 'import', 'kuma', 'kuma.db']);
    expect(imported.code).toBe(0);
    await writeFile(join(dataDir, 'monitors.yaml'), imported.output);
    const [, names = ''] = /Set these variables first: (.*)/.exec(imported.output) ?? [];
    const [, networks = ''] = /MONITOR_ALLOW_PRIVATE=(\S+)/.exec(imported.output) ?? [];
    const env = {
      ...Object.fromEntries(names.split(', ').map((name) => [name, 'value'])),
      ...{ MONITOR_ALLOW_PRIVATE: networks, MONITORS_FILE: join(dataDir, 'monitors.yaml') },
      ...{ ASKWATCH_ROLES: 'monitoring' },
    };
    const count =
      kumaRows.length - Number(/# Not imported \((\d+)\)/.exec(imported.output)?.[1]) - 2;
    const planned = await runCli(dataDir, ['monitors', 'plan', '--json'], env);
    expect([planned.code, JSON.parse(planned.output)]).toMatchObject([2, { create: count }]);
    const askwatch = await startAskwatch({ dataDir, env });
    const applied = await runCli(dataDir, ['monitors', 'apply', '--json'], env);
    expect([applied.code, JSON.parse(applied.output)]).toMatchObject([0, { state: 'applied' }]);
    const after = await runCli(dataDir, ['monitors', 'plan', '--json'], env);
    expect(JSON.parse(after.output)).toMatchObject({ steps: [], unchanged: count });
    expect(await askwatch.stop()).toBe(0);
  },
);

test('a reader that has read enough ends an import quietly', async () => {
  const folder = await temporaryFolder();
  const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));
  await writeFile(join(folder, 'kuma.json'), kumaBackup(manyMonitors()));
  const script = `${cli} monitors import kuma kuma.json | head -n 1`;
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script], { cwd: folder });
  expect({ stdout, stderr }).toEqual({ stdout: '# Imported from kuma.json.\n', stderr: '' });
});

/** More text than a pipe holds. */
const manyMonitors = () =>
  Array.from({ length: 2_000 }, (_, id) => ({
    ...{ id, name: `Monitor ${id}`, type: 'http', url: 'https://x.example.com/', interval: 60 },
  }));
