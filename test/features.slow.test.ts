import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { blockOf, linesToAdd } from './helpers/bot/hello-world.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** The folder of each feature and its files in rooms that compose others, by their paths in `src`. */
const FEATURES: Record<string, string[]> = {
  feedback: [
    'bot/feedback',
    'app/features/feedback.ts',
    'cli/feedback-command.ts',
    'cli/feedback.ts',
  ],
  intake: [
    'bot/intake',
    'app/features/intake.ts',
    'app/features/intake-routes.ts',
    'app/features/account-intakes.ts',
  ],
  investigations: ['bot/investigations'],
  mcp: ['mcp', 'app/features/mcp.ts'],
  postmortem: ['bot/postmortem'],
  provisioning: [
    'monitoring/provisioning',
    'app/features/provisioning.ts',
    'cli/doctor-monitors.ts',
    'cli/import',
    'cli/monitors-command.ts',
    'cli/monitors.ts',
  ],
  reports: ['bot/reports'],
  'tool-servers': ['bot/tool-servers', 'app/features/tool-servers.ts', 'cli/doctor-tools.ts'],
};

/** The files that list features, each with one line. */
const LISTS = ['bot/features.ts', 'app/features.ts', 'cli/commands.ts', 'cli/doctor.ts'];

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
  /\.tsx?$/.test(file),
);

const isPartOf = (parts: readonly string[], file: string) =>
  parts.some((part) => file === part || file.startsWith(`${part}/`));

/** The modules of `src` that a file names, at its beginning or when it runs. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, 'src', file), 'utf8');
  const named = text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g);
  return [...named].map(([, specifier = '']) => posix.join(posix.dirname(file), specifier));
}

/** A list without the imports and lines of the removed files. */
function withoutLines(text: string, file: string, removed: readonly string[]): string {
  let left = text;
  for (const [line, names = '', specifier = ''] of text.matchAll(
    /^import \{ (.+) \} from '(\..+)';\n/gm,
  )) {
    if (!isPartOf(removed, posix.join(posix.dirname(file), specifier))) continue;
    left = left.replace(line, '');
    for (const name of names.split(', ')) {
      left = left
        .replace(new RegExp(`^.*\\b${name}\\(.*\\n`, 'm'), '')
        .replace(new RegExp(`\\b${name}\\b(?:, |,\\n)?`), '');
    }
  }
  return left;
}

test.each(Object.entries(FEATURES))('only lists of features import the feature %s', (_, parts) => {
  const own = files.filter((file) => isPartOf(parts, file));
  const importing = files.filter(
    (file) => !own.includes(file) && importsOf(file).some((to) => own.includes(to)),
  );
  expect(own.length).toBeGreaterThanOrEqual(parts.length);
  expect(importing.filter((file) => !LISTS.includes(file))).toEqual([]);
  expect(importing).not.toEqual([]);
});

/** A compiler alone takes half a minute on a busy machine. */
const COMPILE_MS = 300_000;

test(
  'the program compiles without every feature and its lines, and with the command of docs/hello-world.md',
  async () => {
    const folder = await temporaryFolder();
    const removed = Object.values(FEATURES).flat();
    await cp(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
    for (const file of ['tsconfig.json', 'package.json'])
      await cp(join(ROOT, file), join(folder, file));
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const part of removed) await rm(join(folder, 'src', part), { recursive: true });
    for (const file of LISTS) {
      const path = join(folder, 'src', file);
      await writeFile(path, withoutLines(await readFile(path, 'utf8'), file, removed));
    }
    const commands = join(folder, 'src/bot/commands');
    await writeFile(join(commands, 'greet.ts'), blockOf('ts'));
    const table = join(commands, 'commands.ts');
    let text = await readFile(table, 'utf8');
    for (const { after, line } of linesToAdd()) text = text.replace(`${after}\n`, `$&${line}\n`);
    await writeFile(table, text);

    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const compiled = await promisify(execFile)(process.execPath, [
      tsc,
      '--project',
      folder,
      '--singleThreaded',
    ]).catch(({ stdout }: { stdout: string }) => ({ stdout }));
    expect(compiled.stdout).toBe('');
  },
  COMPILE_MS,
);
