import { z } from 'zod';
import { oneLine } from '../../contracts/one-line.ts';
import { createEncryption, type Encryption } from '../../store/encryption.ts';
import type { Store } from '../../store/store.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import type { CheckTypes } from '../checks/registry.ts';
import { secretsOf, withoutSecrets } from '../checks/secret-values.ts';

/** Settings of a monitor as they may be stored: an older version took names with nothing to see in them. */
export const storedSettings = ({ schema }: CheckTypes) =>
  z.preprocess((stored) => {
    const { name, target } = (stored ?? {}) as { name?: unknown; target?: unknown };
    if (typeof name !== 'string' || oneLine(name) !== '') return stored;
    return { ...(stored as object), name: oneLine(String(target)) || 'Monitor' };
  }, schema);

/** What is stored of the settings of a monitor. */
export interface StoredDefinition {
  /** Without its secrets; all of it in what older versions stored. */
  definition: MonitorDefinition;
  /** All of it, encrypted; absent when it holds no secrets. */
  sealed?: string | undefined;
}

const PURPOSE = 'askwatch settings of monitors';

/**
 * Encrypts the settings of monitors that hold secrets, with the key of the stored data: the one that is there, else one that
 * is made when it is first needed.
 */
export async function openDefinitionEncryption({ key: file }: Store, types: CheckTypes) {
  const settings = storedSettings(types);
  let encryption: Encryption | undefined;

  /** Takes the key that is there. */
  async function readKey(): Promise<void> {
    const known = await file.read();
    if (typeof known === 'object') encryption = createEncryption(known.key, PURPOSE);
  }

  await readKey();
  return {
    /** Takes the key that is there by now: another process may have made the first one. */
    readKey,
    /** Makes sure that there is a key, if this needs one. Call it before `close`. */
    async prepare(definition: MonitorDefinition): Promise<void> {
      if (encryption || secretsOf(definition).length === 0) return;
      encryption = createEncryption(await file.make(), PURPOSE);
    },
    /** As it is to be stored. `id` is the monitor's: no other can be given its secrets. */
    encrypt(definition: MonitorDefinition, id: string): StoredDefinition {
      if (secretsOf(definition).length === 0) return { definition };
      if (!encryption) throw new Error('The key was not prepared.');
      return {
        definition: withoutSecrets(definition),
        sealed: encryption.encrypt(JSON.stringify(definition), id),
      };
    },
    /** All of it; undefined when it was encrypted with another key. */
    decrypt({ definition, sealed }: StoredDefinition, id: string): MonitorDefinition | undefined {
      if (sealed === undefined) return definition;
      const text = encryption?.decrypt(sealed, id);
      return text === undefined ? undefined : settings.parse(JSON.parse(text));
    },
  };
}
