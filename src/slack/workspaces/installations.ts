import { type Collection, createEncryption } from '../../bot/platform.ts';

/** What a workspace gave when it installed the app. */
export interface Installation {
  teamId: string;
  botToken: string;
  botUserId: string;
}

/** An installation as it is stored, by the id of its workspace, encrypted. The key `sealed` is on disk and stays. */
export interface EncryptedInstallation {
  sealed: string;
}

/** An installation, and how it is stored; no two are stored alike. */
export interface KeptInstallation extends EncryptedInstallation {
  installation: Installation;
}

/** The installations of all workspaces, kept for the next start. */
export type Installations = ReturnType<typeof createInstallations>;

/** Keeps installations in the collection, encrypted with a key of the app's client secret. */
export function createInstallations(
  collection: Collection<EncryptedInstallation>,
  clientSecret: string,
) {
  const seal = createEncryption(clientSecret, 'askwatch slack installations');

  return {
    /** All of them; `unreadable` are the workspaces whose own was encrypted with another client secret. */
    async list() {
      const kept: KeptInstallation[] = [];
      const unreadable: Array<EncryptedInstallation & { teamId: string }> = [];
      for (const { id, document } of await collection.list()) {
        const text = seal.decrypt(document.sealed, id);
        if (text === undefined) unreadable.push({ ...document, teamId: id });
        // Nobody else could encrypt it.
        else kept.push({ ...document, installation: JSON.parse(text) as Installation });
      }
      return { kept, unreadable };
    },
    /** Replaces what the workspace gave before, of which nothing is left. */
    async keep(installation: Installation) {
      const { teamId } = installation;
      const stored = { sealed: seal.encrypt(JSON.stringify(installation), teamId) };
      await collection.erase(teamId, () => stored);
      return { ...stored, installation };
    },
    /** Removes the installation of a workspace, unless it has given another one by now. */
    async forget(teamId: string, known: EncryptedInstallation) {
      await collection.update(teamId, (current) =>
        current?.sealed === known.sealed ? undefined : current,
      );
    },
  };
}
