import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const SOURCE = fileURLToPath(new URL('../../../src', import.meta.url));

const built = new Map<string, URL>();

/** A program built as `npm run build` builds it, because Node runs no TypeScript. Imports in `code` are relative to `src/`. */
export function builtProgram(code: string): URL {
  const known = built.get(code);
  if (known) return known;
  const outfile = join(mkdtempSync(join(tmpdir(), 'askwatch-program-')), 'program.mjs');
  buildSync({
    stdin: { contents: code, resolveDir: SOURCE, loader: 'ts' },
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    logLevel: 'warning',
  });
  const program = pathToFileURL(outfile);
  built.set(code, program);
  return program;
}

export const pdfProgram = () => builtProgram("import './bot/files/pdf-process.ts'");

export const monitorsFileProgram = () =>
  builtProgram("import './monitoring/provisioning/read-process.ts'");
