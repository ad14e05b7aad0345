import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { SharedExtras, SharedValues, SharedValuesDeclaration } from '../store.ts';
import type { Database } from './database.ts';
import { inTurn } from './in-turn.ts';
import type { ChangeNews } from './news.ts';
import type { PendingWork } from './pending-work.ts';

/** Values in one statement. */
const BATCH_COUNT = 500;

/** Values of `saveLater` wait so long for others. */
const SAVE_LATER_MS = 250;

/** Attempts to write a value that other processes write at the same moment. */
const MAX_TRIES = 50;

/**
 * A value may become visible after a later one, by so much at most. Saved values are found by an index; values of `saveLater`
 * by reading all rows, with statements of milliseconds.
 */
const SAVED_OVERLAP = sql`interval '30 seconds'`;
const ANY_OVERLAP = sql`interval '6 seconds'`;

interface RowWaiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface PendingValue {
  waiters: RowWaiter[];
  /** True after `save`, false after `saveLater`. */
  isSaved: boolean;
  tries: number;
}

interface SentValue {
  id: string;
  before: string | undefined;
  revision: string;
  value: string;
  extra: string | null;
  onEnd: (isStored: boolean) => void;
  pending: PendingValue;
}

interface ValueRow {
  id: string;
  revision: string;
  value: string;
  extra: string | null;
}

interface SharedValuesOptions {
  database: Database;
  news: ChangeNews;
  pending: PendingWork;
  assertOpen: () => void;
  log: Logger;
}

/**
 * Opens shared values, one row for each. A write names the revision that the value follows. If another process was faster,
 * its value is passed to `onStored`, and the write is tried again.
 */
export async function openPostgresSharedValues<T>(
  declaration: SharedValuesDeclaration<T>,
  options: SharedValuesOptions,
): Promise<SharedValues & { close(): void }> {
  const { database, news, pending, assertOpen } = options;
  const rows = new SharedValueRows(declaration, options);
  const reading = (notes: boolean) =>
    inTurn(() => pending.track(database.again(() => rows.readChanges({ notes }))));
  const readSaved = reading(false);
  const readAny = reading(true);
  await rows.readAll();
  const following = news.follow(declaration.name, readSaved);
  return {
    save(id) {
      assertOpen();
      return rows.save(id);
    },
    saveLater(id) {
      assertOpen();
      rows.saveLater(id);
    },
    catchUp({ notes = false } = {}) {
      assertOpen();
      return notes ? readAny() : readSaved();
    },
    delete: (id) => rows.delete(id),
    idle: () => rows.idle(),
    close() {
      following.stop();
      rows.close();
    },
  };
}

class SharedValueRows<T> {
  private readonly declaration: SharedValuesDeclaration<T>;
  private readonly options: SharedValuesOptions;
  private readonly table;
  /** Revision of each value as last written or read. */
  private readonly revisions = new Map<string, string>();
  /** Values being written: a read of one may hold the old or the new value. */
  private readonly inFlight = new Map<string, PendingValue>();
  private readonly waiting = new Map<string, PendingValue>();
  private batch: Promise<void> = Promise.resolve();
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private savedUntil: Date | undefined;
  private anyUntil: Date | undefined;

  constructor(declaration: SharedValuesDeclaration<T>, options: SharedValuesOptions) {
    this.declaration = declaration;
    this.options = options;
    this.table = sql.table(`${options.database.schema}.shared_value`);
  }

  save(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.enqueue(id, { isSaved: true }).waiters.push({ resolve, reject });
      this.writeSoon();
    });
  }

  saveLater(id: string): void {
    this.enqueue(id, { isSaved: false });
    if (!this.writing) this.writeLater();
  }

  delete(id: string): void {
    const { database, pending, log } = this.options;
    const { name } = this.declaration;
    this.revisions.delete(id);
    const deleting = database.again(() =>
      sql`delete from ${this.table} where name = ${name} and id = ${id}`.execute(database.writes),
    );
    pending.track(deleting).catch((error: unknown) => {
      const message = `could not delete a value of '${name}'; the next start deletes it`;
      log.error({ err: error, id }, message);
    });
  }

  async idle(): Promise<void> {
    // Later values aren't waited for, because there may be no end of them.
    const ended = [...this.inFlight.values(), ...this.waiting.values()].map(
      ({ waiters }) =>
        new Promise<void>((resolve) => waiters.push({ resolve, reject: () => resolve() })),
    );
    if (this.waiting.size > 0) this.writeSoon();
    await Promise.all(ended);
  }

  close(): void {
    clearTimeout(this.timer);
  }

  async readAll(): Promise<void> {
    const { database } = this.options;
    const { rows: clock } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(
      database.db,
    );
    for (let after = ''; ; ) {
      const from = after;
      const { rows } = await database.again(() =>
        sql<ValueRow>`
          select id, revision, value::text as value, null as extra from ${this.table}
          where name = ${this.declaration.name} and id > ${from}
          order by id limit ${BATCH_COUNT}`.execute(database.db),
      );
      for (const row of rows) this.passOn(row);
      const last = rows.at(-1);
      if (!last) break;
      after = last.id;
      await setImmediate();
    }
    this.savedUntil = this.anyUntil = clock[0]?.now;
  }

  /** Reads values that others have saved since the last time; with `notes` also the ones of `saveLater`. */
  async readChanges({ notes }: { notes: boolean }): Promise<void> {
    const since = notes
      ? sql`written_at > ${this.anyUntil}::timestamptz - ${ANY_OVERLAP}`
      : sql`changed_at > ${this.savedUntil}::timestamptz - ${SAVED_OVERLAP}`;
    const { rows } = await sql<{ id: string | null; revision: string; now: Date }>`
      with at as materialized (select clock_timestamp() as now)
      select r.id, r.revision, at.now from at
      left join ${this.table} r on r.name = ${this.declaration.name} and r.${since}`.execute(
      this.options.database.db,
    );
    const changed = rows.flatMap(({ id, revision }) =>
      id !== null && this.revisions.get(id) !== revision ? [id] : [],
    );
    // Other work gets its turn between two batches.
    for (let at = 0; at < changed.length; at += BATCH_COUNT) {
      await this.readNewer(changed.slice(at, at + BATCH_COUNT));
    }
    if (notes) this.anyUntil = rows[0]?.now;
    else this.savedUntil = rows[0]?.now;
  }

  /**
   * Passes on values that were written by anyone. A value that this process is writing waits for the end of that: it would
   * else be taken for a foreign one, or for one that is still to be written.
   */
  private async readNewer(changed: readonly string[]): Promise<void> {
    let remaining = changed;
    for (let turn = 0; remaining.length > 0 && turn < MAX_TRIES; turn += 1) {
      if (remaining.some((id) => this.inFlight.has(id))) await this.batch;
      const before = new Map(remaining.map((id) => [id, this.revisions.get(id)]));
      const rows = await this.rowsOf(remaining);
      const isOutdated = ({ id }: ValueRow) =>
        this.inFlight.has(id) || this.revisions.get(id) !== before.get(id);
      remaining = rows.filter(isOutdated).map(({ id }) => id);
      for (const row of rows) {
        if (!isOutdated(row) && this.revisions.get(row.id) !== row.revision) this.passOn(row);
      }
    }
  }

  private async rowsOf(ids: readonly string[]): Promise<ValueRow[]> {
    const { rows } = await sql<ValueRow>`
      select id, revision, value::text as value, extra::text as extra from ${this.table}
      where name = ${this.declaration.name} and id = any(${ids}::text[])`.execute(
      this.options.database.db,
    );
    return rows;
  }

  private passOn(row: ValueRow): void {
    this.revisions.set(row.id, row.revision);
    const value = this.declaration.schema.safeParse(JSON.parse(row.value));
    if (value.success) {
      const extra: unknown = row.extra === null ? undefined : JSON.parse(row.extra);
      this.declaration.onStored(row.id, { value: value.data, extra });
      return;
    }
    const { name } = this.declaration;
    this.options.log.error({ id: row.id }, `a stored value of '${name}' is damaged`);
  }

  private enqueue(id: string, { isSaved }: { isSaved: boolean }): PendingValue {
    const known = this.waiting.get(id) ?? { waiters: [], isSaved: false, tries: 0 };
    known.isSaved ||= isSaved;
    this.waiting.set(id, known);
    return known;
  }

  private writeSoon(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing ??= this.options.pending.track(this.writeWaiting());
  }

  private writeLater(): void {
    this.timer ??= setTimeout(() => this.writeSoon(), SAVE_LATER_MS);
  }

  private async writeWaiting(): Promise<void> {
    // Values of the same round of the event loop are written together.
    await setImmediate();
    try {
      let remaining = this.waiting.size;
      while (remaining > 0 || this.isAnyAwaited()) {
        const some = [...this.waiting].slice(0, BATCH_COUNT);
        for (const [id] of some) this.waiting.delete(id);
        remaining -= some.length;
        this.batch = this.writeSome(some);
        await this.batch;
      }
    } finally {
      // In the same turn, so that nothing comes in between and waits for ever.
      this.writing = undefined;
      if (this.waiting.size > 0) this.writeLater();
    }
  }

  private isAnyAwaited(): boolean {
    for (const { waiters, tries } of this.waiting.values()) {
      if (waiters.length > 0 || tries > 0) return true;
    }
    return false;
  }

  private async writeSome(some: ReadonlyArray<[string, PendingValue]>): Promise<void> {
    const sent = some.flatMap(([id, pending]) => this.prepare(id, pending) ?? []);
    if (sent.length === 0) return;
    try {
      const written = await this.options.database.again(() => this.send(sent));
      for (const one of sent) if (written.has(one.id)) this.onWritten(one);
      if (sent.some(({ id, pending }) => pending.isSaved && written.has(id))) {
        this.options.news.announce(this.declaration.name);
      }
      const late = sent.filter(({ id }) => !written.has(id));
      if (late.length > 0) await this.retryLate(late);
    } catch (error) {
      for (const { pending, onEnd, id } of sent) {
        this.inFlight.delete(id);
        onEnd(false);
        for (const { reject } of pending.waiters) reject(error);
        pending.waiters = [];
      }
    }
  }

  private prepare(id: string, pending: PendingValue): SentValue | undefined {
    const now = this.declaration.current(id);
    if (!now) {
      // It was deleted in the meantime.
      for (const { resolve } of pending.waiters) resolve();
      return undefined;
    }
    this.inFlight.set(id, pending);
    return {
      id,
      before: this.revisions.get(id),
      revision: randomUUID(),
      value: JSON.stringify(now.value),
      extra: now.extra === undefined ? null : JSON.stringify(now.extra),
      onEnd: now.onEnd,
      pending,
    };
  }

  private onWritten({ id, revision, onEnd, pending }: SentValue): void {
    this.revisions.set(id, revision);
    this.inFlight.delete(id);
    onEnd(true);
    for (const { resolve } of pending.waiters) resolve();
  }

  /** Writes values that no other process has written in the meantime, and resolves to their ids. May be called twice. */
  private async send(sent: readonly SentValue[]): Promise<Set<string>> {
    const inOrder = [...sent].sort((a, b) => (a.id < b.id ? -1 : 1));
    const known = inOrder.filter(({ before }) => before !== undefined);
    const fresh = inOrder.filter(({ before }) => before === undefined);
    const { writes } = this.options.database;
    const { name } = this.declaration;
    const written = new Set<string>();
    if (known.length > 0) {
      // A row with the new revision was written before, and only the answer was lost.
      const { rows } = await sql<{ id: string }>`
        update ${this.table} r set revision = sent.revision, value = sent.value::json, extra = sent.extra::json,
          written_at = clock_timestamp(),
          changed_at = case when sent.is_saved then clock_timestamp() else r.changed_at end
        from ${rowsToSend(known)}
        where r.name = ${name} and r.id = sent.id and r.revision in (sent.before, sent.revision)
        returning r.id`.execute(writes);
      for (const { id } of rows) written.add(id);
    }
    if (fresh.length > 0) {
      const { rows } = await sql<{ id: string }>`
        insert into ${this.table} as r (name, id, revision, value, extra)
        select ${name}, id, revision, value::json, extra::json from ${rowsToSend(fresh)}
        on conflict (name, id) do update set written_at = clock_timestamp()
          where r.revision = excluded.revision
        returning r.id`.execute(writes);
      for (const { id } of rows) written.add(id);
    }
    return written;
  }

  /** Passes on the values of faster processes, and queues the late ones again. */
  private async retryLate(late: readonly SentValue[]): Promise<void> {
    const rows = await this.options.database.again(() => this.rowsOf(late.map(({ id }) => id)));
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const { id } of late) this.inFlight.delete(id);
    for (const one of late) {
      const row = found.get(one.id);
      if (row) this.passOn(row);
      else this.revisions.delete(one.id);
      this.retry(one, { isDeleted: !row && one.before !== undefined });
    }
  }

  private retry({ id, onEnd, pending }: SentValue, { isDeleted }: { isDeleted: boolean }): void {
    if (isDeleted) {
      // Another process has deleted it, and this one will learn of that.
      onEnd(false);
      for (const { resolve } of pending.waiters) resolve();
      return;
    }
    if (pending.tries + 1 < MAX_TRIES) {
      const again = this.enqueue(id, pending);
      again.waiters.unshift(...pending.waiters);
      again.tries = pending.tries + 1;
      return;
    }
    onEnd(false);
    const error = new Error(`Too many writes to '${this.declaration.name}' of ${id} at once.`);
    for (const { reject } of pending.waiters) reject(error);
  }
}

const rowsToSend = (sent: readonly SentValue[]) => sql`unnest(
  ${sent.map(({ id }) => id)}::text[], ${sent.map(({ before }) => before ?? null)}::uuid[],
  ${sent.map(({ revision }) => revision)}::uuid[], ${sent.map(({ value }) => value)}::text[],
  ${sent.map(({ extra }) => extra)}::text[], ${sent.map(({ pending }) => pending.isSaved)}::bool[]
  ) as sent (id, before, revision, value, extra, is_saved)`;

export function createSharedExtras(
  name: string,
  { database, assertOpen }: { database: Database; assertOpen: () => void },
): SharedExtras {
  const { db } = database;
  const table = sql.table(`${database.schema}.shared_value`);
  type ExtraRow = Pick<ValueRow, 'id' | 'extra'>;
  const parsed = (rows: readonly ExtraRow[]) =>
    new Map<string, unknown>(
      rows.map(({ id, extra }) => [id, extra === null ? undefined : JSON.parse(extra)]),
    );
  return {
    async of(ids) {
      assertOpen();
      const { rows } = await database.again(() =>
        sql<ExtraRow>`select id, extra::text as extra from ${table}
          where name = ${name} and id = any(${ids}::text[]) and extra is not null`.execute(db),
      );
      return parsed(rows);
    },
    async *all() {
      for (let after: string | undefined = ''; after !== undefined; ) {
        assertOpen();
        const from: string = after;
        const { rows } = await database.again(() =>
          sql<ExtraRow>`select id, extra::text as extra from ${table}
            where name = ${name} and id > ${from} order by id limit ${BATCH_COUNT}`.execute(db),
        );
        yield parsed(rows);
        after = rows.at(-1)?.id;
      }
    },
  };
}
