import { chown, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { spawnAskwatch, startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { buildImage, type Image } from '../../helpers/end-to-end/image.ts';
import { chat } from '../../helpers/end-to-end/key-commands.ts';
import { run } from '../../helpers/end-to-end/packages.ts';
import { folderOnDisk } from '../../helpers/temporary-folder.ts';

const canBuild = process.platform === 'linux' && process.getuid?.() === 0;
if (!canBuild) process.stderr.write('\nSKIPPED: tests of the image. They need root on Linux.\n\n');

describe.skipIf(!canBuild && !process.env.CI)('the image', () => {
  let image: Image;

  beforeAll(async () => {
    const ends: Array<() => Promise<void>> = [];
    image = await buildImage((end) => void ends.push(end));
    return async () => {
      for (const end of ends) await end();
    };
  }, 300_000);

  /** A volume, which gets the owner that the folder has in the image. */
  async function volume() {
    const folder = await folderOnDisk();
    await chown(folder, 10001, 10001);
    return folder;
  }

  test('holds the program and what it needs, and nothing that is secret or of its making', async () => {
    const names = await readdir(join(image.files, 'askwatch'));
    expect(names).toEqual(expect.arrayContaining(['dist', 'node_modules', 'package.json']));
    expect(names).not.toEqual(expect.arrayContaining(['src']));
    expect(await readdir(join(image.files, 'data'))).toEqual([]);
  });

  test('asks for a password where it can be reached from beyond', async () => {
    const dataDir = await volume();
    const child = spawnAskwatch({
      dataDir,
      command: image.inside(dataDir, [...image.entrypoint, ...image.cmd]),
      env: image.env,
    });
    expect(await child.exit).toBe(1);
    expect(child.output()).toContain('CONSOLE_PASSWORD: set it');
  });

  test('runs as its user, writes nothing but its volume, is found well, and ends by SIGTERM', async () => {
    const dataDir = await volume();
    const env = { ...image.env, HOST: '127.0.0.1', PORT: '0' };
    const command = image.inside(dataDir, [...image.entrypoint, ...image.cmd]);
    const askwatch = await startAskwatch({ dataDir, command, env });
    const status = await readFile(`/proc/${askwatch.pid}/status`, 'utf8');
    expect(status).toMatch(/^Name:\tnode$[\s\S]*^Uid:\t10001\t10001\t10001\t10001$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(askwatch.output()).toContain('State       /data\n');
    expect((await readdir(dataDir)).length).toBeGreaterThan(0);
    const shell = image.inside(dataDir, ['sh', '-c', 'touch /askwatch/x /tmp/x /x']);
    await expect(run(dataDir, shell)).rejects.toMatchObject({
      stderr: expect.stringMatching(/(touch: .*Read-only file system\n){3}/),
    });

    const { port } = new URL(askwatch.url);
    const withEnv = Object.entries({ ...env, PORT: port }).map(
      ([name, value]) => `${name}=${value}`,
    );
    const execute = (words: string[]) =>
      run(dataDir, ['env', ...withEnv, ...image.inside(dataDir, words)]);
    await execute(image.healthcheck);
    const named = ['--service', 'gateway', '--name', 'test key'];
    const created = await execute(['askwatch', 'keys', 'create', ...named]);
    const answer = await chat(askwatch.url, created.trim().split('\n').at(-1) ?? '', 'Hello');
    expect(answer.status).toBe(200);
    expect(JSON.parse(await execute(['askwatch', 'doctor', '--json']))).toMatchObject({
      problems: 0,
    });
    // With code 1 when it does not end in time.
    expect(await askwatch.stop()).toBe(0);
    await expect(execute(image.healthcheck)).rejects.toMatchObject({ code: 1 });
  });
});
