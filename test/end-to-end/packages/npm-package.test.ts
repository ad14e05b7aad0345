import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { startWatchedHours } from '../../helpers/bot/watched-hours.ts';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { discordEnv } from '../../helpers/end-to-end/discord-program.ts';
import { chat } from '../../helpers/end-to-end/key-commands.ts';
import { copyProductionModules, freshCheckout, run } from '../../helpers/end-to-end/packages.ts';
import { eventually } from '../../helpers/eventually.ts';
import { folderOnDisk } from '../../helpers/temporary-folder.ts';

/** Output of `npm pack`. */
interface Packed {
  filename: string;
  files: { path: string }[];
}

describe('the npm package', () => {
  const ends: Array<() => Promise<void>> = [];
  let checkout: string;
  let packed: Packed;
  let tarball: string;

  beforeAll(async () => {
    checkout = await freshCheckout((end) => void ends.push(end));
    // In the checkout there is nothing built: npm has to build it first.
    const told = JSON.parse(await run(checkout, ['npm', 'pack', '--json'])) as
      | Packed[]
      | Record<string, Packed>;
    packed = Object.values(told)[0] as Packed;
    tarball = join(checkout, packed.filename);
    return async () => {
      for (const end of ends) await end();
    };
  }, 300_000);

  test('holds the program, and the pages and manifests that the program names, and nothing of its making', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', '.env.example'],
        ...['dist/cli.js', 'dist/main.js', 'dist/console/page/playground.js'],
        ...['docs/settings.md', 'docs/install.md', 'manifests/slack.json'],
        ...['manifests/askwatch.service', 'manifests/kubernetes/example/kustomization.yaml'],
      ]),
    );
    expect(
      paths.filter((path) => /^(src|test|bench)\/|\.(map|ts|tsx)$|^\.(?!env)/.test(path)),
    ).toEqual([]);
  });

  test('has the licence of every package that became part of its files', async () => {
    const licences = await readFile(join(checkout, 'dist/LICENCES.txt'), 'utf8');
    expect(packed.files.map(({ path }) => path)).toContain('dist/LICENCES.txt');
    const names = new Set<string>(['preact', 'markdown-it']);
    for (const file of await readdir(join(checkout, 'dist'))) {
      if (!file.endsWith('.map')) continue;
      const { sources } = JSON.parse(await readFile(join(checkout, 'dist', file), 'utf8'));
      for (const source of sources as string[]) {
        const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
        // Code that is bundled in another package has that package's licence.
        if (name !== undefined && existsSync(join(checkout, 'node_modules', name))) names.add(name);
      }
    }
    expect(names.size).toBeGreaterThan(100);
    expect([...names].filter((name) => !licences.includes(`\n${name} `))).toEqual([]);
    expect(licences).toContain('Permission is hereby granted, free of charge');
  });

  /** Installs the package into an empty folder, with only the packages of the lock file. */
  async function installed() {
    const folder = await folderOnDisk();
    await copyProductionModules(folder);
    const offline = ['--offline', '--cache', join(folder, 'no-cache')];
    await run(folder, ['npm', 'install', ...offline, tarball]);
    return folder;
  }

  test('is installed in an empty folder and starts there, and keeps its data there', async () => {
    const folder = await installed();
    expect(await run(folder, ['npx', '--offline', 'askwatch', 'help'])).toContain('Usage:');
    const discord = await startDiscord();
    const service = await startWatchedHours();
    const askwatch = await startAskwatch({
      dataDir: folder,
      command: [join(folder, 'node_modules/.bin/askwatch'), 'start'],
      env: {
        ...{ ...discordEnv(discord), DATA_DIR: '' },
        ...{ MONITORING_BASE_URL: service.url, MONITORING_API_KEY: service.key },
      },
    });
    expect(askwatch.output()).toContain(`State       ${join(folder, 'data')}\n`);
    const answer = await chat(askwatch.url, await askwatch.createKey('gateway'), 'Hello');
    expect(answer.status).toBe(200);
    expect((await fetch(`${askwatch.url}/`)).status).toBe(200);

    // Drawn with all packages that are not part of the program's own files.
    const asked = discord.slash('monitor show', { monitor: 'Shop' });
    const [file] = await eventually(() => asked.reply?.embeds[0] && asked.reply.attachments);
    expect(file?.bytes.subarray(1, 4).toString()).toBe('PNG');
    expect(await askwatch.stop()).toBe(0);
  });
});
