import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { blockOf, linesToAdd } from '../../helpers/bot/hello-world.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('the source compiles with what docs/hello-world.md adds to it', async () => {
  const folder = await temporaryFolder();
  await cp(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
  for (const file of ['tsconfig.json', 'package.json'])
    await cp(join(ROOT, file), join(folder, file));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));

  await writeFile(join(folder, 'src/bot/commands/greet.ts'), blockOf('ts'));
  const table = join(folder, 'src/bot/commands/commands.ts');
  let text = await readFile(table, 'utf8');
  for (const { after, line } of linesToAdd()) text = text.replace(`${after}\n`, `$&${line}\n`);
  await writeFile(table, text);

  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const compiled = await promisify(execFile)(process.execPath, [tsc, '--project', folder]).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  );
  expect(compiled.stdout).toBe('');
});
