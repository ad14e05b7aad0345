// Usage: node scripts/build.mjs [page] [program] [licences] [manifests] [evals] [screenshots] [bench] [watch]
// Without a target it builds the published package: the page, the program and LICENCES.txt.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { context, build as esbuild } from 'esbuild';

const node = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  logLevel: 'warning',
};

/** Programs that stay in the repository; they load packages from node_modules. */
const tool = { ...node, packages: 'external' };

const program = {
  ...node,
  entryPoints: {
    main: 'src/app/start.ts',
    cli: 'src/cli.ts',
    'pdf-process': 'src/bot/files/pdf-process.ts',
    'monitors-file-process': 'src/monitoring/provisioning/read-process.ts',
  },
  splitting: true,
  // A native module, and a library that finds optional modules of its own at run time.
  external: ['@resvg/resvg-js', 'discord.js'],
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  legalComments: 'external',
  sourcemap: true,
  // Bundled CommonJS packages call require() for Node's own modules.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  outdir: 'dist',
  metafile: true,
};

/** How the console's pages spell their elements. */
const preact = { jsx: 'automatic', jsxImportSource: 'preact' };

const page = {
  entryPoints: {
    playground: 'src/console/page/playground/entry.tsx',
    status: 'src/console/page/status/entry.tsx',
    account: 'src/console/page/account/entry.tsx',
    login: 'src/console/page/login/entry.tsx',
    'markdown-worker': 'src/console/page/markdown/entry-markdown-worker.ts',
    'colour-worker': 'src/console/page/markdown/entry-colour-worker.ts',
  },
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  ...preact,
  loader: { '.woff2': 'file' },
  assetNames: '[name]-[hash]',
  outdir: 'dist/console/page',
  metafile: true,
  logLevel: 'warning',
};

/** Runs a module that needs bundling, and returns its output. */
async function run(entry, options) {
  const { outputFiles } = await esbuild({ ...options, entryPoints: [entry], write: false });
  return execFileSync(process.execPath, ['--input-type=module'], { input: outputFiles[0].text });
}

function writeMetafile(name, { metafile }) {
  writeFileSync(`dist/${name}.meta.json`, JSON.stringify(metafile));
}

const targets = {
  async page() {
    writeMetafile('page', await esbuild(page));
    writeFileSync(
      'dist/console/page/first-views.json',
      await run('src/console/page/first-views.tsx', { bundle: true, format: 'esm', ...preact }),
    );
  },
  async program() {
    for (const name of readdirSync('dist')) if (/\.js(?:\.|$)/.test(name)) rmSync(`dist/${name}`);
    writeMetafile('program', await esbuild(program));
  },
  async licences() {
    await run('scripts/write-licences.ts', { format: 'esm' });
  },
  manifests: () =>
    esbuild({ ...tool, entryPoints: ['src/app/write-manifests.ts'], outdir: 'dist/app' }),
  evals: () => esbuild({ ...tool, entryPoints: ['evals/evals.ts'], outdir: 'dist/evals' }),
  screenshots: () =>
    esbuild({
      ...tool,
      entryPoints: ['evals/screenshots/screenshots.ts'],
      outdir: 'dist/screenshots',
    }),
  bench: () =>
    esbuild({
      ...tool,
      entryPoints: {
        bench: 'bench/bench.ts',
        'gateway-upstream': 'bench/gateway/upstream.ts',
        'gateway-reference': 'bench/gateway/reference.ts',
        'gateway-loopback': 'bench/gateway/loopback.ts',
        'monitoring-upstream': 'bench/monitoring/upstream.ts',
        'monitoring-reference': 'bench/monitoring/reference.ts',
        'watch-service': 'bench/watch/service.ts',
        'watch-bot': 'bench/watch/bot.ts',
        'discord-reference': 'bench/discord/reference.ts',
        'start-bare': 'bench/start/bare.ts',
      },
      outdir: 'dist/bench',
    }),
  /** Rebuilds the program whenever a file changes, until it is stopped. */
  async watch() {
    await (await context(program)).watch();
  },
};

mkdirSync('dist', { recursive: true });
const names = process.argv.slice(2);
for (const name of names.length > 0 ? names : ['page', 'program', 'licences']) {
  const target = targets[name];
  if (!target)
    throw new Error(`Unknown target ${name}. Targets: ${Object.keys(targets).join(', ')}.`);
  await target();
}
