import { setTimeout as pause } from 'node:timers/promises';
import type { webApi } from '@slack/bolt';
import type { Logger } from 'pino';
import { type Collection, createEncryption, type Following } from '../../bot/platform.ts';
import { DeliveryError } from '../../bot/shared/errors.ts';
import { isAccessEnded, readFailure } from '../api/call-failure.ts';
import type { Paces } from '../api/paces.ts';
import { createWorkspace, type Workspace } from './workspace.ts';
import type { Workspaces } from './workspaces.ts';

export interface Installation {
  teamId: string;
  botToken: string;
  botUserId: string;
}

/** A stored installation by the id of its workspace, encrypted. The key `sealed` is on disk and stays. */
export interface EncryptedInstallation {
  sealed: string;
  /** The workspace has removed Askwatch, and its data is being deleted. */
  isRemoved?: boolean;
}

/**
 * A workspace that installed the app. Its states:
 *
 * - installed, from `install` or the start. A new installation replaces it; replies under way are still shown.
 * - unused: still stored, but encrypted with another secret, or refused by Slack with a code that may pass. A new installation
 *   makes it installed, a removal deletes it.
 * - removed, when Slack reports it or says that the token is gone for good: marked in the store, its data is deleted, then the
 *   installation. A start continues that after a kill.
 */
interface InstalledEntry {
  workspace: Workspace;
  teamId: string;
  /** No two installations are encrypted alike. */
  sealed: string;
}

interface InstalledOptions {
  installations: Collection<EncryptedInstallation>;
  /** The key for the installations comes from it. */
  clientSecret: string;
  clientOf(token: string, teamId: string): webApi.WebClient;
  fetch: typeof fetch;
  paces: Paces;
  /** Deletes all data of a workspace except its installation; the next start continues it after a kill. */
  forgetAll(teamId: string): Promise<void>;
  log: Logger;
}

/** Codes after which a token never works again. Other codes may come from the network. Source: Slack docs, "auth.test". */
const TOKEN_GONE = new Set(['account_inactive', 'token_revoked']);
const AGAIN = 'Install it again at /slack/install.';
const REMOVED = `a workspace removed Askwatch. ${AGAIN}`;

const OTHER_SECRET =
  "SLACK_CLIENT_SECRET: a workspace's installation is encrypted with another secret; set that one again, or reinstall Askwatch in the workspace at /slack/install";

/** Answers under way in a removed workspace end within this time. */
const LAST_ANSWERS_MS = 30_000;

/** The bot's name in the manifest, shown in place of its mention. */
const BOT_NAME = 'Askwatch';

/** The workspaces that installed the app. The bot names a channel with its workspace: `T0123/C0123`. */
export class InstalledWorkspaces implements Workspaces {
  private readonly options: InstalledOptions;
  private readonly encryption: ReturnType<typeof createEncryption>;
  private readonly installed = new Map<string, InstalledEntry>();
  /** The encrypted installations of unused workspaces. */
  private readonly unused = new Map<string, string>();
  /** The encrypted installations of workspaces that were removed before the start. */
  private readonly removedBefore = new Map<string, string>();
  /** Workspaces that are no longer installed, with replies under way. */
  private readonly leaving = new Set<Workspace>();
  private readonly forgetting = new Set<Promise<void>>();
  private following: Following | undefined;

  constructor(options: InstalledOptions) {
    this.options = options;
    this.encryption = createEncryption(options.clientSecret, 'askwatch slack installations');
  }

  async open(signal: AbortSignal): Promise<void> {
    const { installations, log } = this.options;
    this.following = await installations.follow((changed) => {
      for (const { id, document } of changed) this.follow(id, document);
    });
    log.info({ workspaces: this.installed.size }, 'add workspaces at /slack/install');
    for (const [teamId, sealed] of this.removedBefore) void this.forgetLeft(teamId, sealed);
    this.removedBefore.clear();
    void this.findLeft(signal);
  }

  async of(teamId: string | undefined): Promise<Workspace | undefined> {
    return this.installed.get(teamId ?? '')?.workspace;
  }

  async at(name: string): Promise<{ workspace: Workspace; channel: string }> {
    const [teamId = '', channel] = name.split('/');
    const found = this.installed.get(teamId);
    if (found && channel) return { workspace: found.workspace, channel };
    const message =
      channel === undefined
        ? `With several workspaces, name the channel with its workspace: slack:T0123/${name}.`
        : `Askwatch isn’t installed in the workspace ${teamId}, or was removed. ${AGAIN}`;
    throw new DeliveryError(message, { permanent: true, closed: channel !== undefined });
  }

  nameOf({ self }: Workspace, name: string): string {
    return `${self.teamId}/${name}`;
  }

  async drained(): Promise<void> {
    for (const workspace of this.everyone()) workspace.hurry();
    const replies = this.everyone().map(({ conversation }) => conversation.drained());
    await Promise.all([...replies, ...this.forgetting]);
  }

  close(): void {
    this.following?.stop();
    for (const workspace of this.everyone()) workspace.close();
  }

  /** Stores an installation in place of an earlier one, and uses it at once. */
  async install(installation: Installation): Promise<void> {
    const { teamId } = installation;
    const sealed = this.encryption.encrypt(JSON.stringify(installation), teamId);
    await this.options.installations.erase(teamId, () => ({ sealed }));
    // `follow` has entered it already, unless nothing is followed yet.
    if (this.installed.get(teamId)?.sealed !== sealed) this.enter(installation, sealed);
    this.options.log.info({ teamId }, 'a workspace installed Askwatch');
  }

  async removed(teamId: string): Promise<void> {
    const { log } = this.options;
    const sealed = this.unused.get(teamId);
    if (sealed) {
      this.unused.delete(teamId);
      log.warn({ teamId }, REMOVED);
      return await this.forgetLeft(teamId, sealed);
    }
    const entry = this.installed.get(teamId);
    if (!entry) return;
    if (await this.isLetIn(entry)) {
      log.info({ teamId }, 'a workspace that removed Askwatch has reinstalled it');
      return;
    }
    // Slack sends two events, and the app may be installed again in the meantime.
    if (this.installed.get(teamId) !== entry) return;
    log.warn({ teamId }, REMOVED);
    await this.exit(entry, { forget: true });
  }

  private everyone(): Workspace[] {
    return [...[...this.installed.values()].map(({ workspace }) => workspace), ...this.leaving];
  }

  private enter({ teamId, botUserId, botToken }: Installation, sealed: string): void {
    const { clientOf, fetch, paces, log } = this.options;
    const before = this.installed.get(teamId);
    const workspace = createWorkspace({
      client: clientOf(botToken, teamId),
      self: { userId: botUserId, teamId, name: BOT_NAME },
      fetch,
      paces,
      log: log.child({ teamId }),
      onRefused: (refusal) => void this.endAccess(entry, refusal),
      // Slack continues its counts after a new installation.
      counts: before?.workspace.counts,
    });
    const entry = { workspace, teamId, sealed };
    this.installed.set(teamId, entry);
    this.unused.delete(teamId);
    if (before) this.leave(before);
  }

  private async endAccess(entry: InstalledEntry, refusal: unknown): Promise<void> {
    const { code } = readFailure(refusal);
    const { teamId } = entry;
    if (!isAccessEnded(code) || this.installed.get(teamId) !== entry) return;
    const message = `Slack no longer accepts Askwatch in a workspace. ${AGAIN}`;
    this.options.log.error({ teamId, reason: code }, message);
    await this.exit(entry, { forget: TOKEN_GONE.has(code) });
  }

  private leave({ workspace }: InstalledEntry): void {
    this.leaving.add(workspace);
    void workspace.conversation.drained().then(() => this.leaving.delete(workspace));
  }

  private drop(entry: InstalledEntry): void {
    const { workspace, teamId } = entry;
    if (this.installed.get(teamId) === entry) this.installed.delete(teamId);
    this.leave(entry);
    workspace.close();
  }

  private async exit(entry: InstalledEntry, { forget }: { forget: boolean }): Promise<void> {
    const { workspace, teamId, sealed } = entry;
    this.drop(entry);
    if (!forget) {
      this.unused.set(teamId, sealed);
      return;
    }
    const { installations, log } = this.options;
    await installations
      .update(teamId, (current) =>
        current?.sealed === sealed && !current.isRemoved ? { sealed, isRemoved: true } : current,
      )
      .catch((error: unknown) =>
        log.warn({ err: error, teamId }, 'could not record that a workspace removed Askwatch'),
      );
    const late = pause(LAST_ANSWERS_MS, undefined, { ref: false });
    await this.forgetLeft(teamId, sealed, Promise.race([workspace.conversation.drained(), late]));
  }

  private async forgetLeft(teamId: string, sealed: string, lastAnswers?: Promise<void>) {
    const forgotten = this.forgetInOrder(teamId, sealed, lastAnswers);
    this.forgetting.add(forgotten);
    await forgotten;
    this.forgetting.delete(forgotten);
  }

  /** Never rejects. */
  private async forgetInOrder(teamId: string, sealed: string, lastAnswers?: Promise<void>) {
    const { installations, forgetAll, log } = this.options;
    try {
      await forgetAll(teamId);
      if (lastAnswers) {
        // Answers under way are stored when they end. By then the app may be installed again.
        await lastAnswers;
        if (!this.installed.has(teamId)) await forgetAll(teamId);
      }
      // Last, since its mark tells the next start to continue. It may be a newer installation by now.
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

  /** Finds workspaces that removed the app while nothing ran. One after another, since there may be hundreds. */
  private async findLeft(signal: AbortSignal): Promise<void> {
    for (const { workspace } of [...this.installed.values()]) {
      if (signal.aborted) return;
      try {
        await workspace.client.auth.test();
      } catch (error) {
        await workspace.checkAccess(error);
      }
    }
  }

  /** Applies a stored change: during a hand-over the earlier process still stores installations. */
  private follow(teamId: string, stored: EncryptedInstallation | undefined): void {
    const { log } = this.options;
    const entry = this.installed.get(teamId);
    if (!stored || stored.isRemoved) {
      this.unused.delete(teamId);
      if (entry && (!stored || entry.sealed === stored.sealed)) {
        log.info({ teamId }, 'a workspace removed Askwatch before the hand-over');
        this.drop(entry);
      }
      if (stored && !this.following) this.removedBefore.set(teamId, stored.sealed);
      return;
    }
    const { sealed } = stored;
    if (entry?.sealed === sealed || this.unused.get(teamId) === sealed) return;
    const text = this.encryption.decrypt(sealed, teamId);
    if (text !== undefined) {
      this.enter(JSON.parse(text) as Installation, sealed);
      return;
    }
    this.unused.set(teamId, sealed);
    log.warn({ teamId }, OTHER_SECRET);
  }

  /** False if Slack refuses or doesn't answer: it did report the removal. The app may be installed again by now. */
  private async isLetIn({ workspace, teamId }: InstalledEntry): Promise<boolean> {
    try {
      await workspace.client.auth.test();
      return true;
    } catch (error) {
      this.options.log.debug(
        { teamId, reason: readFailure(error).code },
        'a token no longer works',
      );
      return false;
    }
  }
}
