import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

let built: URL | undefined;

/** The thread that reads PDFs, built as the program has it: Node runs no TypeScript. */
export function pdfWorker(): URL {
  built ??= build();
  return built;
}

function build(): URL {
  const outfile = join(mkdtempSync(join(tmpdir(), 'askwatch-pdf-')), 'pdf-worker.mjs');
  buildSync({
    entryPoints: [fileURLToPath(new URL('../../../src/bot/files/pdf-worker.ts', import.meta.url))],
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
    logLevel: 'warning',
  });
  return pathToFileURL(outfile);
}
