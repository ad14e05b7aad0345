import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// Run by the build, in the repository's root. Packages that became part of our own files go with them wherever these go, and
// most licences ask for their text to go along.

/** esbuild's description of a build; its keys are the paths of the files that were read. */
interface Metafile {
  inputs: Record<string, unknown>;
}

/** Not every package spells it the same. */
const LICENCE = /^(?:licen[cs]e|copying|notice)/i;

const folders = ['program', 'page']
  .map((build) => JSON.parse(readFileSync(`dist/${build}.meta.json`, 'utf8')) as Metafile)
  .flatMap(({ inputs }) => Object.keys(inputs))
  .flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);

const texts = [...new Set(folders)].map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (!license) throw new Error(`${folder} does not declare its licence.`);
  const files = readdirSync(folder).filter((file) => LICENCE.test(file));
  const written = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version}, ${license}`, ...written].join('\n\n');
});

const line = `\n\n${'-'.repeat(72)}\n\n`;
const head = 'Askwatch contains these packages, each under its own licence.';
writeFileSync('dist/LICENCES.txt', `${[head, ...texts.sort()].join(line)}\n`);
