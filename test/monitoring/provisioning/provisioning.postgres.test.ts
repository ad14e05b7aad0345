import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../helpers/eventually.ts';
import { startReplicas } from '../../helpers/monitoring/replicas.ts';
import type { Service } from '../../helpers/monitoring/service.ts';
import { hasPostgres } from '../../helpers/postgres/test-database.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const fileOf = (keys: readonly string[], name: string) =>
  [
    'monitors:',
    ...keys.map(
      (key) => `  ${key}: {name: ${name}, target: "http://127.0.0.1:9/${key}", check_type: HTTP}`,
    ),
  ].join('\n');

interface Listed {
  id: string;
  name: string;
  status: string;
  managed_by: { key: string; line: number };
}

const all = async (service: Service) => {
  const { body } = await service.get('/api/v1/public/monitors?include_paused=true');
  return (body.monitors ?? []) as Listed[];
};

const made = ({ lines }: Service) => lines.filter(({ msg }) => msg === 'monitor created').length;

describe.skipIf(!hasPostgres)('several processes that follow one file', () => {
  test('do each thing once, and go on where the one that did it ends', async () => {
    const path = join(await temporaryFolder(), 'monitors.yaml');
    const keys = Array.from({ length: 40 }, (_, at) => `k${at}`);
    await writeFile(path, fileOf(keys, 'First'));
    const { a, b } = await startReplicas(2, { monitorsFile: path });
    await eventually(async () => (await all(b)).length === 40);
    await eventually(async () => (await all(a)).length === 40);
    expect(made(a) + made(b)).toBe(40);
    const states = () => [a, b].map(({ provisioning }) => provisioning?.state().state);
    await eventually(() => states().sort().join() === 'applied,elsewhere');
    const [first, second] = states()[0] === 'applied' ? [a, b] : [b, a];

    // Both know the lines, and both refuse.
    await writeFile(path, `\n\n${fileOf(keys, 'First')}`);
    for (const service of [first, second]) {
      await eventually(async () => {
        const k0 = (await all(service)).find(({ managed_by }) => managed_by.key === 'k0');
        return k0?.managed_by.line === 4;
      });
    }
    const ids = (await all(second)).map(({ id }) => id).sort();
    await first.close();
    await writeFile(path, fileOf(keys.slice(0, 30), 'Second'));
    await eventually(async () => {
      const now = await all(second);
      const paused = now.filter(({ status }) => status === 'PAUSED').length;
      return paused === 10 && now.filter(({ name }) => name === 'Second').length === 30;
    });
    expect((await all(second)).map(({ id }) => id).sort()).toEqual(ids);
  });
});
