import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Builds what runs in the browser before the tests that serve it, so that none serves an older one. */
export function setup(): void {
  execFileSync(process.execPath, ['scripts/build.mjs', 'page'], { cwd: ROOT, stdio: 'inherit' });
}
