// `npm start` builds the program if a source file or an installed package is newer than the last build.
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const modifiedAtMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const sources = readdirSync('src', { recursive: true }).map((name) => join('src', name));
const inputs = [...sources, 'package.json', 'node_modules/.package-lock.json'];
const builtAtMs = modifiedAtMs('dist/main.js');
if (inputs.some((path) => modifiedAtMs(path) > builtAtMs)) {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
}
