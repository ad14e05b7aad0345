import { randomUUID } from 'node:crypto';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import { CorruptDocumentError, LeaseLostError } from '../errors.ts';
import { applyChanges, type EncodedItem, encodeItems, fitItems } from '../keyed-items.ts';
import type { Keyed, KeyedChanges, KeyedDeclaration } from '../store.ts';
import type { Database } from './database.ts';
import { keyOf } from './document-changes.ts';
import type { PendingWork } from './pending-work.ts';

/** Items of one statement. */
const BATCH_COUNT = 1_000;

interface ItemRow {
  revision: string;
  id: string | null;
  value: string | null;
}

interface KeyedRowsOptions {
  database: Database;
  pending: PendingWork;
  assertOpen: () => void;
  log: Logger;
}

/**
 * Opens a keyed map: one row for its head and one for each item. A write names the head's revision that it follows, so a
 * process that was thought dead can't write after its successor.
 */
export async function openPostgresKeyed<T>(
  declaration: KeyedDeclaration<T>,
  options: KeyedRowsOptions,
): Promise<Keyed<T>> {
  const { pending, assertOpen } = options;
  const rows = new KeyedRows(declaration, options);
  await rows.read();
  let last: Promise<void> = Promise.resolve();

  async function write(changes: KeyedChanges<T>): Promise<void> {
    assertOpen();
    const result = pending.track(last.then(() => rows.write(changes)));
    last = result.catch(() => {});
    await result;
  }

  // A row has no readable earlier version, so every write erases.
  return { items: () => rows.items, write, erase: write };
}

class KeyedRows<T> {
  items = new Map<string, T>();
  private readonly declaration: KeyedDeclaration<T>;
  private readonly database: Database;
  private readonly log: Logger;
  private readonly head: RawBuilder<unknown>;
  private readonly item: RawBuilder<unknown>;
  private revision: string | undefined;
  /** Changes of writes that failed, but may be stored: the next write repairs these items. */
  private readonly unsure = { ids: new Set<string>(), revisions: new Set<string>() };

  constructor(declaration: KeyedDeclaration<T>, { database, log }: KeyedRowsOptions) {
    this.declaration = declaration;
    this.database = database;
    this.log = log;
    this.head = sql.table(`${database.schema}.keyed_head`);
    this.item = sql.table(`${database.schema}.keyed_item`);
  }

  async read(): Promise<void> {
    const { name, whenCorrupt } = this.declaration;
    const { rows } = await this.database.again(() =>
      sql<ItemRow>`
        select h.revision, i.id::text as id, i.value::text as value
        from ${this.head} h left join ${this.item} i on i.name = h.name
        where h.name = ${name}`.execute(this.database.db),
    );
    this.revision = rows[0]?.revision;
    const found = new Map<string, unknown>();
    for (const { id, value } of rows) {
      if (id !== null && value !== null) found.set(JSON.parse(id), JSON.parse(value));
    }
    this.items = fitItems(this.declaration, found, (_id, reason) => {
      this.log.error({ reason }, `a stored item of '${name}' is damaged`);
      if (whenCorrupt === 'forget') return;
      throw new CorruptDocumentError(
        `A stored item of '${name}' is damaged: ${reason}. Restore the database from a backup, or remove the rows of '${name}' from the tables 'keyed_head' and 'keyed_item' to start without their data.`,
      );
    });
  }

  async write(changes: KeyedChanges<T>): Promise<void> {
    const all = this.withRepairs(changes);
    const { puts, deletes } = await encodeItems(this.declaration, all);
    const batches = batchesOf(puts);
    const revision = randomUUID();
    this.unsure.revisions.add(revision);
    for (const id of all.keys()) this.unsure.ids.add(id);
    const isWritten = await this.database.again(() => this.send(revision, deletes, batches));
    // Another process has written since.
    if (!isWritten) throw new LeaseLostError();
    this.revision = revision;
    this.unsure.ids.clear();
    this.unsure.revisions.clear();
    applyChanges(this.items, changes);
  }

  private withRepairs(changes: KeyedChanges<T>): KeyedChanges<T> {
    const all = new Map<string, T | undefined>();
    for (const id of this.unsure.ids) all.set(id, this.items.get(id));
    for (const [id, value] of changes) all.set(id, value);
    return all;
  }

  private async send(
    revision: string,
    deletes: readonly string[],
    batches: readonly EncodedItem[][],
  ): Promise<boolean> {
    const { writes } = this.database;
    const [first = [], ...others] = batches;
    if (others.length === 0) return await this.sendHead(writes, revision, deletes, first);
    return await writes.transaction().execute(async (transaction) => {
      if (!(await this.sendHead(transaction, revision, deletes, first))) return false;
      for (const batch of others) {
        await sql`with ${this.putItems(batch)} select`.execute(transaction);
      }
      return true;
    });
  }

  /** May be sent twice: an answer may be lost, and the items are the same the second time. */
  private async sendHead(
    on: Kysely<unknown>,
    revision: string,
    deletes: readonly string[],
    puts: readonly EncodedItem[],
  ): Promise<boolean> {
    const { name } = this.declaration;
    const known = [...this.unsure.revisions, ...(this.revision ? [this.revision] : [])];
    const { rows } = await sql`
      with head as (
        insert into ${this.head} as h (name, revision) values (${name}, ${revision}::uuid)
        on conflict (name) do update set revision = excluded.revision
          where h.revision = any(${known}::uuid[])
        returning h.name),
      deleted as (
        delete from ${this.item} i using head
        where i.name = head.name and i.key = any(${deletes.map(keyOf)}::bytea[])),
      ${this.putItems(puts, sql`, head`)}
      select from head`.execute(on);
    return rows.length > 0;
  }

  private putItems(puts: readonly EncodedItem[], head = sql``): RawBuilder<unknown> {
    return sql`put as (
      insert into ${this.item} as i (name, key, id, value)
      select ${this.declaration.name}, sent.key, sent.id::json, sent.value::json
      from unnest(
        ${puts.map(({ id }) => keyOf(id))}::bytea[],
        ${puts.map(({ id }) => JSON.stringify(id))}::text[],
        ${puts.map(({ text }) => text)}::text[]
      ) as sent (key, id, value) ${head}
      on conflict (name, key) do update set value = excluded.value)`;
  }
}

function batchesOf(puts: EncodedItem[]): EncodedItem[][] {
  const batches: EncodedItem[][] = [];
  for (let at = 0; at < puts.length; at += BATCH_COUNT) {
    batches.push(puts.slice(at, at + BATCH_COUNT));
  }
  return batches;
}
