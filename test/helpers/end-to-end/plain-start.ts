import { expect } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { spawnAskwatch } from './askwatch-process.ts';

export const models = (url: string, key: string) =>
  fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });

/** For a machine whose resolver is itself, so that nothing names a server of its network. */
export const RESOLVER_ON_LOOPBACK = {
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(
    "import { Resolver } from 'node:dns'; Resolver.prototype.getServers = () => ['127.0.0.53'];",
  )}`,
};

/** Starts the program, which has to end by itself, without a stack. */
export async function failedStart(env: Record<string, string>, dataDir?: string) {
  const child = spawnAskwatch({ dataDir: dataDir ?? (await temporaryFolder()), env });
  const code = await child.exit;
  expect(child.output()).not.toMatch(/^\s+at /m);
  return { code, output: child.output() };
}
