import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { CorruptDocumentError } from '../errors.ts';
import type { Journal, JournalDeclaration, JournalRecord } from '../store.ts';
import type { Database } from './database.ts';
import type { PendingWork } from './pending-work.ts';

/** As the embedded engine has it, so that what one takes the other takes. */
const MAX_RECORD_BYTES = 1024 * 1024;

/** Records and characters in one statement. */
const BATCH_COUNT = 500;
const BATCH_LENGTH = 4 * 1024 * 1024;

const PAGE_COUNT = 1_000;

/** Rows that one statement removes, so that none takes long. */
const REMOVE_COUNT = 5_000;

const DAY_MS = 86_400_000;

interface Row {
  at_ms: number;
  no: number;
  writer: string;
  body: string;
}

interface Waiting {
  row: Row;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** A journal of one row per record; records that come together are sent together. */
export function createPostgresJournal<T extends JournalRecord>(
  declaration: JournalDeclaration<T>,
  options: { database: Database; pending: PendingWork; assertOpen: () => void; log: Logger },
): Journal<T> {
  const { database, pending, assertOpen, log } = options;
  const { db, writes, schema } = database;
  const { name } = declaration;
  const record = sql.table(`${schema}.record`);
  const writer = randomUUID();
  let no = 0;
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  async function writeAll() {
    while (waiting.length > 0) {
      const batch = takeBatch();
      try {
        await database.again(() => insert(batch.map(({ row }) => row)));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    writing = undefined;
  }

  function takeBatch(): Waiting[] {
    let length = 0;
    const end = waiting.findIndex(({ row }, index) => {
      length += row.body.length;
      return index > 0 && (index >= BATCH_COUNT || length > BATCH_LENGTH);
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  }

  /** Sent twice because the first answer was lost, a record is there once: nobody else has its writer and number. */
  async function insert(rows: readonly Row[]) {
    await sql`insert into ${record} (journal, at_ms, no, writer, body)
      select ${name}, at_ms, no, ${writer}::uuid, body::json from unnest(
        ${rows.map(({ at_ms }) => at_ms)}::float8[],
        ${rows.map(({ no }) => no)}::int8[],
        ${rows.map(({ body }) => body)}::text[]) as rows (at_ms, no, body)
      on conflict do nothing`.execute(writes);
  }

  /** Rows in order of time, page by page. */
  async function* rowsOf({
    fromMs,
    toMs,
    texts,
  }: {
    fromMs: number;
    toMs: number;
    texts?: readonly string[];
  }) {
    let after: Pick<Row, 'at_ms' | 'no' | 'writer'> | undefined;
    while (true) {
      assertOpen();
      const last = after;
      const page = await database.again(
        async () =>
          await db
            .selectFrom('record')
            .select(['at_ms', 'no', 'writer', sql<string>`body::text`.as('body')])
            .where('journal', '=', name)
            .where('at_ms', '>=', fromMs)
            .where('at_ms', '<', toMs)
            .$if(last !== undefined, (query) =>
              query.where(
                sql<boolean>`(at_ms, no, writer) > (${last?.at_ms}::float8, ${last?.no}::int8, ${last?.writer}::uuid)`,
              ),
            )
            .$if(texts !== undefined && texts.length > 0, (query) =>
              query.where(
                sql<boolean>`exists (select from unnest(${texts}::text[]) word where position(word in body::text) > 0)`,
              ),
            )
            .orderBy('at_ms')
            .orderBy('no')
            .orderBy('writer')
            .limit(PAGE_COUNT)
            .execute(),
      );
      yield* page;
      after = page.at(-1);
      if (!after || page.length < PAGE_COUNT) return;
    }
  }

  function decode({ body }: Row): T | undefined {
    const result = declaration.schema.safeParse(JSON.parse(body));
    return result.success ? result.data : undefined;
  }

  const unreadable = () =>
    new CorruptDocumentError(
      `A record of the stored journal '${name}' is damaged. Restore the database from a backup, or remove the journal's rows from the table 'record' to continue without its data.`,
    );

  async function remove(beforeMs: number) {
    let removed: number;
    do {
      removed = await database.again(async () => {
        const { numAffectedRows = 0n } = await sql`delete from ${record} where ctid = any(array(
          select ctid from ${record} where journal = ${name} and at_ms < ${beforeMs} limit ${REMOVE_COUNT}))`.execute(
          writes,
        );
        return Number(numAffectedRows);
      });
    } while (removed === REMOVE_COUNT);
  }

  async function eraseIn(row: Row, change: (record: T) => T | undefined) {
    const known = decode(row);
    if (known === undefined && declaration.whenUnreadable === 'refuse') throw unreadable();
    const wanted = known && change(known);
    if (wanted !== undefined && wanted === known) return;
    const isRow = sql`journal = ${name} and at_ms = ${row.at_ms} and no = ${row.no} and writer = ${row.writer}::uuid`;
    if (wanted === undefined) {
      await database.again(() => sql`delete from ${record} where ${isRow}`.execute(writes));
      return;
    }
    if (dayOf(wanted.atMs) !== dayOf(row.at_ms))
      throw new RangeError('An erased record stays on its day.');
    const body = encode(declaration, wanted);
    await database.again(() =>
      sql`update ${record} set at_ms = ${wanted.atMs}, body = ${body}::json where ${isRow}`.execute(
        writes,
      ),
    );
  }

  return {
    async append(record) {
      assertOpen();
      const row = { at_ms: record.atMs, no: ++no, writer, body: encode(declaration, record) };
      await pending.track(
        new Promise<void>((resolve, reject) => {
          waiting.push({ row, resolve, reject });
          // What comes with the same round of the loop is sent together.
          writing ??= Promise.resolve().then(writeAll);
        }),
      );
    },

    async *read({ fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = {}) {
      let skipped = 0;
      for await (const row of rowsOf({ fromMs, toMs })) {
        const known = decode(row);
        if (known !== undefined) yield known;
        else if (declaration.whenUnreadable === 'refuse') throw unreadable();
        else skipped += 1;
      }
      if (skipped > 0) log.warn({ journal: name, records: skipped }, 'skipped unreadable records');
    },

    async prune(beforeMs) {
      assertOpen();
      await pending.track(remove(dayOf(beforeMs) * DAY_MS));
    },

    async clear() {
      assertOpen();
      await pending.track(remove(Number.POSITIVE_INFINITY));
    },

    async erase(change, { mentioning = [] } = {}) {
      assertOpen();
      await writing;
      // As they stand in JSON.
      const texts = mentioning.map((text) => JSON.stringify(text).slice(1, -1));
      const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY, texts };
      for await (const row of rowsOf(range)) await pending.track(eraseIn(row, change));
    },
  };
}

const dayOf = (atMs: number) => Math.floor(atMs / DAY_MS);

/** The JSON of a record. Throws when what a reader would find there does not fit the schema. */
function encode<T extends JournalRecord>(declaration: JournalDeclaration<T>, record: T): string {
  const text = JSON.stringify(record);
  // Of the text, not of the record: what JSON leaves out or turns into null would be found missing only when it is read.
  const { atMs } = declaration.schema.parse(JSON.parse(text ?? 'null'));
  if (!Number.isFinite(atMs))
    throw new RangeError(`A record of '${declaration.name}' has no time.`);
  if (Buffer.byteLength(text) > MAX_RECORD_BYTES) {
    throw new RangeError(`A record of '${declaration.name}' is too large for a journal.`);
  }
  return text;
}
