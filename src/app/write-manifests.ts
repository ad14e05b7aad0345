import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type Command, usageOf } from '../bot/commands/command.ts';
import { commands } from '../bot/features.ts';
import { platforms } from './platforms.ts';
import { variables } from './settings.ts';

/** The repository's root, whether this runs as source or from `dist/`. */
const ROOT = new URL('../../', import.meta.url);

/**
 * Generates files from the command table and the settings: text by path. `read` returns the current text of a page, in which only
 * the table is replaced.
 */
export async function generatedFiles(
  read: (path: string) => string,
): Promise<Record<string, string>> {
  const manifests = await Promise.all(
    platforms.map(({ manifests }) => manifests?.(commands) ?? {}),
  );
  const page = (path: string, table: string) => ({ [path]: withTable(read(path), path, table) });
  return {
    ...Object.fromEntries(
      manifests.flatMap(Object.entries).map(([path, manifest]) => [path, json(manifest)]),
    ),
    '.env.example': envExample(),
    ...page('docs/commands.md', commandTable(commands)),
    ...page('docs/settings.md', settingsTable()),
  };
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function commandTable(table: readonly Command[]): string {
  const rows = table.map((row) => `| \`${cell(usageOf(row))}\` | ${cell(row.summary)} |`);
  return ['| command | does |', '| --- | --- |', ...rows].join('\n');
}

function settingsTable(): string {
  const rows = variables.map(
    ({ name, about, shown }) => `| \`${name}\` | ${cell(about)} | ${cell(shown)} |`,
  );
  return ['| variable | meaning | default |', '| --- | --- | --- |', ...rows].join('\n');
}

/** A bar would end the cell. */
const cell = (text: string) => text.replaceAll('|', '\\|');

function envExample(): string {
  const lines = [
    '# Every setting is optional. Copy this file to .env and take the # off what you need.',
  ];
  let group = '';
  for (const { name, about, shown, group: of } of variables) {
    if (of !== group) lines.push('', `# ${of}`);
    group = of;
    lines.push(
      `# ${about.replaceAll('`', '')}${shown === '' ? '' : ` (default: ${shown})`}`,
      `#${name}=`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Replaces what stands between `<!-- table -->` and `<!-- /table -->`. */
function withTable(text: string, path: string, table: string): string {
  const [open, close] = ['<!-- table -->', '<!-- /table -->'];
  const [start, end] = [text.indexOf(open), text.indexOf(close)];
  if (start < 0 || end < start)
    throw new Error(`${path}: the marks ${open} … ${close} are missing`);
  return `${text.slice(0, start + open.length)}\n${table}\n${text.slice(end)}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  mkdirSync(new URL('manifests/', ROOT), { recursive: true });
  const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
  for (const [path, text] of Object.entries(await generatedFiles(read))) {
    writeFileSync(new URL(path, ROOT), text);
    process.stdout.write(`wrote ${path}\n`);
  }
}
