import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { attempt, type ChangeOutcome, ChangeQueue, type WaitingChange } from '../change-queue.ts';
import { assertId, notStorable, readDocument, storedForm } from '../documents.ts';
import { CorruptDocumentError, NewerDocumentError, StoreUnavailableError } from '../errors.ts';
import type { ChangedDocument, Collection, CollectionDeclaration, Following } from '../store.ts';
import type { Database } from './database.ts';
import {
  type DocumentChanges,
  type DocumentRow,
  documentPages,
  documentRows,
  keyOf,
} from './document-changes.ts';
import type { PendingWork } from './pending-work.ts';

/** Attempts to change a document that other processes change at the same moment. */
const MAX_TRIES = 200;

/** A document as it will be read, and how it is stored. */
interface PreparedDocument<T> {
  document: T;
  version: number;
  text: string;
}

interface DocumentRowsOptions {
  database: Database;
  changes: DocumentChanges;
  pending: PendingWork;
  assertOpen: () => void;
  log: Logger;
}

/** A collection with one row per document. A write names the revision that it follows; a late one is made again. */
export function createPostgresCollection<T>(
  declaration: CollectionDeclaration<T>,
  options: DocumentRowsOptions,
): Collection<T> {
  const rows = new DocumentRows(declaration, options);
  return {
    get: (id) => rows.get(id),
    list: () => rows.list(),
    update: (id, make) => rows.change(id, make),
    // A row has no readable earlier version. The server's own files lose it with the next vacuum.
    erase: (id, make) => rows.change(id, make),
    eraseAll: (fits) => rows.eraseAll(fits),
    follow: (onChange) => rows.follow(onChange),
  };
}

class DocumentRows<T> {
  private readonly declaration: CollectionDeclaration<T>;
  private readonly options: DocumentRowsOptions;
  private readonly database: Database;
  private readonly table;
  private readonly changes = new ChangeQueue<T>((id, changes) => this.apply(id, changes));
  private readonly reportedRevisions = new Set<string>();

  constructor(declaration: CollectionDeclaration<T>, options: DocumentRowsOptions) {
    this.declaration = declaration;
    this.options = options;
    this.database = options.database;
    this.table = sql.table(`${options.database.schema}.document`);
  }

  async get(id: string): Promise<T | undefined> {
    this.options.assertOpen();
    assertId(id);
    return this.documentOf(await this.options.pending.track(this.load(keyOf(id))));
  }

  async list() {
    this.options.assertOpen();
    const all: Array<{ id: string; document: T }> = [];
    for await (const row of this.rows()) {
      const document = this.documentOf(row);
      if (document === undefined) continue;
      all.push({ id: JSON.parse(row.id ?? 'null') as string, document });
    }
    return all;
  }

  async change(id: string, make: WaitingChange<T>['make']): Promise<T | undefined> {
    this.options.assertOpen();
    this.database.assertWritable();
    assertId(id);
    return await this.options.pending.track(this.changes.add(id, make));
  }

  async eraseAll(fits: (id: string, document: T) => boolean): Promise<void> {
    this.database.assertWritable();
    for (const { id, document } of await this.list()) {
      if (!fits(id, document)) continue;
      await this.change(id, (now) => (now && fits(id, now) ? undefined : now));
    }
    for await (const row of this.rows()) {
      if (this.documentOf(row) === undefined) await this.deleteDamaged(row);
    }
  }

  async follow(onChange: (changed: Array<ChangedDocument<T>>) => void): Promise<Following> {
    let isFirst = true;
    const following = await this.options.changes.follow((changed) =>
      onChange(
        changed.flatMap(({ id, row }) => {
          try {
            return [{ id, document: this.documentOf(row) }];
          } catch (error) {
            // A start needs every document. Later the other changes must arrive all the same.
            if (isFirst) throw error;
            const message = `could not read a change in '${this.declaration.name}'`;
            this.options.log.error({ err: error }, message);
            return [];
          }
        }),
      ),
    );
    isFirst = false;
    return following;
  }

  private async *rows(): AsyncGenerator<DocumentRow> {
    for await (const page of documentPages(this.database, this.declaration.name)) {
      yield* page.rows;
      this.options.assertOpen();
    }
  }

  /** `undefined` for a row that counts as never written. */
  private documentOf(row: DocumentRow | undefined): T | undefined {
    if (!row || row.body === null) return undefined;
    try {
      const document: unknown = JSON.parse(row.body);
      return readDocument(this.declaration, { version: row.version, document });
    } catch (error) {
      if (error instanceof NewerDocumentError) throw error;
      this.reportDamage(row, (error as Error).message);
      return undefined;
    }
  }

  private reportDamage({ key, revision }: DocumentRow, reason: string): void {
    const { name, whenCorrupt } = this.declaration;
    const place = `collection '${name}', key ${key.toString('hex')}`;
    if (whenCorrupt === 'refuse') {
      throw new CorruptDocumentError(
        `A stored document is damaged (${place}): ${reason}. Restore the database from a backup, or remove its row from the table 'document' to continue without it.`,
      );
    }
    if (this.reportedRevisions.has(revision)) return;
    this.reportedRevisions.add(revision);
    const message = `a stored document was damaged (${place}); it counts as never written`;
    this.options.log.error({ reason }, message);
  }

  private async load(key: Buffer): Promise<DocumentRow | undefined> {
    const { name } = this.declaration;
    const [row] = await this.database.again(() =>
      documentRows(this.database, name, sql`key = ${key}`),
    );
    return row;
  }

  private async apply(id: string, changes: WaitingChange<T>[]): Promise<ChangeOutcome<T>[]> {
    const key = keyOf(id);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const before = await this.load(key);
      const known = this.documentOf(before);
      const { outcomes, next, isChanged } = attempt(known, changes, (one) => this.prepare(one));
      // A damaged document counts as never written, but its row may hold what is to be erased.
      const isDamaged = known === undefined && typeof before?.body === 'string';
      if (!isChanged && !isDamaged) return outcomes;
      const after = {
        id: next ? JSON.stringify(id) : null,
        version: next?.version ?? 0,
        revision: randomUUID(),
        body: next?.text ?? null,
      };
      if (await this.replace(key, before, after)) {
        this.options.changes.written({ key, ...after });
        return outcomes;
      }
    }
    throw new StoreUnavailableError(
      `Too many changes to a document of '${this.declaration.name}' at once; this one did not get its turn.`,
    );
  }

  private prepare(wanted: T): PreparedDocument<T> {
    try {
      const { version, document } = storedForm(this.declaration, wanted);
      const text = JSON.stringify(document);
      const content = { version, document: JSON.parse(text) as unknown };
      return { document: readDocument(this.declaration, content), version, text };
    } catch (error) {
      throw notStorable(this.declaration.name, error);
    }
  }

  /** Resolves to false if another process was faster. */
  private async replace(
    key: Buffer,
    before: DocumentRow | undefined,
    after: Omit<DocumentRow, 'key'>,
  ): Promise<boolean> {
    const write = () => this.writeRow(key, before, after);
    try {
      return await this.database.once(write);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      // Only the answer may be lost.
      const now = await this.load(key);
      if (now?.revision === after.revision) return true;
      if (now?.revision === before?.revision) return await this.database.once(write);
      throw error;
    }
  }

  private async writeRow(
    key: Buffer,
    before: DocumentRow | undefined,
    after: Omit<DocumentRow, 'key'>,
  ): Promise<boolean> {
    const { name } = this.declaration;
    const { id, version, revision, body } = after;
    const write = before
      ? sql`update ${this.table} set id = ${id}::json, version = ${version},
          revision = ${revision}::uuid, body = ${body}::json, changed_at = clock_timestamp()
          where collection = ${name} and key = ${key} and revision = ${before.revision}::uuid`
      : sql`insert into ${this.table} (collection, key, id, version, revision, body)
          values (${name}, ${key}, ${id}::json, ${version}, ${revision}::uuid, ${body}::json)
          on conflict do nothing`;
    const { numAffectedRows } = await write.execute(this.database.writes);
    return numAffectedRows === 1n;
  }

  private async deleteDamaged({ key, revision }: DocumentRow): Promise<void> {
    await sql`delete from ${this.table} where collection = ${this.declaration.name}
      and key = ${key} and revision = ${revision}::uuid`.execute(this.database.writes);
  }
}
