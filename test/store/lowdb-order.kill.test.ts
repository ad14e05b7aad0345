import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderOnDisk } from '../helpers/temporary-folder.ts';
import { mayTrace, startChild } from './children/start-child.ts';

// Names differ between processors; `?` means where it exists.
const CALLS = 'fsync,fdatasync,write,?rename,?renameat,?renameat2,?link,?linkat,?unlink,?unlinkat';

/** System calls about the folder and lines printed, as `call name`, with the names that are made up replaced. */
function callsIn(trace: string, folder: string): string[] {
  return trace.split('\n').flatMap((line) => {
    const [, call = '', rest = ''] = /^\d+ +([a-z]+?)(?:at2?)?\((.*)/.exec(line) ?? [];
    const printed = /^1<.*>, "(\w+)\\n"/.exec(rest)?.[1];
    if (call === 'write' && printed) return [`say ${printed}`];
    const paths = [...rest.matchAll(/[<"](\/[^<>"]*)/g)]
      .map(([, path = '']) => path)
      .filter((path) => path.startsWith(folder))
      .map((path) =>
        path
          .slice(folder.length + 1)
          .replace(/\.?[0-9a-f]{40}\.json/, 'document')
          .replace(/(document(\.bak)?|\.results)\.tmp/, 'temporary'),
      );
    return paths.length === 0 ? [] : [`${call} ${paths.at(0)}`];
  });
}

test('nothing is acknowledged before the disk has it, and no name changes before its contents are there', {
  // In CI a missing strace fails: no other test sees what is not on the disk yet.
  skip: !process.env.CI && !mayTrace(),
}, async () => {
  if (!mayTrace())
    throw new Error('strace is not here or may not trace. Install it, as .ci/run does.');
  const folder = join(await folderOnDisk(), 'data');
  const trace = join(await folderOnDisk(), 'trace');
  const child = startChild(
    'write-once.mjs',
    [folder],
    `exec strace -f -y -qq -s 64 -e signal=none -e trace=${CALLS} -o '${trace}' "$@"`,
  );
  await child.line((line) => line === 'erased');
  await child.exit;
  const calls = callsIn(await readFile(trace, 'utf8'), folder);
  const between = (from: string, to: string) =>
    calls.slice(calls.indexOf(`say ${from}`) + 1, calls.indexOf(`say ${to}`));

  const replacing = (folder: string) => [
    `write ${folder}/temporary`,
    `fdatasync ${folder}/temporary`,
    `unlink ${folder}/document.bak`,
    `link ${folder}/document`,
    `rename ${folder}/temporary`,
    `fsync ${folder}`,
  ];
  expect(between('first', 'second')).toEqual(replacing('notes'));
  // The version before must be gone for good first, or it could stand up after a power cut.
  expect(between('second', 'removed')).toEqual([
    // Leftovers of a full disk, for the document and its previous version.
    'unlink notes/temporary',
    'unlink notes/temporary',
    'unlink notes/document.bak',
    'fsync notes',
    'unlink notes/document',
    'fsync notes',
  ]);
  expect(between('removed', 'created')).toEqual([
    'fsync ',
    'fsync results',
    'write results/1970-01-01.ndjson',
    'fdatasync results/1970-01-01.ndjson',
  ]);
  expect(between('created', 'appended')).toEqual([
    'write results/1970-01-01.ndjson',
    'fdatasync results/1970-01-01.ndjson',
  ]);
  // The folder is new, so its own name is synced first.
  expect(between('appended', 'made')).toEqual(['fsync ', ...replacing('cards')]);
  expect(between('made', 'replaced')).toEqual(replacing('cards'));
  expect(between('replaced', 'put').slice(-2)).toEqual([
    'write items/items.ndjson',
    'fdatasync items/items.ndjson',
  ]);
  expect(between('put', 'erased')).toEqual([
    'write items/.items.ndjson.tmp',
    'fdatasync items/.items.ndjson.tmp',
    'rename items/.items.ndjson.tmp',
    'fsync items',
  ]);
});
