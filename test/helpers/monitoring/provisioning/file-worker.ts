import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const SOURCE = new URL('../../../../src/monitoring/provisioning/read-worker.ts', import.meta.url);

let built: URL | undefined;

/** The thread that reads files of monitors, built as the program has it: Node runs no TypeScript. */
export function fileWorker(): URL {
  built ??= build();
  return built;
}

function build(): URL {
  const outfile = join(mkdtempSync(join(tmpdir(), 'askwatch-file-')), 'monitors-file-worker.mjs');
  buildSync({
    entryPoints: [fileURLToPath(SOURCE)],
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    logLevel: 'warning',
  });
  return pathToFileURL(outfile);
}
