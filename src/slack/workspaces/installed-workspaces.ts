import { setTimeout as pause } from 'node:timers/promises';
import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { type Collection, createEncryption, type Following } from '../../bot/platform.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import { isAccessEnded, readFailure } from '../api/call-failure.ts';
import type { Paces } from '../api/paces.ts';
import { createWorkspace, type Workspace } from './workspace.ts';
import type { Workspaces } from './workspaces.ts';

/** What a workspace gave when it installed the app. */
export interface Installation {
  teamId: string;
  botToken: string;
  botUserId: string;
}

/** An installation as it is stored, by the id of its workspace, encrypted. The key `sealed` is on disk and stays. */
export interface EncryptedInstallation {
  sealed: string;
  /** The workspace has removed Askwatch, and what is kept of it is being forgotten. */
  isRemoved?: boolean;
}

/** The workspaces that installed the app, now and from now on. */
export interface InstalledWorkspaces extends Workspaces {
  /** Keeps an installation, in place of an earlier one of that workspace, and speaks with it at once. */
  install(installation: Installation): Promise<void>;
}

/** A workspace, and how its installation is stored; no two are stored alike. */
interface Installed {
  workspace: Workspace;
  teamId: string;
  sealed: string;
}

/** Codes after which a token never works again; the others can be the fault of a network. Source: Slack docs, "auth.test". */
const TOKEN_GONE = new Set(['account_inactive', 'token_revoked']);

const AGAIN = 'Install it again at /slack/install.';
const REMOVED = `a workspace removed Askwatch. ${AGAIN}`;

const OTHER_SECRET =
  "SLACK_CLIENT_SECRET: a workspace's installation is encrypted with another secret; set that one again, or reinstall Askwatch in the workspace at /slack/install";

/** How long the end of answers is waited for in a workspace that left. */
const LAST_ANSWERS_MS = 30_000;

/** The bot's name in the manifest, as shown in place of its mention. */
const BOT_NAME = 'Askwatch';

/** Each with its own token, limits and identity; the bot names a channel by its workspace, too: `T0123/C0123`. */
export function installedWorkspaces(options: {
  /** The installations, kept for the next start, encrypted with a key of the app's client secret. */
  installations: Collection<EncryptedInstallation>;
  clientSecret: string;
  clientOf(token: string, teamId: string): webApi.WebClient;
  fetch: typeof fetch;
  paces: Paces;
  /** Forgets all that is kept of a workspace but its installation; a start goes on with what a kill interrupts. */
  forgetAll(teamId: string): Promise<void>;
  log: Logger;
}): InstalledWorkspaces {
  const { installations, clientSecret, clientOf, fetch, paces, forgetAll, log } = options;
  const encryption = createEncryption(clientSecret, 'askwatch slack installations');
  const installed = new Map<string, Installed>();
  /** What is stored and of no use now: encrypted with another secret, refused, or removed. */
  const unused = new Map<string, string>();
  let following: Following | undefined;
  /** Of those whose removal an earlier process did not come to the end of, what is stored. */
  const removedBefore = new Map<string, string>();
  /** Of those that are no longer there, the ones with replies under way. */
  const leaving = new Set<Workspace>();
  /** What is kept of workspaces that left is being forgotten. */
  const forgetting = new Set<Promise<void>>();

  function enter({ teamId, botUserId, botToken }: Installation, sealed: string): void {
    const before = installed.get(teamId);
    const workspace = createWorkspace({
      client: clientOf(botToken, teamId),
      self: { userId: botUserId, teamId, name: BOT_NAME },
      ...{ fetch, paces },
      log: log.child({ teamId }),
      onRefused: (refusal) => void end(refusal),
      // Slack counts on, however often the app is installed.
      ...(before && { counts: before.workspace.counts }),
    });
    const entry = { workspace, teamId, sealed };
    installed.set(teamId, entry);
    unused.delete(teamId);
    if (before) leave(before);

    /** Ends this workspace, when it is its token that Slack refuses. */
    async function end(refusal: unknown): Promise<void> {
      const { code } = readFailure(refusal);
      if (!isAccessEnded(code) || installed.get(teamId) !== entry) return;
      log.error(
        { teamId, reason: code },
        `Slack no longer accepts Askwatch in a workspace. ${AGAIN}`,
      );
      await exit(entry, { forget: TOKEN_GONE.has(code) });
    }
  }

  /** Replies that are under way with it are shown to their end. */
  function leave({ workspace }: Installed): void {
    leaving.add(workspace);
    void workspace.conversation.drained().then(() => leaving.delete(workspace));
  }

  /** From here on there is nothing to be said in it. */
  function drop(entry: Installed): void {
    const { workspace, teamId } = entry;
    if (installed.get(teamId) === entry) installed.delete(teamId);
    leave(entry);
    workspace.close();
  }

  async function exit(entry: Installed, { forget }: { forget: boolean }): Promise<void> {
    const { workspace, teamId, sealed } = entry;
    drop(entry);
    if (!forget) {
      unused.set(teamId, sealed);
      return;
    }
    // After a kill, the next start continues to forget.
    await installations
      .update(teamId, (current) =>
        current?.sealed === sealed && !current.isRemoved ? { sealed, isRemoved: true } : current,
      )
      .catch((error: unknown) =>
        log.warn({ err: error, teamId }, 'could not record that a workspace removed Askwatch'),
      );
    const late = pause(LAST_ANSWERS_MS, undefined, { ref: false });
    await forgetLeft(teamId, sealed, Promise.race([workspace.conversation.drained(), late]));
  }

  async function forgetLeft(teamId: string, sealed: string, lastAnswers?: Promise<void>) {
    const forgotten = forgetInOrder(teamId, sealed, lastAnswers);
    forgetting.add(forgotten);
    await forgotten;
    forgetting.delete(forgotten);
  }

  /** Never rejects. */
  async function forgetInOrder(teamId: string, sealed: string, lastAnswers?: Promise<void>) {
    try {
      await forgetAll(teamId);
      if (lastAnswers) {
        // Answers that were being given are remembered when they end. By then it may be installed again.
        await lastAnswers;
        if (!installed.has(teamId)) await forgetAll(teamId);
      }
      // Last: while it is there, a start finds out that the workspace left. It may have given another one by now.
      await installations.update(teamId, (current) =>
        current?.sealed === sealed ? undefined : current,
      );
    } catch (error) {
      log.error(
        { err: error, teamId },
        'could not delete the data of a workspace that removed Askwatch; retrying at the next start',
      );
    }
  }

  /** One after another, since there may be hundreds: some may have left while nobody listened. */
  async function findLeft(signal: AbortSignal): Promise<void> {
    for (const { workspace } of [...installed.values()]) {
      if (signal.aborted) return;
      try {
        await workspace.client.auth.test();
      } catch (error) {
        await workspace.checkAccess(error);
      }
    }
  }

  /** Takes note of what is stored now: during a hand-over the process before still takes installations. */
  function follow(teamId: string, stored: EncryptedInstallation | undefined): void {
    const entry = installed.get(teamId);
    if (!stored || stored.isRemoved) {
      unused.delete(teamId);
      if (entry && (!stored || entry.sealed === stored.sealed)) {
        log.info({ teamId }, 'a workspace removed Askwatch before the hand-over');
        drop(entry);
      }
      if (stored && !following) removedBefore.set(teamId, stored.sealed);
      return;
    }
    const { sealed } = stored;
    if (entry?.sealed === sealed || unused.get(teamId) === sealed) return;
    const text = encryption.decrypt(sealed, teamId);
    // Nobody else could encrypt it.
    if (text !== undefined) {
      enter(JSON.parse(text) as Installation, sealed);
      return;
    }
    unused.set(teamId, sealed);
    log.warn({ teamId }, OTHER_SECRET);
  }

  const everyone = () => [...[...installed.values()].map(({ workspace }) => workspace), ...leaving];

  /** Slack tells of a removal in its own time; the app can have been installed again before. */
  async function isLetIn({ workspace, teamId }: Installed): Promise<boolean> {
    try {
      await workspace.client.auth.test();
      return true;
    } catch (error) {
      // Refused, or Slack cannot be asked: it did say that the app was removed.
      log.debug({ teamId, reason: readFailure(error).code }, 'a token no longer works');
      return false;
    }
  }

  return {
    async open(signal) {
      following = await installations.follow((changed) => {
        for (const { id, document } of changed) follow(id, document);
      });
      log.info({ workspaces: installed.size }, 'add workspaces at /slack/install');
      for (const [teamId, sealed] of removedBefore) void forgetLeft(teamId, sealed);
      removedBefore.clear();
      void findLeft(signal);
    },
    of: async (teamId) => installed.get(teamId ?? '')?.workspace,
    async at(name) {
      const [teamId = '', channel] = name.split('/');
      const found = installed.get(teamId);
      if (found && channel) return { workspace: found.workspace, channel };
      const message =
        channel === undefined
          ? `With several workspaces, name the channel with its workspace: slack:T0123/${name}.`
          : `Askwatch isn’t installed in the workspace ${teamId}, or was removed. ${AGAIN}`;
      throw new DeliveryError(message, { permanent: true, closed: channel !== undefined });
    },
    nameOf: ({ self }, name) => `${self.teamId}/${name}`,
    async drained() {
      for (const workspace of everyone()) workspace.hurry();
      await Promise.all([
        ...everyone().map(({ conversation }) => conversation.drained()),
        ...forgetting,
      ]);
    },
    close() {
      following?.stop();
      for (const workspace of everyone()) workspace.close();
    },
    async install(installation) {
      const { teamId } = installation;
      const sealed = encryption.encrypt(JSON.stringify(installation), teamId);
      // Of what the workspace gave before nothing is left.
      await installations.erase(teamId, () => ({ sealed }));
      // Where nobody follows yet.
      if (installed.get(teamId)?.sealed !== sealed) enter(installation, sealed);
      log.info({ teamId }, 'a workspace installed Askwatch');
    },
    async removed(teamId) {
      const rest = unused.get(teamId);
      if (rest) {
        unused.delete(teamId);
        log.warn({ teamId }, REMOVED);
        return await forgetLeft(teamId, rest);
      }
      const entry = installed.get(teamId);
      if (!entry) return;
      if (await isLetIn(entry)) {
        log.info({ teamId }, 'a workspace that removed Askwatch has reinstalled it');
        return;
      }
      // Slack tells it by two events; and it can be installed again while Slack is asked.
      if (installed.get(teamId) !== entry) return;
      log.warn({ teamId }, REMOVED);
      await exit(entry, { forget: true });
    },
  };
}
