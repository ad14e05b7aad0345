import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { ErrorCode } from '../../contracts/error.ts';
import type { MaintenanceWindow } from '../../contracts/monitoring-additions.ts';
import { HttpError } from '../../http/errors.ts';
import type { ChangedDocument, Collection, Store } from '../../store/store.ts';
import { isHeartbeat, type MonitorDefinition } from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import { lostSecretsOf } from '../checks/secret-values.ts';
import type { MonitorHistory } from '../history/history.ts';
import { createInitialState, type MonitorState, resetForNewTarget } from '../state/state.ts';
import { type ChangeLog, openChangeLog } from './change-log.ts';
import { type DefinitionEncryption, openDefinitionEncryption } from './definition-encryption.ts';
import { withoutParent } from './dependencies.ts';
import { createToken, hashToken } from './heartbeat.ts';
import {
  type IdempotencyKey,
  type IdempotentCreates,
  type KnownCreate,
  openIdempotentCreates,
} from './idempotency.ts';
import { type StoredManagedBy, sameManagedBy } from './managed-by.ts';
import {
  type MonitorStates,
  openStates,
  type SettleOptions,
  type StatefulMonitor,
  type StateTransition,
} from './state-store.ts';
import {
  isPresent,
  keyIsMissing,
  type MonitorDocument,
  monitorsCollection,
  newMonitorId,
  type StoredMonitor,
} from './stored-monitor.ts';

/** Default maximum of monitors: one process checks this many on time. */
export const MAX_MONITORS = 10_000;

/** Monitors are divided into this many parts; one process at a time checks a part. */
export const PARTS_COUNT = 256;

/** A monitor in memory, with its secrets and its newest state. */
export interface WatchedMonitor extends Omit<StoredMonitor, 'sealed'>, StatefulMonitor {
  readonly part: number;
}

/** Learns of every change to a monitor, made by any process. */
export interface MonitorListener {
  added(monitor: WatchedMonitor): void;
  edited(monitor: WatchedMonitor): void;
  removed(id: string): void;
  changedElsewhere(monitor: WatchedMonitor, before: MonitorState): void;
}

/** Returns the new values of an edit; absent ones don't change. */
export type ChangeMonitor = (monitor: WatchedMonitor) => {
  definition?: MonitorDefinition;
  maintenance?: MaintenanceWindow[];
  /** `null` releases it from its file. */
  managedBy?: StoredManagedBy | null;
  channels?: readonly string[];
};

export interface DeclaredMonitor {
  definition: MonitorDefinition;
  maintenance: MaintenanceWindow[];
  channels: readonly string[];
  managedBy: StoredManagedBy;
}

interface OpenMonitorsOptions {
  store: Store;
  history: Pick<MonitorHistory, 'addChanges' | 'cover' | 'forget' | 'openHours' | 'takeOpenHours'>;
  wallMs: () => number;
  log: Logger;
  limit?: number;
  types?: CheckTypes;
  /** A shared store's clock may be set back by this much; 30 s by default. */
  changesOverlapMs?: number;
}

/**
 * Reads all monitors into memory, which then follows the changes of all processes. Throws `CorruptDocumentError` if a monitor can't
 * be read, or if the key of its secrets is missing.
 */
export async function openMonitors(options: OpenMonitorsOptions): Promise<Monitors> {
  const { store, types = shippedTypes, changesOverlapMs } = options;
  const monitors = new Monitors({
    ...options,
    encryption: await openDefinitionEncryption(store, types),
    changeLog: await openChangeLog(store, { overlapMs: changesOverlapMs }),
  });
  await monitors.load();
  return monitors;
}

type ChangedMonitor = ChangedDocument<MonitorDocument>;

/** All monitors: read from memory, kept in the store. */
export class Monitors {
  readonly changeLog: Pick<ChangeLog, 'mark' | 'number' | 'since' | 'cursor'>;
  readonly #options: OpenMonitorsOptions;
  readonly #log: Logger;
  readonly #collection: Collection<MonitorDocument>;
  readonly #encryption: DefinitionEncryption;
  readonly #changeLog: ChangeLog;
  readonly #idempotentCreates: IdempotentCreates;
  readonly #monitors = new Map<string, WatchedMonitor>();
  readonly #parts = Array.from({ length: PARTS_COUNT }, (): WatchedMonitor[] => []);
  readonly #idsByTokenHash = new Map<string, string>();
  /** Monitors that are being removed: nobody sees them, unless the store can't remove them. */
  readonly #leaving = new Set<string>();
  #states!: MonitorStates;
  #following!: Awaited<ReturnType<Collection<MonitorDocument>['follow']>>;
  #listener: MonitorListener | undefined;
  #adding = 0;
  /** Resolves when monitors that were encrypted with a new key are known. */
  #unlocking: Promise<unknown> = Promise.resolve();
  /** Resolves when the removals that an earlier run left unfinished are complete. */
  #removing: Promise<unknown> = Promise.resolve();

  constructor(
    options: OpenMonitorsOptions & { encryption: DefinitionEncryption; changeLog: ChangeLog },
  ) {
    const { store, types = shippedTypes, wallMs, log, encryption, changeLog } = options;
    this.#options = options;
    this.#log = log;
    this.#collection = store.collection(monitorsCollection(types));
    this.#encryption = encryption;
    this.#changeLog = changeLog;
    this.changeLog = changeLog;
    this.#idempotentCreates = openIdempotentCreates({
      store,
      wallMs,
      newMonitorId: () => newMonitorId(this.#monitors),
      exists: (id) => this.#monitors.has(id),
    });
  }

  /** Reads the stored monitors. Call it once, first. */
  async load(): Promise<void> {
    const { store, history } = this.#options;
    const stored: ChangedMonitor[] = [];
    let onChanged = (changed: readonly ChangedMonitor[]): void => {
      stored.push(...changed);
    };
    this.#following = await this.#collection.follow((changed) => onChanged(changed));
    const all = stored.splice(0);
    await this.#keepAll(all);
    this.#states = await openStates({
      store,
      monitors: this.#monitors,
      history,
      changeLog: this.#changeLog,
      onChangedElsewhere: (id, before) => {
        const monitor = this.get(id);
        if (monitor) this.#listener?.changedElsewhere(monitor, before);
      },
      log: this.#log,
    });
    onChanged = (changed) => this.#adoptAll(changed);
    this.#adoptAll(stored);
    // From now on this process knows changes that others may not know.
    await this.#changeLog.mark();
    const removed = all.filter(({ document }) => document && !isPresent(document));
    // In the background, because it waits until the history is read.
    this.#removing = Promise.all(removed.map(({ id }) => this.#deleteRest(id)));
  }

  async #keepAll(all: readonly ChangedMonitor[]) {
    const stored = all
      .flatMap(({ id, document }) => (isPresent(document) ? [{ id, document }] : []))
      .sort((a, b) => a.document.createdAtMs - b.document.createdAtMs);
    const locked = stored.filter(({ id, document }) => !this.#encryption.decrypt(document, id));
    if (locked.length > 0) await this.#giveUpSecrets(locked);
    for (const { id, document } of stored) this.#keep(this.#watchedMonitor(id, document));
  }

  /** Refuses to start with a wrong key, unless an operator declared the right one lost. */
  async #giveUpSecrets(locked: ReadonlyArray<{ id: string; document: StoredMonitor }>) {
    const { key } = this.#options.store;
    if ((await key.read()) !== 'given up') {
      throw keyIsMissing(
        key.place,
        locked.map(({ document }) => document),
      );
    }
    for (const { id, document } of locked) {
      const { name } = document.definition;
      const secrets = lostSecretsOf(document.definition);
      this.#log.error(
        { monitor: id, name, secrets },
        'the secrets of a monitor are lost; enter them again',
      );
      await this.#collection.update(id, (current) =>
        isPresent(current) ? { ...current, sealed: undefined } : current,
      );
    }
  }

  listen(listener: MonitorListener): void {
    this.#listener = listener;
  }

  /**
   * Resolves when all earlier changes of other processes are known here; with `notes` the times of their last checks, too.
   * `undefined` if there are no other processes.
   */
  catchUp(options?: { notes?: boolean }): Promise<void> | undefined {
    const definitions = this.#following.catchUp();
    const states = this.#states.catchUp(options);
    if (!definitions && !states) return undefined;
    return Promise.all([definitions, states]).then(async () => {
      await this.#unlocking;
    });
  }

  /** In the order of their creation. */
  all(): WatchedMonitor[] {
    const all = [...this.#monitors.values()];
    return this.#leaving.size === 0 ? all : all.filter(({ id }) => !this.#leaving.has(id));
  }

  /** In no particular order. */
  ofParts(parts: Iterable<number>): WatchedMonitor[] {
    return [...parts]
      .flatMap((part) => this.#parts[part] ?? [])
      .filter(({ id }) => !this.#leaving.has(id));
  }

  count(): number {
    // A monitor that is being removed may be gone from the map before its removal has ended.
    const leaving = [...this.#leaving].filter((id) => this.#monitors.has(id));
    return this.#monitors.size - leaving.length;
  }

  get(id: string): WatchedMonitor | undefined {
    return this.#leaving.has(id) ? undefined : this.#monitors.get(id);
  }

  byToken(token: string): WatchedMonitor | undefined {
    return this.get(this.#idsByTokenHash.get(hashToken(token)) ?? '');
  }

  /**
   * Stores a new monitor; `token` exists only in this answer. With an idempotency key, a repeat within 24 hours returns
   * the same monitor and token. Throws a 409 if there are too many, or if the key came with another body.
   */
  async add(
    definition: MonitorDefinition,
    idempotency?: IdempotencyKey,
  ): Promise<{ monitor: WatchedMonitor; token: string | undefined; repeated: boolean }> {
    if (idempotency === undefined) return await this.#create(definition, undefined);
    return await this.#idempotentCreates.run(idempotency, definition, (known) =>
      this.#create(definition, known),
    );
  }

  async #create(definition: MonitorDefinition, known: KnownCreate | undefined) {
    const token = tokenFor(definition, known);
    const before = known && this.get(known.monitor);
    if (before) {
      // The token of the create is no longer valid once it was renewed.
      const isValid = token !== undefined && hashToken(token) === before.tokenHash;
      return { monitor: before, token: isValid ? token : undefined, repeated: true };
    }
    const id = known?.monitor ?? newMonitorId(this.#monitors);
    const { monitor, isFirst } = await this.#addNew(id, {
      definition,
      tokenHash: token && hashToken(token),
      createId: known?.id,
      maintenance: [],
    });
    return { monitor, token, repeated: !isFirst };
  }

  /** Stores a new monitor. If another process stored one with this ID first, changes nothing, and `isFirst` is false. */
  async #addNew(
    id: string,
    created: Omit<StoredMonitor, 'createdAtMs' | 'state' | 'sealed'>,
  ): Promise<{ monitor: WatchedMonitor; isFirst: boolean }> {
    const { limit = MAX_MONITORS, wallMs } = this.#options;
    if (this.#monitors.size + this.#adding >= limit) throw tooManyMonitors(limit);
    const { definition } = created;
    const nowMs = wallMs();
    const awaitedFromMs = isHeartbeat(definition) ? nowMs : undefined;
    const state = { ...createInitialState(nowMs), awaitedFromMs };
    let isFirst = false;
    this.#adding += 1;
    try {
      await this.#encryption.prepare(definition);
      await this.#collection.update(id, (current) => {
        // Another process may have received a repeat at the same moment.
        isFirst = current === undefined;
        const encrypted = this.#encryption.encrypt(definition, id);
        return current ?? { ...created, ...encrypted, createdAtMs: nowMs, state };
      });
    } finally {
      this.#adding -= 1;
    }
    // The monitor of another process may not be known here yet.
    if (!isFirst) await this.#following.catchUp();
    const monitor = this.get(id);
    if (monitor === undefined)
      throw new Error(`The monitor ${id} was removed while it was created.`);
    if (isFirst) this.#log.info({ monitor: id, type: definition.check_type }, 'monitor created');
    return { monitor, isFirst };
  }

  /**
   * Stores the values that `change` returns; `undefined` if there is no such monitor. It may call `change` more than once, and
   * throws what that throws. A monitor with a new target is PENDING. Changes nothing if storing fails.
   */
  async edit(id: string, change: ChangeMonitor): Promise<WatchedMonitor | undefined> {
    const monitor = this.get(id);
    if (monitor === undefined) return undefined;
    let { target } = monitor.definition;
    await this.#encryption.prepare(change(monitor).definition ?? monitor.definition);
    // `erase`, because a replaced secret must not remain in any file.
    const document = await this.#collection.erase(id, (current) => {
      if (!isPresent(current)) return current;
      const { sealed: _, ...rest } = current;
      const definition = this.#decrypt(id, current);
      target = definition.target;
      const { maintenance, managedBy, channels } = current;
      const wanted = change({ ...monitor, definition, maintenance, managedBy, channels });
      const newChannels = wanted.channels ?? channels ?? [];
      const now = wanted.definition ?? definition;
      const isCheckedAlike =
        now.target === definition.target && isDeepStrictEqual(now.config, definition.config);
      return {
        ...rest,
        ...this.#encryption.encrypt(now, id),
        ...(!isCheckedAlike && { settingsChangedAtMs: this.#options.wallMs() }),
        maintenance: wanted.maintenance ?? maintenance,
        managedBy: wanted.managedBy === undefined ? managedBy : (wanted.managedBy ?? undefined),
        channels: newChannels.length > 0 ? [...newChannels] : undefined,
      };
    });
    if (document === undefined || this.#monitors.get(id) !== monitor) return undefined;
    if (monitor.definition.target !== target) await this.#restart(monitor);
    return monitor;
  }

  /** Makes a monitor PENDING because of its new target. The target of a heartbeat is only a label. */
  async #restart({ id, definition }: WatchedMonitor) {
    if (isHeartbeat(definition)) return;
    const nowMs = this.#options.wallMs();
    const settled = this.settle(id, (before) => resetForNewTarget(before, nowMs), { always: true });
    // The edit is stored; the next check stores the state at the latest.
    await settled?.saved?.catch((error: unknown) => {
      this.#log.error({ err: error, monitor: id }, 'could not store the state of a new target yet');
    });
  }

  async declare(id: string, declared: DeclaredMonitor): Promise<WatchedMonitor | undefined> {
    if (this.get(id) === undefined) {
      const token = tokenFor(declared.definition, undefined);
      const { monitor, isFirst } = await this.#addNew(id, {
        ...declared,
        channels: declared.channels.length > 0 ? [...declared.channels] : undefined,
        tokenHash: token && hashToken(token),
      });
      if (isFirst) return monitor;
    }
    return await this.edit(id, () => declared);
  }

  /** Updates the line of a declared monitor in memory; the next edit stores it. */
  locate(id: string, place: { file: string; line: number }): void {
    const monitor = this.get(id);
    if (monitor?.managedBy) monitor.managedBy = { ...monitor.managedBy, ...place };
  }

  /**
   * Replaces a heartbeat's token; the new one exists only in this answer. `undefined` if there is no such monitor. Changes
   * nothing if storing fails.
   */
  async renewToken(id: string): Promise<string | undefined> {
    const monitor = this.get(id);
    if (monitor === undefined) return undefined;
    const { token, tokenHash } = createToken();
    const document = await this.#collection.update(id, (current) =>
      isPresent(current) ? { ...current, tokenHash } : current,
    );
    if (document === undefined || this.#monitors.get(id) !== monitor) return undefined;
    this.#log.info({ monitor: id }, 'push token renewed');
    return token;
  }

  /**
   * Removes a monitor, its token and its history, so that soon no file contains any of it, even after a kill. Returns false if
   * there is no such monitor. It remains if storing fails.
   */
  async remove(id: string): Promise<boolean> {
    const monitor = this.get(id);
    if (monitor === undefined) return false;
    this.#leaving.add(id);
    this.#changeLog.setUnstored(id, true);
    try {
      const { createId } = monitor;
      if (createId !== undefined) await this.#idempotentCreates.markRemoved(createId);
      await this.#collection.erase(id, (current) => current && { removed: true as const });
    } finally {
      this.#leaving.delete(id);
      this.#changeLog.setUnstored(id, false);
    }
    this.#log.info({ monitor: id }, 'monitor removed');
    await this.#deleteRest(id);
    return true;
  }

  /** Deletes everything else about a removed monitor, and then its document. */
  async #deleteRest(id: string) {
    try {
      await this.#removeFromDependencies(id);
      await this.#options.history.forget(id);
      await this.#collection.update(id, () => undefined);
    } catch (error) {
      this.#log.error(
        { err: error, monitor: id },
        'could not delete the history of a removed monitor; the next start tries again',
      );
    }
  }

  async #removeFromDependencies(parent: string) {
    for (const { id, definition } of [...this.#monitors.values()]) {
      if (!definition.depends_on?.includes(parent)) continue;
      await this.#collection.erase(id, (current) => {
        if (!isPresent(current)) return current;
        const { sealed: _, ...rest } = current;
        const changed = withoutParent(this.#decrypt(id, current), parent);
        return { ...rest, ...this.#encryption.encrypt(changed, id) };
      });
    }
  }

  /** Adopts the result of a check or ping, like `settle` of the states; `undefined` if there is no such monitor. */
  settle(id: string, transition: StateTransition, options: SettleOptions = {}) {
    const monitor = this.get(id);
    return monitor && this.#states.settle(monitor, transition, options);
  }

  /** Resolves when every state settled so far was written, or refused. */
  async written(id: string): Promise<void> {
    await this.#states.written(id);
  }

  /** Resolves when no state is being written. */
  async idle(): Promise<void> {
    await this.#states.idle();
  }

  /** Forgets creates that can't be repeated any more. */
  async prune(nowMs: number): Promise<void> {
    await this.#idempotentCreates.prune(nowMs);
  }

  /** Resolves when nothing is being written. */
  async close(): Promise<void> {
    this.#following.stop();
    await this.#removing;
    await this.idle();
  }

  #adoptAll(changed: readonly ChangedMonitor[]) {
    for (const one of changed) {
      const { id, document } = one;
      const isLocked = isPresent(document) && !this.#encryption.decrypt(document, id);
      if (!isLocked) {
        this.#adopt(one);
        continue;
      }
      // Another process has just created the first key.
      const unlocked = this.#encryption
        .readKey()
        .then(() => this.#adopt(one))
        .catch((error: unknown) => {
          this.#log.error({ err: error, monitor: id }, 'could not read the secrets of a monitor');
        });
      this.#unlocking = Promise.all([this.#unlocking, unlocked]);
    }
  }

  #adopt({ id, document }: ChangedMonitor) {
    const known = this.#monitors.get(id);
    if (!isPresent(document)) {
      if (known) this.#drop(known);
      return;
    }
    const monitor = this.#watchedMonitor(id, document);
    if (known) return this.#adoptEdit(known, monitor);
    this.#keep(monitor);
    this.#states.adopt(id);
    this.#changeLog.note(id);
    this.#listener?.added(monitor);
  }

  #adoptEdit(known: WatchedMonitor, changed: WatchedMonitor) {
    const { id } = known;
    const { definition, maintenance, settingsChangedAtMs, tokenHash, managedBy, channels } =
      changed;
    if (known.tokenHash !== tokenHash) {
      if (known.tokenHash) this.#idsByTokenHash.delete(known.tokenHash);
      if (tokenHash) this.#idsByTokenHash.set(tokenHash, id);
      known.tokenHash = tokenHash;
    }
    const isCheckedAlike =
      isDeepStrictEqual(known.definition, definition) &&
      isDeepStrictEqual(known.maintenance, maintenance);
    const isListedAlike =
      sameManagedBy(known.managedBy, managedBy) && isDeepStrictEqual(known.channels, channels);
    if (!isListedAlike) Object.assign(known, { managedBy, channels });
    if (!isCheckedAlike) Object.assign(known, { definition, maintenance, settingsChangedAtMs });
    if (!isCheckedAlike || !isListedAlike) this.#changeLog.note(id);
    if (!isCheckedAlike) this.#listener?.edited(known);
  }

  #keep(monitor: WatchedMonitor) {
    this.#monitors.set(monitor.id, monitor);
    this.#parts[monitor.part]?.push(monitor);
    if (monitor.tokenHash) this.#idsByTokenHash.set(monitor.tokenHash, monitor.id);
  }

  #drop(monitor: WatchedMonitor) {
    const { id, tokenHash } = monitor;
    const part = this.#parts[monitor.part] ?? [];
    this.#monitors.delete(id);
    part.splice(part.indexOf(monitor), 1);
    this.#states.forget(id);
    if (tokenHash) this.#idsByTokenHash.delete(tokenHash);
    this.#changeLog.note(id);
    this.#listener?.removed(id);
    if (this.#leaving.has(id)) return;
    // Another process removed it: results that this one is still writing must not remain.
    this.#options.history.forget(id).catch((error: unknown) => {
      this.#log.error(
        { err: error, monitor: id },
        'could not delete the results of a removed monitor',
      );
    });
  }

  #watchedMonitor(id: string, document: StoredMonitor): WatchedMonitor {
    const { sealed: _, ...rest } = document;
    const definition = this.#decrypt(id, document);
    const part = hash('sha256', id, 'buffer')[0] ?? 0;
    return { id, part, ...rest, definition, published: document.state };
  }

  /** All settings; with a wrong key, those with placeholders for the secrets. */
  #decrypt(id: string, document: StoredMonitor): MonitorDefinition {
    return this.#encryption.decrypt(document, id) ?? document.definition;
  }
}

const tokenFor = (definition: MonitorDefinition, known: KnownCreate | undefined) =>
  isHeartbeat(definition) ? (known?.token ?? createToken().token) : undefined;

const tooManyMonitors = (limit: number) =>
  new HttpError(
    409,
    ErrorCode.limitReached,
    `This service already holds ${limit} monitors, its maximum. The monitor was not created. Remove one that you no ` +
      'longer need.',
  );
