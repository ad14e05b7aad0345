import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CorruptDocumentError } from '../errors.ts';
import type { StoreKey } from '../store.ts';
import { ifThere, removeIfThere, replaceFile, syncFolder } from './files.ts';

const NAME = 'secret.key';

/** 256 bits as base64url. */
const KEY_BYTES = 32;
const KEY = /^[\w-]{43}$/;

/** What an operator writes into the file in place of a key that is gone for good. */
const GIVEN_UP = 'lost';

/** Writes what another engine has kept in place of this file: the key, or that it is given up; removes it where it had none. */
export async function writeKeyFile(folder: string, key: string | undefined): Promise<void> {
  const path = join(folder, NAME);
  if (key !== undefined) return await replaceFile(path, `${key}\n`);
  await removeIfThere(path);
  await syncFolder(folder);
}

/** The key of a data folder, in a file of its own that only the owner reads; made when it is first asked for. */
export function createKeyFile(folder: string, assertOpen: () => void): StoreKey {
  const path = join(folder, NAME);
  let making: Promise<string> | undefined;

  const read: StoreKey['read'] = async () => {
    assertOpen();
    const text = (await ifThere(readFile(path, 'utf8')))?.trim();
    if (text === undefined) return 'missing';
    if (KEY.test(text)) return { key: text };
    if (text === GIVEN_UP) return 'given up';
    throw new CorruptDocumentError(
      `The key file ${path} is damaged. Restore it from a backup. If the key is gone for good, write the word ${GIVEN_UP} into it: you then have to enter again what was encrypted with it.`,
    );
  };

  async function readOrMake(): Promise<string> {
    const known = await read();
    if (typeof known === 'object') return known.key;
    const key = randomBytes(KEY_BYTES).toString('base64url');
    // Whole and on the disk before anything is encrypted with it: a kill leaves no key, or this one.
    await replaceFile(path, `${key}\n`);
    return key;
  }

  return {
    place: path,
    read,
    make() {
      // Two that need the first key at once get the same one.
      making ??= readOrMake().finally(() => {
        making = undefined;
      });
      return making;
    },
  };
}
