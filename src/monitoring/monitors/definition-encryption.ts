import { createEncryption, type Encryption } from '../../store/encryption.ts';
import type { Store } from '../../store/store.ts';
import type { MonitorDefinition } from '../checks/check-type.ts';
import type { CheckTypes } from '../checks/registry.ts';
import { secretsOf, withoutSecrets } from '../checks/secret-values.ts';

/** The stored part of a monitor's settings. */
export interface StoredDefinition {
  /** Without secrets. */
  definition: MonitorDefinition;
  /** All settings, encrypted; absent if they have no secrets. */
  sealed?: string;
}

const PURPOSE = 'askwatch settings of monitors';

export type DefinitionEncryption = Awaited<ReturnType<typeof openDefinitionEncryption>>;

/** Uses the store's key, or creates it when the first monitor with secrets needs it. */
export async function openDefinitionEncryption({ key }: Store, { schema }: CheckTypes) {
  let encryption: Encryption | undefined;

  async function readKey(): Promise<void> {
    const stored = await key.read();
    if (typeof stored === 'object') encryption = createEncryption(stored.key, PURPOSE);
  }

  await readKey();
  return {
    /** Reads the key again, because another process may have created it. */
    readKey,
    /** Makes sure that there is a key, if these settings need one. Call it before `encrypt`. */
    async prepare(definition: MonitorDefinition): Promise<void> {
      if (encryption || secretsOf(definition).length === 0) return;
      encryption = createEncryption(await key.make(), PURPOSE);
    },
    /** The text is bound to the monitor's `id`, so that no other monitor can be given its secrets. */
    encrypt(definition: MonitorDefinition, id: string): StoredDefinition {
      if (secretsOf(definition).length === 0) return { definition };
      if (!encryption) throw new Error('The key was not prepared.');
      return {
        definition: withoutSecrets(definition),
        sealed: encryption.encrypt(JSON.stringify(definition), id),
      };
    },
    /** All settings; undefined if they were encrypted with another key. */
    decrypt({ definition, sealed }: StoredDefinition, id: string): MonitorDefinition | undefined {
      if (sealed === undefined) return definition;
      const text = encryption?.decrypt(sealed, id);
      return text === undefined ? undefined : schema.parse(JSON.parse(text));
    },
  };
}
