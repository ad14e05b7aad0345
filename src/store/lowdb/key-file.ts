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

/** An operator writes this word in place of a lost key. */
const GIVEN_UP = 'lost';

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
    async restore(stored) {
      assertOpen();
      if (stored !== 'missing') {
        const text = stored === 'given up' ? GIVEN_UP : stored.key;
        return await replaceFile(path, `${text}\n`);
      }
      await removeIfThere(path);
      await syncFolder(folder);
    },
  };
}
