import { hash, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import { MaintenanceWindow } from '../../contracts/monitoring-additions.ts';
import { HttpError } from '../../http/errors.ts';
import { CorruptDocumentError } from '../../store/errors.ts';
import type { Changed, Store } from '../../store/store.ts';
import { isHeartbeat, type MonitorDefinition } from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import { lostSecretsOf, secretsOf } from '../checks/secret-values.ts';
import type { History } from '../history/history.ts';
import { MonitorState, neverChecked, withNewTarget } from '../state/state.ts';
import { type ChangeLog, openChangeLog } from './change-log.ts';
import { openDefinitionEncryption, storedSettings } from './definition-encryption.ts';
import { withoutParent } from './dependencies.ts';
import { createToken, hashToken } from './heartbeat.ts';
import { type IdempotencyKey, type KnownCreate, openIdempotentCreates } from './idempotency.ts';
import { type ManagedBy, managedBy, sameManagedBy } from './managed-by.ts';
import { type Happening, openStates, type Settling, type Stateful } from './state-store.ts';

/** Monitors a service takes unless it is told otherwise. Our choice: what one process is known to check on time. */
export const MAX_MONITORS = 10_000;

/** Of most monitors, of which very many may be in memory. */
const NO_WINDOWS: MaintenanceWindow[] = [];

/** A monitor as stored; its id is the document's. */
const storedMonitor = (types: CheckTypes) =>
  z.object({
    /** Without its secrets, which `sealed` holds. */
    definition: storedSettings(types),
    sealed: z.string().optional(),
    createdAtMs: z.int(),
    /** HEARTBEAT only: the hash of its push token. */
    tokenHash: z.string().length(64).optional(),
    /** The create it came from, when that had an idempotency key. */
    createId: z.string().length(64).optional(),
    maintenance: z
      .array(MaintenanceWindow)
      .overwrite((windows) => (windows.length === 0 ? NO_WINDOWS : windows))
      .default(() => NO_WINDOWS),
    /** Of a monitor that a file declares. */
    managedBy: managedBy.optional(),
    /** Places that are told of it, in their one-word form. */
    channels: z.array(z.string()).optional(),
    /** As it was when the monitor was made; the journal of states knows what came since. */
    state: MonitorState,
  });
type StoredMonitor = z.infer<ReturnType<typeof storedMonitor>>;

/** What stays of a monitor that is removed until its history is gone, too: a start after a kill goes on with that. */
const Removed = z.object({ removed: z.literal(true) });

/** What the store tells of a monitor. */
type ToldMonitor = Changed<StoredMonitor | z.infer<typeof Removed>>;

/** A stored monitor. */
interface Found {
  id: string;
  document: StoredMonitor;
}

const dependsOn = ({ definition }: WatchedMonitor, parent: string) =>
  definition.depends_on?.includes(parent) === true;

const isThere = (document: StoredMonitor | z.infer<typeof Removed>): document is StoredMonitor =>
  !('removed' in document);

/** A monitor in memory: what is stored, with its secrets, and what is known newer. */
export interface WatchedMonitor extends Omit<StoredMonitor, 'sealed'>, Stateful {
  /** The part of all monitors that it belongs to: each part is watched over by one process. */
  readonly part: number;
}

/** Parts that the monitors are divided into. */
export const PARTS_COUNT = 256;

const partOf = (id: string) => hash('sha256', id, 'buffer')[0] ?? 0;

/** Monitors that are named when their secrets cannot be read. */
const MAX_NAMED = 5;

/** All monitors: read from memory, kept in the store. */
export type Monitors = Awaited<ReturnType<typeof openMonitors>>;

/** Who is told what becomes of the monitors, whoever did it and in whichever process. */
export interface MonitorListener {
  added(monitor: WatchedMonitor): void;
  /** Its settings or windows are others. */
  edited(monitor: WatchedMonitor): void;
  removed(id: string): void;
  /** Another process has given it a state. */
  changedElsewhere(monitor: WatchedMonitor, before: MonitorState): void;
}

/** What an edit makes of a monitor; what it leaves out stays. */
export type ChangeMonitor = (monitor: WatchedMonitor) => {
  definition?: MonitorDefinition;
  maintenance?: MaintenanceWindow[];
  /** `null` takes it out of the hands of its file. */
  managedBy?: ManagedBy | null;
  channels?: readonly string[];
};

/** A monitor as a file declares it. */
export interface DeclaredMonitor {
  definition: MonitorDefinition;
  maintenance: MaintenanceWindow[];
  channels: readonly string[];
  managedBy: ManagedBy;
}

/**
 * Reads all monitors into memory, which from then on follows what any process makes of them. Throws `CorruptDocumentError` when one cannot be read, or when the key of their secrets is
 * gone. What an older version stored in clear is encrypted.
 */
export async function openMonitors(options: {
  store: Store;
  history: Pick<History, 'addChanges' | 'cover' | 'forget' | 'openHours' | 'takeOpenHours'>;
  wallMs: () => number;
  log: Logger;
  limit?: number | undefined;
  types?: CheckTypes;
  /** What the clock of a shared store may be set back by without a change being missed; 30 s when absent. */
  changesOverlapMs?: number | undefined;
}) {
  const { store, history, wallMs, log, limit = MAX_MONITORS, types = shippedTypes } = options;
  const collection = store.collection(monitorsCollection(types));
  const encryption = await openDefinitionEncryption(store, types);
  const changeLog = await openChangeLog(store, { overlapMs: options.changesOverlapMs });
  const monitors = new Map<string, WatchedMonitor>();
  const idempotentCreates = openIdempotentCreates({
    store,
    wallMs,
    newMonitorId: () => newId(monitors),
    exists: (id) => monitors.has(id),
  });
  /** Arrays take a fifth of the memory of sets: every process holds all monitors. */
  const parts = Array.from({ length: PARTS_COUNT }, (): WatchedMonitor[] => []);
  const idsByTokenHash = new Map<string, string>();
  const shareConfig = createConfigSharing();
  /** On their way out: nobody sees them any more, and they come back only when the store does not let them go. */
  const leaving = new Set<string>();
  /** Waits until what was encrypted with a key that is new here is known. */
  let unlocking: Promise<unknown> = Promise.resolve();
  let adding = 0;
  let listener: MonitorListener | undefined;
  /** Of the stored monitors, those that need more than to be kept. */
  const found = { removed: [] as string[], locked: [] as Found[], plain: [] as Found[] };
  /** Who is told of monitors: at the start whoever reads them. */
  let onTold: (changed: readonly ToldMonitor[]) => void = (changed) => changed.forEach(read);

  const get = (id: string) => (leaving.has(id) ? undefined : monitors.get(id));

  function keep(monitor: WatchedMonitor) {
    monitors.set(monitor.id, monitor);
    parts[monitor.part]?.push(monitor);
    if (monitor.tokenHash) idsByTokenHash.set(monitor.tokenHash, monitor.id);
  }

  function drop(monitor: WatchedMonitor) {
    const { id, part, tokenHash } = monitor;
    monitors.delete(id);
    parts[part]?.splice(parts[part].indexOf(monitor), 1);
    states.forget(id);
    if (tokenHash) idsByTokenHash.delete(tokenHash);
  }

  /** What is stored of a new monitor; nothing of its secrets in clear. */
  function documentOf({
    id,
    definition,
    ...document
  }: StoredMonitor & { id: string }): StoredMonitor {
    return { ...document, ...encryption.encrypt(definition, id) };
  }

  /** A monitor in memory, as it is stored. */
  function watched(id: string, document: StoredMonitor): WatchedMonitor {
    const { sealed: _, ...rest } = document;
    const definition = shareConfig(decrypted(id, document));
    return { id, part: partOf(id), ...rest, definition, published: document.state };
  }

  /** Takes over what some process has made of a monitor. */
  function take({ id, document }: ToldMonitor) {
    const known = monitors.get(id);
    if (document === undefined || !isThere(document)) {
      if (!known) return;
      drop(known);
      changeLog.note(id);
      listener?.removed(id);
      if (!leaving.has(id)) forgetHistory(id);
      return;
    }
    if (!known) {
      const monitor = watched(id, document);
      keep(monitor);
      states.adopt(id);
      changeLog.note(id);
      listener?.added(monitor);
      return;
    }
    const { definition, maintenance, tokenHash, managedBy, channels } = watched(id, document);
    if (known.tokenHash !== tokenHash) {
      if (known.tokenHash) idsByTokenHash.delete(known.tokenHash);
      if (tokenHash) idsByTokenHash.set(tokenHash, id);
      Object.assign(known, { tokenHash });
    }
    const isCheckedAlike =
      isDeepStrictEqual(known.definition, definition) &&
      isDeepStrictEqual(known.maintenance, maintenance);
    const isToldAlike =
      sameManagedBy(known.managedBy, managedBy) && isDeepStrictEqual(known.channels, channels);
    if (isCheckedAlike && isToldAlike) return;
    if (!isToldAlike) Object.assign(known, { managedBy, channels });
    if (!isCheckedAlike) Object.assign(known, { definition, maintenance });
    changeLog.note(id);
    if (!isCheckedAlike) listener?.edited(known);
  }

  /** Another process has removed it: what this one is still writing of it must not stay. */
  function forgetHistory(id: string) {
    history.forget(id).catch((error: unknown) => {
      log.error({ err: error, monitor: id }, 'could not delete the results of a removed monitor');
    });
  }

  function takeAll(changed: readonly ToldMonitor[]) {
    for (const each of changed) {
      const isLocked =
        each.document !== undefined &&
        isThere(each.document) &&
        encryption.decrypt(each.document, each.id) === undefined;
      if (!isLocked) {
        take(each);
        continue;
      }
      // Another process has just made the first key.
      const taken = encryption
        .readKey()
        .then(() => take(each))
        .catch((error: unknown) => {
          log.error({ err: error, monitor: each.id }, 'could not read the secrets of a monitor');
        });
      unlocking = Promise.all([unlocking, taken]);
    }
  }

  /** All settings of a stored monitor; with a key that is not theirs, what stands in the place of its secrets. */
  const decrypted = (id: string, document: StoredMonitor) =>
    encryption.decrypt(document, id) ?? document.definition;

  /** Encrypts what an older version stored in clear. */
  async function encryptStored({ id, document: { definition } }: Found) {
    await encryption.prepare(definition);
    await collection.erase(id, (current) => {
      if (current === undefined || !isThere(current) || !isPlain(current)) return current;
      return { ...current, ...encryption.encrypt(current.definition, id) };
    });
  }

  /** Takes a monitor that is removed out of what others depend on. */
  async function forgetParent(parent: string) {
    const children = [...monitors.values()].filter((monitor) => dependsOn(monitor, parent));
    for (const { id } of children) {
      await collection.erase(id, (current) => {
        if (current === undefined || !isThere(current)) return current;
        const { sealed: _, ...rest } = current;
        const definition = withoutParent(decrypted(id, current), parent);
        return { ...rest, ...encryption.encrypt(definition, id) };
      });
    }
  }

  /** Removes what is left of a monitor whose document says that it is removed, and then that. */
  async function removeRest(id: string) {
    try {
      await forgetParent(id);
      await history.forget(id);
      await collection.update(id, () => undefined);
    } catch (error) {
      log.error(
        { err: error, monitor: id },
        'could not delete the history of a removed monitor; the next start tries again',
      );
    }
  }

  /** Nothing goes on with a wrong key, unless whoever runs this has said that the right one is gone for good. */
  async function giveUpSecrets(locked: readonly Found[]) {
    if ((await store.key.read()) !== 'given up') throw keyIsGone(store.key.place, locked);
    for (const { id, document } of locked) {
      const { name } = document.definition;
      const secrets = lostSecretsOf(document.definition);
      log.error(
        { monitor: id, name, secrets },
        'the secrets of a monitor are lost; enter them again',
      );
      await collection.update(id, (current) => {
        if (current === undefined || !isThere(current)) return current;
        const { sealed: _, ...rest } = current;
        return rest;
      });
    }
  }

  /** Keeps what is found at the start; with very many, nothing else is held of them for longer than it takes. */
  function read({ id, document }: ToldMonitor) {
    if (document === undefined) return;
    if (!isThere(document)) {
      found.removed.push(id);
      return;
    }
    if (encryption.decrypt(document, id) === undefined) found.locked.push({ id, document });
    if (isPlain(document)) found.plain.push({ id, document });
    keep(watched(id, document));
  }

  const following = await collection.follow((changed) => onTold(changed));
  const changedSoFar: ToldMonitor[] = [];
  onTold = (changed) => changedSoFar.push(...changed);
  if (found.locked.length > 0) await giveUpSecrets(found.locked);
  const inOrder = [...monitors.values()].sort((a, b) => a.createdAtMs - b.createdAtMs);
  monitors.clear();
  for (const monitor of inOrder) monitors.set(monitor.id, monitor);
  await Promise.all(found.plain.map(encryptStored)).catch((error) => {
    log.error(
      { err: error },
      'could not encrypt the secrets of monitors, so they are stored in plain text; the next start tries again',
    );
  });
  const states = await openStates({
    store,
    monitors,
    history,
    changeLog,
    onOther(id, before) {
      const monitor = get(id);
      if (monitor) listener?.changedElsewhere(monitor, before);
    },
    log,
  });
  onTold = takeAll;
  takeAll(changedSoFar.splice(0));
  // From now on this process can tell what others do not know.
  await changeLog.mark();
  // In the background: it waits for what is read of the history.
  const removing = Promise.all(found.removed.map(removeRest));

  function settle(id: string, happening: Happening, options: Settling = {}) {
    const monitor = get(id);
    return monitor && states.settle(monitor, happening, options);
  }

  async function create(definition: MonitorDefinition, known: KnownCreate | undefined) {
    const before = known && get(known.monitor);
    if (before) {
      const token = tokenFor(definition, known);
      // Once it has been renewed, the token of the create is that of nothing.
      const isItsOwn = token !== undefined && hashToken(token) === before.tokenHash;
      return { monitor: before, token: isItsOwn ? token : undefined, repeated: true };
    }
    const token = tokenFor(definition, known);
    const { monitor, isFirst } = await addNew(known?.monitor ?? newId(monitors), {
      definition,
      ...(token !== undefined && { tokenHash: hashToken(token) }),
      ...(known && { createId: known.id }),
      maintenance: [],
    });
    return { monitor, token, repeated: !isFirst };
  }

  /** Stores a new monitor; of one with this id that some process has stored before, `isFirst` is false and nothing is changed. */
  async function addNew(
    id: string,
    made: Omit<StoredMonitor, 'createdAtMs' | 'state' | 'sealed'>,
  ): Promise<{ monitor: WatchedMonitor; isFirst: boolean }> {
    if (monitors.size + adding >= limit) throw tooMany(limit);
    const { definition } = made;
    const nowMs = wallMs();
    const isJob = isHeartbeat(definition);
    const state = { ...neverChecked(nowMs), ...(isJob && { awaitedFromMs: nowMs }) };
    let isFirst = false;
    adding += 1;
    try {
      await encryption.prepare(definition);
      await collection.update(id, (current) => {
        // A repeat that another process has taken at the same moment may have been faster.
        isFirst = current === undefined;
        return current ?? documentOf({ id, ...made, createdAtMs: nowMs, state });
      });
    } finally {
      adding -= 1;
    }
    // What another process has made is perhaps not known here yet.
    if (!isFirst) await following.catchUp();
    const monitor = get(id);
    if (monitor === undefined)
      throw new Error(`The monitor ${id} was removed while it was created.`);
    if (isFirst) log.info({ monitor: id, type: definition.check_type }, 'monitor created');
    return { monitor, isFirst };
  }

  async function edit(id: string, change: ChangeMonitor): Promise<WatchedMonitor | undefined> {
    const monitor = get(id);
    if (monitor === undefined) return undefined;
    let wanted = change(monitor);
    let { target } = monitor.definition;
    await encryption.prepare(wanted.definition ?? monitor.definition);
    // A secret that is replaced is one that is removed.
    const document = await collection.erase(id, (current) => {
      if (current === undefined || !isThere(current)) return current;
      const { sealed: _, managedBy: ofFile, channels: told, ...rest } = current;
      const before = decrypted(id, current);
      target = before.target;
      wanted = change({
        ...monitor,
        definition: before,
        ...{ maintenance: current.maintenance, managedBy: ofFile, channels: told },
      });
      const { definition = before, maintenance = current.maintenance } = wanted;
      const managedBy = wanted.managedBy === undefined ? ofFile : (wanted.managedBy ?? undefined);
      const channels = wanted.channels ?? told;
      return {
        ...rest,
        ...encryption.encrypt(definition, id),
        maintenance,
        ...(managedBy && { managedBy }),
        ...(channels && channels.length > 0 && { channels: [...channels] }),
      };
    });
    if (document === undefined || monitors.get(id) !== monitor) return undefined;
    // The target of a heartbeat is only a word.
    const isOther = monitor.definition.target !== target;
    if (isOther && !isHeartbeat(monitor.definition)) {
      // The edit itself is stored; the state is with the next check at the latest.
      const nowMs = wallMs();
      const settled = settle(id, (before) => withNewTarget(before, nowMs), { always: true });
      await settled?.saved?.catch((error: unknown) => {
        log.error({ err: error, monitor: id }, 'could not store the state of a new target yet');
      });
    }
    return monitor;
  }

  return {
    /** Has whoever checks them told what becomes of them. One listens. */
    listen(to: MonitorListener): void {
      listener = to;
    },
    /**
     * Resolves when all that other processes have done until now is known here; with `notes` when they last checked, too.
     * `undefined` where there are no others.
     */
    catchUp(options?: { notes?: boolean }): Promise<void> | undefined {
      const definitions = following.catchUp();
      const newest = states.catchUp(options);
      if (!definitions && !newest) return undefined;
      return Promise.all([definitions, newest]).then(async () => {
        await unlocking;
      });
    },
    /** In the order they were made. */
    all: () => {
      const all = [...monitors.values()];
      return leaving.size === 0 ? all : all.filter(({ id }) => !leaving.has(id));
    },
    /** Those of some parts, in no order that means anything. */
    ofParts: (some: Iterable<number>): WatchedMonitor[] =>
      [...some].flatMap((part) => parts[part] ?? []).filter(({ id }) => !leaving.has(id)),
    count: () => monitors.size - leaving.size,
    get,
    changeLog: changeLog as Pick<ChangeLog, 'mark' | 'number' | 'since' | 'cursor'>,
    byToken: (token: string) => get(idsByTokenHash.get(hashToken(token)) ?? ''),
    /**
     * Stores a new monitor; `token` exists only in this answer. With an idempotency key, a repeat within 24 hours gives
     * the same monitor and token. Throws a 409 when there are too many, or when the key came with another body.
     */
    async add(
      definition: MonitorDefinition,
      idempotency?: IdempotencyKey,
    ): Promise<{ monitor: WatchedMonitor; token: string | undefined; repeated: boolean }> {
      if (idempotency === undefined) return await create(definition, undefined);
      return await idempotentCreates.run(idempotency, definition, (known) =>
        create(definition, known),
      );
    },
    /**
     * Stores what `change` makes of a monitor; `undefined` when there is none. It may be called more than once, and what it
     * throws is thrown. A check of another target begins again: PENDING. When storing fails nothing has changed.
     */
    edit,
    /**
     * Stores a monitor that a file declares; of one with this id that is there already, what the file declares now. The id is for
     * the caller to choose. Throws a 409 when there are too many.
     */
    async declare(id: string, declared: DeclaredMonitor): Promise<WatchedMonitor | undefined> {
      if (get(id) === undefined) {
        const { channels, ...made } = declared;
        const token = tokenFor(made.definition, undefined);
        const { monitor, isFirst } = await addNew(id, {
          ...made,
          ...(channels.length > 0 && { channels: [...channels] }),
          ...(token !== undefined && { tokenHash: hashToken(token) }),
        });
        if (isFirst) return monitor;
      }
      return await edit(id, () => declared);
    },
    /** Says where a monitor of a file stands in it by now, for whoever asks this process; it is stored with the next edit. */
    locate(id: string, place: { file: string; line: number }): void {
      const monitor = get(id);
      if (monitor?.managedBy) monitor.managedBy = { ...monitor.managedBy, ...place };
    },
    /**
     * Gives a heartbeat another token, which exists only in this answer; the one before counts no more. `undefined` when there
     * is no such monitor. When storing fails nothing has changed.
     */
    async renewToken(id: string): Promise<string | undefined> {
      const monitor = get(id);
      if (monitor === undefined) return undefined;
      const { token, tokenHash } = createToken();
      const document = await collection.update(id, (current) =>
        current && isThere(current) ? { ...current, tokenHash } : current,
      );
      if (document === undefined || monitors.get(id) !== monitor) return undefined;
      log.info({ monitor: id }, 'push token renewed');
      return token;
    },
    /**
     * Removes a monitor, its token and its history, of which soon no file holds anything, over a kill too; false when there is
     * none. When storing fails it is still there.
     */
    async remove(id: string): Promise<boolean> {
      const monitor = get(id);
      if (monitor === undefined) return false;
      leaving.add(id);
      changeLog.setUnstored(id, true);
      try {
        if (monitor.createId !== undefined) await idempotentCreates.markRemoved(monitor.createId);
        await collection.erase(id, (current) => current && { removed: true as const });
      } finally {
        leaving.delete(id);
        changeLog.setUnstored(id, false);
      }
      log.info({ monitor: id }, 'monitor removed');
      await removeRest(id);
      return true;
    },
    /** Takes over what a check or ping made of a monitor, as the store of states does; of one that is gone nothing is kept. */
    settle,
    /** Resolves when what was settled until now has been written, or refused. */
    written: states.written,
    /** Resolves when no state is being written. */
    idle: states.idle,
    /** Forgets creates that nobody repeats any more. */
    prune: (nowMs: number) => idempotentCreates.prune(nowMs),
    /** Resolves when nothing is being written. */
    async close(): Promise<void> {
      following.stop();
      await removing;
      await states.idle();
    },
  };
}

/**
 * The monitors that are stored, with their secrets, for who does not watch them: nothing is changed and nothing is followed. Throws
 * `CorruptDocumentError` when one cannot be read or the key of its secrets is not there.
 */
export async function readMonitors(store: Store, types: CheckTypes = shippedTypes) {
  const collection = store.collection(monitorsCollection(types));
  const encryption = await openDefinitionEncryption(store, types);
  const found: Array<{ id: string } & Omit<StoredMonitor, 'sealed' | 'state'>> = [];
  for (const { id, document } of await collection.list()) {
    if (!isThere(document)) continue;
    const definition = encryption.decrypt(document, id);
    if (definition === undefined) throw keyIsGone(store.key.place, [{ id, document }]);
    found.push({ ...document, id, definition });
  }
  return found.sort((a, b) => a.createdAtMs - b.createdAtMs);
}

const monitorsCollection = (types: CheckTypes) => ({
  name: 'monitors',
  schema: z.union([storedMonitor(types), Removed]),
  // 2: secrets are encrypted. An older program would send what stands in their place.
  version: 2,
  whenCorrupt: 'refuse' as const,
});

/** Different settings that are remembered. */
const MAX_CONFIGS = 1_000;

/** Equal settings are one object in memory: most monitors have what is set by itself, and every process holds all monitors. */
function createConfigSharing() {
  const configs = new Map<string, unknown>();
  return <T extends MonitorDefinition>(definition: T): T => {
    // What is remembered must not keep a secret that is gone.
    if (secretsOf(definition).length > 0) return definition;
    const text = JSON.stringify([definition.check_type, definition.config]);
    const config = (configs.get(text) ?? definition.config) as T['config'];
    if (configs.size < MAX_CONFIGS) configs.set(text, config);
    return { ...definition, config };
  };
}

const tokenFor = (definition: MonitorDefinition, known: KnownCreate | undefined) =>
  isHeartbeat(definition) ? (known?.token ?? createToken().token) : undefined;

const tooMany = (limit: number) =>
  new HttpError(
    409,
    ErrorCode.limitReached,
    `This service already holds ${limit} monitors, its maximum. The monitor was not created. Remove one that you no ` +
      'longer need.',
  );

/** Secrets stand in it as they are. */
const isPlain = ({ definition, sealed }: StoredMonitor) =>
  sealed === undefined && secretsOf(definition).length > 0;

function keyIsGone(place: string, locked: readonly Found[]) {
  const names = locked.slice(0, MAX_NAMED).map(({ document }) => document.definition.name);
  const more = locked.length - names.length;
  return new CorruptDocumentError(
    `The key in ${place} is missing, or is not the key that encrypted the secrets of these monitors: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}. Restore that file from a backup. If the key is gone for good, write the word lost into the file: Askwatch then starts, and each of these monitors says which values to enter again.`,
  );
}

function newId(taken: ReadonlyMap<string, unknown>): string {
  for (;;) {
    const id = `mon_${randomBytes(8).toString('hex')}`;
    if (!taken.has(id)) return id;
  }
}
