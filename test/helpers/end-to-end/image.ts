import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type AtEnd, temporaryFolder } from '../temporary-folder.ts';
import { lettingIn, readDockerfile } from './dockerfile.ts';
import { copyFiles, copyProductionModules, freshCheckout } from './packages.ts';

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

const execute = promisify(execFile);

/** The result of the Dockerfile's last stage. */
export interface Image {
  /** Files that differ from this machine's. */
  files: string;
  env: Record<string, string>;
  entrypoint: string[];
  /** Arguments of the entrypoint, unless there are others. */
  cmd: string[];
  healthcheck: string[];
  /** Returns a command that runs in the image as its user, without root's rights, with only `volume` writable at /data. */
  inside(volume: string, command: readonly string[]): string[];
}

/**
 * Follows the Dockerfile without a container engine: each stage is an overlay over this machine, which replaces the base image.
 * Installed packages are used instead of fetching them. Needs root on Linux.
 */
export async function buildImage(atEnd: AtEnd): Promise<Image> {
  const checkout = await freshCheckout(atEnd);
  const folder = await temporaryFolder(atEnd);
  const context = join(folder, 'context');
  const isIn = lettingIn(await readFile(join(checkout, '.dockerignore'), 'utf8'));
  const all = await readdir(checkout, { recursive: true, withFileTypes: true });
  const paths = all
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(checkout.length + 1));
  await copyFiles(checkout, context, paths.filter(isIn));

  const stages = new Map<string, string>();
  let stage = { name: '', files: '', work: '/', env: {} as Record<string, string> };
  let user = '0:0';
  let entrypoint: string[] = [];
  let cmd: string[] = [];
  let healthcheck: string[] = [];
  for (const { name, text } of readDockerfile(
    await readFile(join(checkout, 'Dockerfile'), 'utf8'),
  )) {
    if (name === 'FROM') {
      const [, as = 'last'] = / AS (\w+)$/.exec(text) ?? [];
      stage = { name: as, files: join(folder, as, 'files'), work: '/', env: {} };
      stages.set(as, stage.files);
      for (const part of ['files', 'work', 'root'])
        await mkdir(join(folder, as, part), { recursive: true });
    } else if (name === 'WORKDIR') {
      stage.work = text;
      await mkdir(join(stage.files, text), { recursive: true });
    } else if (name === 'COPY') {
      await copy(text);
    } else if (name === 'RUN') {
      await runIn(text);
    } else if (name === 'ENV') {
      for (const [, key = '', value = ''] of text.matchAll(/(\w+)=(\S+)/g)) stage.env[key] = value;
    } else if (name === 'USER') {
      user = text;
    } else if (name === 'ENTRYPOINT') {
      entrypoint = JSON.parse(text);
    } else if (name === 'CMD') {
      cmd = JSON.parse(text);
    } else if (name === 'HEALTHCHECK') {
      healthcheck = JSON.parse(text.slice(text.indexOf('[')));
    } else if (!['ARG', 'LABEL', 'VOLUME', 'EXPOSE'].includes(name)) {
      throw new Error(`Nobody knows here what to do with ${name} of the Dockerfile.`);
    }
  }

  async function copy(text: string) {
    const [, from, rest = text] = /^--from=(\w+) (.*)$/.exec(text) ?? [];
    const sources = rest.split(' ');
    const target = sources.pop() ?? '';
    const to = join(stage.files, stage.work, target);
    for (const source of sources) {
      const path =
        from === undefined ? join(context, source) : join(stages.get(from) ?? '', source);
      const isFile = sources.length > 1 || /\.\w+$/.test(source);
      await cp(path, isFile ? join(to, source) : to, { recursive: true, verbatimSymlinks: true });
    }
  }

  async function runIn(command: string) {
    if (command === 'npm ci --ignore-scripts --omit=dev') {
      return await copyProductionModules(join(stage.files, stage.work));
    }
    const isInstall = command === 'npm ci --ignore-scripts';
    if (isInstall) return await mkdir(join(stage.files, stage.work, 'node_modules'));
    const at = (part: string) => join(folder, stage.name, part);
    const script = [
      `mount -t overlay overlay -o lowerdir=/,upperdir=${at('files')},workdir=${at('work')} ${at('root')}`,
      ...['/proc', '/dev'].map((path) => `mount --rbind ${path} ${at('root')}${path}`),
      `modules=${at('root')}${stage.work}/node_modules`,
      `if [ -d "$modules" ] && [ -z "$(ls "$modules")" ]; then mount --bind ${MODULES} "$modules"; fi`,
      'exec chroot "$0" sh -euc "$1"',
    ].join('\n');
    const inside = `cd ${stage.work}\n${command}`;
    await execute('unshare', ['--mount', 'sh', '-euc', script, at('root'), inside]);
  }

  function inside(volume: string, command: readonly string[]): string[] {
    const root = join(folder, 'last', 'root');
    const [id = '', group = ''] = user.split(':');
    const script = [
      `mount -t overlay overlay -o lowerdir=${stage.files}:/ ${root}`,
      ...['/proc', '/dev'].map((path) => `mount --rbind ${path} ${root}${path}`),
      `mount --bind ${volume} ${root}/data`,
      `exec chroot ${root} sh -euc 'cd ${stage.work}; exec setpriv --reuid ${id} --regid ${group} --clear-groups --no-new-privs --bounding-set=-all "$@"' sh "$@"`,
    ].join('\n');
    return ['unshare', '--mount', 'sh', '-euc', script, 'sh', ...command];
  }

  return { files: stage.files, env: stage.env, entrypoint, cmd, healthcheck, inside };
}
