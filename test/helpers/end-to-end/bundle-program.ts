import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import type { TestProject } from 'vitest/node';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DIST = fileURLToPath(new URL('../../../dist/', import.meta.url));

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the bundled `main.js` and `cli.js`. */
    bundledProgram: string;
  }
}

/**
 * Builds the program, and bundles it once for all tests that start it: it starts in about half the CPU time of `dist/`, whose
 * modules and packages are found, read and compiled one by one. What is run is the same code, and never an older one.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit' });
  const folder = await mkdtemp(join(tmpdir(), 'askwatch-bundle-'));
  await build({
    entryPoints: [join(DIST, 'main.js'), join(DIST, 'cli.js')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // What the program loads only when it is needed stays apart.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // What draws charts is machine code.
    loader: { '.node': 'copy' },
    plugins: [keepPlaces],
    // Packages in CommonJS ask for others, and for those that may be missing, as from the program's own folder.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module';
const require = requireFrom(${JSON.stringify(join(DIST, 'main.js'))});`,
    },
    logLevel: 'warning',
  });
  project.provide('bundledProgram', folder);
  return () => rm(folder, { recursive: true, force: true });
}

/** Each module of the program still finds its files beside the place where it was built. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(DIST)) return undefined;
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', url) };
    });
  },
};
