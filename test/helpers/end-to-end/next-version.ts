import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Migrations of the next version: one that is compatible with this version, and one that isn't. */
const PLANTED = `
migrations['9000-planted'] = {
  async up(db) {
    await db.schema.createTable('planted').addColumn('id', 'integer').execute();
    await db.schema.alterTable('member').addColumn('planted', 'integer', (column) => column.defaultTo(0)).execute();
  },
};
migrations['9001-contract-planted'] = {
  async up(db) {
    await db.schema.alterTable('planted').dropColumn('id').execute();
  },
};
`;

const plant: Plugin = {
  name: 'plant',
  setup({ onLoad }) {
    onLoad({ filter: /postgres\/migrations\/migrations\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')) + PLANTED,
      loader: 'ts',
    }));
  },
};

/** Builds the program as its next version may be, with a step of the schema that this one does not know. Gives its main file. */
export async function buildNextVersion(): Promise<string> {
  const folder = `${ROOT}dist/next-version`;
  await mkdir(`${folder}/dist`, { recursive: true });
  const own = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8')) as object;
  await writeFile(`${folder}/package.json`, JSON.stringify({ ...own, version: '99.0.0' }));
  await cp(`${ROOT}dist/console`, `${folder}/dist/console`, { recursive: true });
  await build({
    entryPoints: { main: `${ROOT}src/app/start.ts` },
    ...{ bundle: true, splitting: true, platform: 'node', format: 'esm', target: 'node20' },
    external: ['@resvg/resvg-js', 'discord.js'],
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    outdir: `${folder}/dist`,
    plugins: [plant],
    logLevel: 'warning',
  });
  return `${folder}/dist/main.js`;
}
