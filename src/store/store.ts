import type { z } from 'zod';
import type { Claims, ClaimsDeclaration } from './claims.ts';
import type { UsageBooks } from './usage.ts';
import type { Windows, WindowsDeclaration } from './windows.ts';

/**
 * Durable state: everything that was acknowledged survives kill -9 and power loss. All engines pass one contract test. A name is
 * opened once, at the start.
 */
export interface Store {
  collection<T>(declaration: CollectionDeclaration<T>): Collection<T>;
  journal<T extends JournalRecord>(declaration: JournalDeclaration<T>): Journal<T>;
  keyed<T>(declaration: KeyedDeclaration<T>): Promise<Keyed<T>>;
  /** Calls `onStored` with every stored value before it resolves. */
  sharedValues<T>(declaration: SharedValuesDeclaration<T>): Promise<SharedValues>;
  /** Takes the lease, or resolves to `undefined` while another holder has it. */
  lease(name: string): Promise<Lease | undefined>;
  /** The store for the holder of a lease. Its writes reject with `LeaseLostError` once the lease isn't held. */
  under(lease: Lease): Store;
  /** Competes for the parts of a whole, numbered from 0. Processes hold about the same number, and take over the parts of a dead one. */
  leases(kind: string, count: number, holder: PartHolder): LeaseGroup;
  claims<T>(declaration: ClaimsDeclaration<T>): Claims<T>;
  windows(declaration: WindowsDeclaration): Windows;
  /** Usage of keys, if the engine has tables for it. */
  usage?(clocks: { unixMs: () => number; steadyMs: () => number }): UsageBooks;
  /** Unix time by the clock that all processes share, read after the call. */
  sharedNowMs?(): Promise<number>;
  /** True if other processes may use the store at the same time. */
  readonly isShared: boolean;
  /** Names of all stored data, except what an engine keeps for itself. */
  names(): Promise<StoredNames>;
  /** Encrypts secret values. */
  readonly key: StoreKey;
  /** Writes something small and durable, for `/readyz`. Rejects with the reason if the store can't. */
  check(): Promise<void>;
  /** Waits for writes and releases the store for another process. */
  close(): Promise<void>;
}

export interface StoredNames {
  collections: string[];
  journals: string[];
  keyed: string[];
}

/** Members of a store that open stored data by name. */
export type OpenedByName = Pick<
  Store,
  'collection' | 'journal' | 'keyed' | 'sharedValues' | 'claims' | 'windows'
>;

/** The key of the stored data, next to it: a backup includes it, and a single leaked file reveals no secret. */
export interface StoreKey {
  /** The location, for people. */
  readonly place: string;
  /** `missing` before the first key, or if it is lost; `given up` after an operator declared it lost. Throws `CorruptDocumentError`. */
  read(): Promise<{ key: string } | 'missing' | 'given up'>;
  /** Reads the key, or creates it durably. */
  make(): Promise<string>;
  /** Writes what `read` of another store resolved to. */
  restore(stored: { key: string } | 'missing' | 'given up'): Promise<void>;
}

export interface CollectionDeclaration<T> {
  /** Lower-case words with hyphens. */
  name: string;
  schema: z.ZodType<T>;
  /** Counts up when older programs can't read new documents; they refuse them. */
  version: number;
  /** For a document whose versions are all unreadable: `refuse` rejects with `CorruptDocumentError`, `forget` treats it as never written. */
  whenCorrupt: 'refuse' | 'forget';
}

/** Small documents by id, any text of up to 500 characters. Each is read and updated atomically on its own. */
export interface Collection<T> {
  get(id: string): Promise<T | undefined>;
  /** Resolves to every document, unordered. */
  list(): Promise<Array<{ id: string; document: T }>>;
  /**
   * Replaces a document by the result of `change`: `undefined` deletes it, the same object writes nothing. Updates of one id
   * run one after another. `change` must not alter its argument and may run again. Resolves to the stored document once it is
   * durable. If writing fails, nothing has changed.
   */
  update(id: string, change: (current: T | undefined) => T | undefined): Promise<T | undefined>;
  /**
   * Like `update`, for data that people want deleted: once it resolves, no version, damaged copy or half-written file holds the old
   * content. A kill leaves all of it or nothing.
   */
  erase(id: string, change: (current: T | undefined) => T | undefined): Promise<T | undefined>;
  /** Erases all documents that fit, and all damaged copies, because nobody can tell what they hold. */
  eraseAll(fits: (id: string, document: T) => boolean): Promise<void>;
  /**
   * Calls `onChange` with every document before it resolves, and with every later change: one of this process before its update
   * resolves, one of another process moments later. A collection has one follower.
   */
  follow(onChange: (changed: Array<ChangedDocument<T>>) => void): Promise<Following>;
}

export interface ChangedDocument<T> {
  id: string;
  document: T | undefined;
}

export interface Following {
  /** Resolves once all changes up to now have arrived; `undefined` if no other process can change anything. */
  catchUp(): Promise<void> | undefined;
  /** Milliseconds since it was last certain that no change is missing. */
  staleMs(): number;
  stop(): void;
}

/** A record has at least the time at which it happened, Unix time in milliseconds. */
export interface JournalRecord {
  atMs: number;
}

export interface JournalDeclaration<T extends JournalRecord> {
  /** Lower-case words with hyphens. */
  name: string;
  schema: z.ZodType<T>;
}

/** Append-only records in order of time. */
export interface Journal<T extends JournalRecord> {
  /** Resolves once the record is durable. Appends that come together share one fsync. */
  append(record: T): Promise<void>;
  /** Records with `fromMs <= atMs < toMs`, oldest first. Unreadable records are skipped and logged. */
  read(range?: { fromMs?: number; toMs?: number }): AsyncIterable<T>;
  /** Deletes older records in whole days: the day of `beforeMs` stays. */
  prune(beforeMs: number): Promise<void>;
  /** Deletes all records whose append has resolved, for good. */
  clear(): Promise<void>;
  /**
   * Replaces each record by the result of `change`, which may run twice: `undefined` deletes it, the same object keeps it, a changed
   * one keeps its day. Afterwards no file holds the old content, nor unreadable records. Records without any text of `mentioning`
   * aren't read.
   */
  erase(
    change: (record: T) => T | undefined,
    options?: { mentioning?: readonly string[] },
  ): Promise<void>;
}

export interface KeyedDeclaration<T> {
  /** Lower-case words with hyphens. */
  name: string;
  schema: z.ZodType<T>;
  /** `refuse` rejects with `CorruptDocumentError` when it is opened; `forget` continues without the damaged items. */
  whenCorrupt: 'refuse' | 'forget';
}

/** The new value of each changed item; `undefined` deletes it. */
export type KeyedChanges<T> = ReadonlyMap<string, T | undefined>;

/** A durable map that is held in memory and changes a little at a time. One process at a time uses it. */
export interface Keyed<T> {
  items(): ReadonlyMap<string, T>;
  /** Stores all changes or none of them. A write costs as much as it changes. */
  write(changes: KeyedChanges<T>): Promise<void>;
  /** Like `write`, and no file holds an older value afterwards. It may cost writing everything again. */
  erase(changes: KeyedChanges<T>): Promise<void>;
}

/**
 * Values that live in the memory of every process. The store asks for a value when it writes it. A newer one of another process is
 * passed to `onStored`, which applies its own changes to it.
 */
export interface SharedValuesDeclaration<T> {
  /** Lower-case words with hyphens. */
  name: string;
  schema: z.ZodType<T>;
  /** The value in memory; `undefined` if it was deleted. */
  current(id: string): SharedValue<T> | undefined;
  /** Receives every stored value at the start, without extras, and later the ones of other processes. Synchronous. */
  onStored(id: string, stored: { value: T; extra: unknown }): void;
}

export interface SharedValue<T> {
  value: T;
  /** JSON for other processes, kept only while a store is shared. */
  extra?: unknown;
  /** Called once this value is durable or was refused, which may be after the next change. */
  onEnd(isStored: boolean): void;
}

export interface SharedValues {
  /** Resolves once the current value, or a newer one, is durable. Values that come together share one write. */
  save(id: string): Promise<void>;
  /** Other processes see the current value soon. It needn't survive a restart. */
  saveLater(id: string): void;
  /** Resolves once all values that others have saved were passed on, with `notes` also the ones of `saveLater`; `undefined` if alone. */
  catchUp(options?: { notes?: boolean }): Promise<void> | undefined;
  /** Soon nothing of the value is stored. */
  delete(id: string): void;
  /** Resolves once everything up to now is written or refused. */
  idle(): Promise<void>;
}

/** Extras of shared values, read on their own. */
export interface SharedExtras {
  /** Extras of the given values that have one. */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, unknown>>;
  /** Extras of all values, in batches; `undefined` for a value without one. */
  all(): AsyncIterable<ReadonlyMap<string, unknown>>;
}

export interface PartHolder {
  /** The last holder of the `abandoned` ones died, so its latest work may be stored nowhere. */
  taken(parts: readonly number[], abandoned: ReadonlySet<number>): void | Promise<void>;
  /** Ends or stores work under way. The parts are released when it resolves. */
  giving(parts: readonly number[]): void | Promise<void>;
  /** Another process may have the part already, so results for it don't count any more. */
  lost(part: number): void;
}

export interface LeaseGroup {
  holds(part: number): boolean;
  count(): number;
  /** A process that can't do the work, for example without a network, releases all parts unless nobody else wants them. */
  setAble(able: boolean): void;
  close(): Promise<void>;
}

/** An exclusive right of this process, while it counts as alive. */
export interface Lease {
  /** Grows with every holder. A write with an older one must be refused. */
  readonly fence: number;
  /** Aborts when another process may have the lease. */
  readonly signal: AbortSignal;
  /** Correct also right after a standstill, before any timer fires. Call it right before each use. */
  isHeld(): boolean;
  release(): Promise<void>;
}
