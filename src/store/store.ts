import type { z } from 'zod';
import type { Claims, ClaimsDeclaration } from './claims.ts';
import type { State, StateDeclaration } from './state.ts';
import type { UsageBooks } from './usage.ts';
import type { Windows, WindowsDeclaration } from './windows.ts';

/**
 * Durable state, and what processes that share it need of one another. Two engines keep it (`lowdb/` and `postgres/`), held to one contract test.
 * What an update or append has resolved survives kill -9 and power loss.
 */
export interface Store {
  /** A collection of small documents. Ask for each name once, at start. */
  collection<T>(declaration: CollectionDeclaration<T>): Collection<T>;
  /** A journal. Ask for each name once, at start. */
  journal<T extends JournalRecord>(declaration: JournalDeclaration<T>): Journal<T>;
  /** The newest values of many things, all told when this resolves. Ask for each name once, at start. */
  registers<T>(declaration: RegistersDeclaration<T>): Promise<Registers>;
  /** One large state that changes a little at a time. Ask for each name once, at start. */
  state<T, S, R>(declaration: StateDeclaration<T, S, R>): Promise<State<T>>;
  /** Takes the lease, or gives `undefined` while another holder has it. It is held while this process counts as alive. */
  lease(name: string): Promise<Lease | undefined>;
  /**
   * The store as the holder of a lease uses it: each name can be opened again under each lease, and writes reject with
   * `LeaseLostError` once the lease is not held.
   */
  under(lease: Lease): Store;
  /**
   * Competes for the parts of a whole, numbered from 0, of which each has one holder: they are spread evenly over the
   * processes that compete, and those of a dead one are taken by the others. Ask for each kind once.
   */
  leases(kind: string, count: number, holder: PartHolder): LeaseGroup;
  /** Things to be done once. Ask for each name once. */
  claims<T>(declaration: ClaimsDeclaration<T>): Claims<T>;
  /** Windows that count what all processes take together. Ask for each name once. */
  windows(declaration: WindowsDeclaration): Windows;
  /**
   * What keys have used, of an engine that has tables for it; elsewhere it stands in a journal and in documents. Ask once.
   */
  usage?(clocks: { unixMs: () => number; steadyMs: () => number }): UsageBooks;
  /** Unix time by the one clock of an engine that several processes share, read after it is asked for. */
  sharedNowMs?(): Promise<number>;
  /** Whether other processes may use it at the same time. */
  readonly isShared: boolean;
  /** What secret values are encrypted with. */
  readonly key: StoreKey;
  /** Writes something durable and small; rejects with the reason when the store cannot. For `/readyz`. */
  check(): Promise<void>;
  /** Waits for writes under way and gives the store free for another process. */
  close(): Promise<void>;
}

/** Members of a store that open stored data by name. */
export type OpenedByName = Pick<
  Store,
  'collection' | 'journal' | 'registers' | 'state' | 'claims' | 'windows'
>;

/**
 * The key of the stored data. It is kept beside the data, so a backup of all of it holds it too, while a single file that
 * gets into wrong hands tells no secret.
 */
export interface StoreKey {
  /** Where it is kept, for people. */
  readonly place: string;
  /**
   * The key; `missing` when none was made yet, or when it is gone; `given up` when whoever runs the program has said that
   * it is gone for good. Throws `CorruptDocumentError` when what is there is none.
   */
  read(): Promise<{ key: string } | 'missing' | 'given up'>;
  /** The key that is there, else a new one, durable when this resolves. */
  make(): Promise<string>;
}

export interface CollectionDeclaration<T> {
  /** Lower-case words with hyphens. */
  name: string;
  schema: z.ZodType<T>;
  /** Counts up when the schema changes in a way old documents do not fit. */
  version: number;
  /** Brings a document of an older version to this one; the result is checked against the schema. */
  upgrade?: (old: unknown, fromVersion: number) => unknown;
  /**
   * When a document and its previous version are both unreadable: `refuse` rejects every use of it with
   * `CorruptDocumentError` (keys, monitors, alerts), `forget` treats it as never written (conversations).
   */
  whenCorrupt: 'refuse' | 'forget';
}

/** Documents by id, any text of up to 500 characters; each is read, listed and updated atomically by itself. */
export interface Collection<T> {
  get(id: string): Promise<T | undefined>;
  /** Every document, in no order that means anything. */
  list(): Promise<Array<{ id: string; document: T }>>;
  /**
   * Replaces a document by what `change` makes of it: `undefined` removes it, the same object writes nothing.
   * Updates of one id run one after another; `change` must not alter what it is given and may run again.
   * Resolves to the document now stored, once it is durable. When writing fails, nothing has changed.
   */
  update(id: string, change: (current: T | undefined) => T | undefined): Promise<T | undefined>;
  /**
   * As `update`, for what people want to be gone: once it resolves, nothing that is kept (versions before, damaged copies,
   * half-written files) holds what `change` took away. A kill in the middle leaves all or nothing of it. It costs more than
   * an `update`, which does the same where it removes a whole document.
   */
  erase(id: string, change: (current: T | undefined) => T | undefined): Promise<T | undefined>;
  /** Removes all documents that fit, as `erase` does, and all damaged copies, of which nobody can tell what they hold. */
  eraseAll(fits: (id: string, document: T) => boolean): Promise<void>;
  /**
   * Tells of every document that there is, before it resolves, and from then on of every change, by whichever process, for
   * those who keep in memory what the store says. A change of this process is told before its update resolves, one of
   * another some moments later; several in a row may be told as one. Once for each collection.
   */
  follow(told: (changed: Array<Changed<T>>) => void): Promise<Following>;
}

/** A document as it is now; `undefined` when it is gone. */
export interface Changed<T> {
  id: string;
  document: T | undefined;
}

export interface Following {
  /** Resolves when all that was changed until now has been told; `undefined` where nobody else changes anything. */
  catchUp(): Promise<void> | undefined;
  /** How long ago it was last known that nothing was missed. */
  staleMs(): number;
  stop(): void;
}

/** What a journal keeps at least: when it happened, Unix time in milliseconds. */
export interface JournalRecord {
  atMs: number;
}

export interface JournalDeclaration<T extends JournalRecord> {
  /** Lower-case words with hyphens. */
  name: string;
  schema: z.ZodType<T>;
  /**
   * What becomes of an unreadable record: `skip`, unless it is said otherwise, reads on without it; `refuse` ends the
   * reading with `CorruptDocumentError`, for records that mean nothing without those before them.
   */
  whenUnreadable?: 'skip' | 'refuse';
}

/** Append-only records in time order. */
export interface Journal<T extends JournalRecord> {
  /** Resolves once the record is durable; appends that come together share one fsync. */
  append(record: T): Promise<void>;
  /** Records with `fromMs <= atMs < toMs`, oldest first; an unreadable record is skipped and logged, or refused. */
  read(range?: { fromMs?: number; toMs?: number }): AsyncIterable<T>;
  /** Removes what is older, in whole days: records of the day of `beforeMs` stay. */
  prune(beforeMs: number): Promise<void>;
  /** Removes all records whose append has resolved; resolves when they are gone for good. */
  clear(): Promise<void>;
  /**
   * Replaces each record whose append has resolved by what `change` makes of it: `undefined` removes it, the same object
   * leaves it; it keeps its day. Once it resolves, nothing that is kept holds what `change` took away. Records in which none
   * of the texts of `mentioning` stands are not read. Unreadable records are removed, since nobody can tell what they
   * hold; where they are to be refused, it is, with `CorruptDocumentError`.
   */
  erase(
    /** May run more than once. */
    change: (record: T) => T | undefined,
    options?: { mentioning?: readonly string[] },
  ): Promise<void>;
}

/**
 * The newest value of each of many things that change all the time, as a cache in memory has them. The store asks the cache
 * for a value when it writes it, and tells it what another process has written: the cache makes of that what it holds itself
 * (as with a change made to a document that somebody else has changed meanwhile), and is asked again.
 */
export interface RegistersDeclaration<T> {
  /** Lower-case words with hyphens. */
  name: string;
  schema: z.ZodType<T>;
  /** The value as it is now in memory; `undefined` for a thing that is gone. */
  newest(id: string): RegisterValue<T> | undefined;
  /**
   * What is stored, at first without what stands beside it, and from then on what another process has stored. Runs to its
   * end at once.
   */
  told(id: string, stored: { value: T; extra: unknown }): void;
}

export interface RegisterValue<T> {
  value: T;
  /** Stands beside it where several processes share a store, and is kept nowhere else. JSON. */
  extra?: unknown;
  /** Called when this very value is durable, or was refused; the newest may be another by then. */
  ended(isStored: boolean): void;
}

export interface Registers {
  /** Resolves when the value as it is now, or a newer one, is durable. Those of many things are written together. */
  put(id: string): Promise<void>;
  /** The value is new and need not last: other processes see it soon, where there are others. */
  note(id: string): void;
  /**
   * Resolves when all that others had put until now has been told; with `notes` what they had noted, too. `undefined` where
   * there are no others.
   */
  catchUp(options?: { notes?: boolean }): Promise<void> | undefined;
  /** The thing is gone: soon nothing of it is stored. */
  remove(id: string): void;
  /** Resolves when all that was put or noted until now is written, or refused. */
  idle(): Promise<void>;
}

/** What stands beside the values of registers, read apart, in an engine that several processes share. */
export interface RegisterExtras {
  /** Of those among these things that have one. */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, unknown>>;
  /** Of all things, many at a time; `undefined` where there is none. */
  all(): AsyncIterable<ReadonlyMap<string, unknown>>;
}

/** Who is told which parts of a whole are its own, one thing after another. */
export interface PartHolder {
  /** Of those that are `abandoned` the last holder died: what it did last may be known to nobody. */
  taken(parts: readonly number[], abandoned: ReadonlySet<number>): void | Promise<void>;
  /** They are given back when this resolves: what is under way for them is to be ended or stored. */
  giving(parts: readonly number[]): void | Promise<void>;
  /** One is lost: another process may have it already, and nothing that is still found for it counts. */
  lost(part: number): void;
}

export interface LeaseGroup {
  holds(part: number): boolean;
  /** How many it has now. */
  count(): number;
  /**
   * Whether this process can do the work, which it cannot for example while its own network is gone: then it gives all back,
   * unless nobody else could have them.
   */
  setAble(able: boolean): void;
  /** Gives all back. */
  close(): Promise<void>;
}

/** An exclusive right of this process, for as long as it counts as alive. */
export interface Lease {
  /** Grows with every new holder; a write that carries an older one must be refused. */
  readonly fence: number;
  /** Aborts when another process may have it. */
  readonly signal: AbortSignal;
  /** True while it is held; correct also right after a standstill, before any timer fires. Call it right before each use. */
  isHeld(): boolean;
  release(): Promise<void>;
}
