import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { generatedFiles } from '../src/app/write-manifests.ts';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

test.each(Object.entries(await generatedFiles(read)))(
  '%s is what the command table and the settings make it; if not, run: npm run manifests',
  (path, text) => {
    expect(read(path)).toBe(text);
  },
);
