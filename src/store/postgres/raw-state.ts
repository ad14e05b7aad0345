import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { z } from 'zod';
import { StoreInUseError } from '../errors.ts';
import { assertNotMarked, type RawState, StateMark, type StatePart } from '../raw-state.ts';
import { type Database, type DatabaseSettings, openDatabase } from './database.ts';
import { documentPages, keyOf } from './document-changes.ts';
import { joinMembers, MEMBER_TIMES, type Membership } from './members.ts';
import { assertSchemaKnown, migrate, migrations, newestOf } from './migrations/migrations.ts';
import {
  batches,
  ROW_COUNT,
  registers,
  remove,
  results,
  states,
  type TablePart,
  usage,
} from './raw-tables.ts';
import { SECRET_KEY, SECRET_KEY_ID } from './secret-key.ts';

/** Collection of the document that says that the program must not use the state. */
const MARK = { collection: 'state-mark', id: 'mark' };

/** What a process that moves state competes for, by which others know it. */
const MOVING = 'move-state';

/** Tables that hold nothing that has to move. */
export const UNMOVED_TABLES = [
  // Who is there now, and how the tables came about.
  ...['member', 'migration', 'migration_lock'],
  // Begins anew from the sums of usage; what is set aside is so for a process that lives.
  ...['budget', 'budget_hold'],
  // What was asked in the last minutes, which files keep in no place either.
  'rate_window',
];

/** One that was killed counts as alive for some more seconds. */
const GONE_AFTER_MS = MEMBER_TIMES.ttlMs + 1_000;
const LOOK_AGAIN_MS = 200;

/** Who appended the records that were moved here. */
const MOVED_WRITER = '00000000-0000-0000-0000-000000000000';

const DAY_MS = 86_400_000;

const DocumentItem = z.tuple([z.string(), z.int(), z.unknown()]);
const RecordItem = z.tuple([z.number(), z.int(), z.unknown()]);
const LeaseItem = z.tuple([z.string(), z.int()]);
const KeyItem = z.tuple([z.string()]);

/**
 * Opens the state in a database to move it; no program may run on it. With `readOnly` nothing in it is changed, and programs
 * may run. Throws as the engine does when it cannot be used.
 */
export async function openPostgresState(
  options: DatabaseSettings & { version: string; readOnly?: boolean; log: Logger },
): Promise<RawState> {
  const { version, readOnly = false, log } = options;
  const database = openDatabase(options);
  const { db, schema } = database;
  let members: Membership | undefined;
  try {
    await database.again(async () => {
      await assertSchemaKnown(db, schema, migrations);
      if (!readOnly) await migrate({ ...options, migrations });
    });
    if (!readOnly) {
      members = await joinMembers({ database, version, knows: newestOf(migrations), log });
      members.want(MOVING, true);
      await members.beat();
      await assertAlone(database, members);
    }
    const isThere = !readOnly || (await hasTables(database));
    const parts = statePartsOf(database, log);
    return {
      place: placeOf(options.url, schema),
      howToEmpty: howToEmpty(schema),
      parts: isThere ? parts : parts.map(withoutTables),
      lost: members?.signal() ?? new AbortController().signal,
      mark: async () => (isThere ? await readMark(database) : undefined),
      setMark: (mark) => writeMark(database, mark, members?.id()),
      async close() {
        await members?.close();
        await database.close();
      },
    };
  } catch (error) {
    await members?.close();
    await database.close();
    throw error;
  }
}

/** Throws `StateMovedError` when the state was moved away, is on its way here, or is just being moved. */
export async function assertNotMoved(database: Database, url: string): Promise<void> {
  const { db, schema } = database;
  const place = placeOf(url, schema);
  assertNotMarked(place, await readMark(database), {
    useOther: 'unset DATABASE_URL, and set DATA_DIR to that folder',
    goOn: 'npx askwatch move-state',
    howToEmpty: howToEmpty(schema),
  });
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(`${schema}.member`)}
    where until > clock_timestamp() and ${MOVING} = any(wants)`.execute(db);
  if (rows[0]) {
    throw new StoreInUseError(
      `The state in ${place} is being moved by ${rows[0].name}. Start again when it has finished.`,
    );
  }
}

const howToEmpty = (schema: string) =>
  `remove it with "drop schema ${schema} cascade", or set DATABASE_SCHEMA to another one`;

/** Where it is, for people, without who may use it. */
export function placeOf(url: string, schema: string): string {
  const { host, pathname } = new URL(url);
  return `PostgreSQL at ${host}${pathname}, schema ${schema}`;
}

/** All parts. Whoever adds a table adds it to one of them, or says that it is not moved. */
export function statePartsOf(database: Database, log: Logger): TablePart[] {
  return [
    ...[secretKey(database), leases(database), documents(database), records(database)],
    ...[registers(database), results(database, log), usage(database), states(database)],
  ];
}

/** Where the program has never been started. */
const withoutTables = (part: StatePart): StatePart => ({
  ...part,
  groups: async () => [],
  async *read() {},
});

async function hasTables({ db, schema }: Database): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass(${`${schema}.record`}) is not null as there`.execute(db);
  return rows[0]?.there === true;
}

/**
 * Waits until no other process counts as alive, and throws `StoreInUseError` when one goes on to. Whoever starts joins before it
 * looks, as this does, so that of any two one sees the other.
 */
async function assertAlone({ db, schema }: Database, members: Membership): Promise<void> {
  const giveUpAtMs = performance.now() + GONE_AFTER_MS;
  while (true) {
    const { rows } = await sql<{ name: string }>`
      select name from ${sql.table(`${schema}.member`)}
      where until > clock_timestamp() and id <> ${members.id()} order by name`.execute(db);
    if (rows.length === 0) return;
    if (performance.now() > giveUpAtMs) {
      const names = rows.map(({ name }) => name).join(', ');
      throw new StoreInUseError(`The database is in use by ${names}. Stop that first.`);
    }
    await pause(LOOK_AGAIN_MS);
  }
}

async function readMark({ db }: Database): Promise<StateMark | undefined> {
  const row = await db
    .selectFrom('document')
    .select(sql<string | null>`body::text`.as('body'))
    .where('collection', '=', MARK.collection)
    .where('key', '=', keyOf(MARK.id))
    .executeTakeFirst();
  return row?.body ? StateMark.parse(JSON.parse(row.body)) : undefined;
}

/** Only while nobody else may use the state. */
async function writeMark(
  { db, schema, again }: Database,
  mark: StateMark | undefined,
  member: string | undefined,
): Promise<void> {
  const document = sql.table(`${schema}.document`);
  const isAlone = sql`exists (select from ${sql.table(`${schema}.member`)}
    where id = ${member ?? null}::uuid and until > clock_timestamp())`;
  const text = mark && JSON.stringify(mark);
  await again(async () => {
    const { rows } = text
      ? await sql`insert into ${document} (collection, key, id, version, revision, body)
          select ${MARK.collection}, ${keyOf(MARK.id)}, ${JSON.stringify(MARK.id)}::json, 1,
            ${randomUUID()}::uuid, ${text}::json where ${isAlone}
          on conflict (collection, key) do update set body = excluded.body, revision = excluded.revision
          returning key`.execute(db)
      : await sql`with removed as (delete from ${document}
            where collection = ${MARK.collection} and ${isAlone}) select 1 where ${isAlone}`.execute(
          db,
        );
    if (rows.length === 0) {
      throw new StoreInUseError(
        'The database could not be reached for too long, so others may use it again. Run this once more; it continues where it stopped.',
      );
    }
  });
}

/** Every collection but those that another part holds. */
function documents(database: Database): TablePart {
  const { db, schema } = database;
  const others = [MARK.collection, SECRET_KEY.name];
  return {
    name: 'documents',
    tables: ['document'],
    async groups() {
      const found = await database.again(() =>
        db
          .selectFrom('document')
          .select('collection')
          .distinct()
          .where('body', 'is not', null)
          .where('collection', 'not in', others)
          .execute(),
      );
      return found.map(({ collection }) => collection);
    },
    async *read(group) {
      for await (const { rows } of documentPages(database, group)) {
        for (const { id, version, body } of rows) {
          yield JSON.stringify([JSON.parse(id ?? 'null'), version, JSON.parse(body ?? 'null')]);
        }
      }
    },
    async replace(group, items) {
      await remove(database, 'document', sql`collection = ${group}`);
      for await (const texts of batches(items)) {
        const rows = texts.map((text) => DocumentItem.parse(JSON.parse(text)));
        await database.again(() =>
          sql`insert into ${sql.table(`${schema}.document`)} (collection, key, id, version, revision, body)
            select ${group}, key, id::json, version, revision, body::json from unnest(
              ${rows.map(([id]) => keyOf(id))}::bytea[],
              ${rows.map(([id]) => JSON.stringify(id))}::text[],
              ${rows.map(([, version]) => version)}::int[],
              ${rows.map(() => randomUUID())}::uuid[],
              ${rows.map(([, , document]) => JSON.stringify(document))}::text[]
            ) as rows (key, id, version, revision, body)
            on conflict do nothing`.execute(db),
        );
      }
    },
  };
}

/** Every journal, day by day. */
function records(database: Database): TablePart {
  const { db, schema } = database;
  const where = (group: string) => {
    const [journal = '', day = ''] = group.split('/');
    const fromMs = Date.parse(day);
    return { journal, fromMs, toMs: fromMs + DAY_MS };
  };
  return {
    name: 'records',
    tables: ['record'],
    async groups() {
      const groups: string[] = [];
      let after: { journal: string; day: number } | undefined;
      // One look into the index for each, where `distinct` would read every record.
      while (true) {
        const last = after;
        const next = await database.again(() =>
          db
            .selectFrom('record')
            .select(['journal', 'at_ms'])
            .$if(last !== undefined, (query) =>
              query.where(
                sql<boolean>`(journal, at_ms) >= (${last?.journal}, ${((last?.day ?? 0) + 1) * DAY_MS}::float8)`,
              ),
            )
            .orderBy('journal')
            .orderBy('at_ms')
            .limit(1)
            .executeTakeFirst(),
        );
        if (!next) return groups;
        after = { journal: next.journal, day: Math.floor(next.at_ms / DAY_MS) };
        const day = new Date(after.day * DAY_MS).toISOString().slice(0, 10);
        groups.push(`${next.journal}/${day}`);
      }
    },
    async *read(group) {
      const { journal, fromMs, toMs } = where(group);
      let after: { at_ms: number; no: number; writer: string } | undefined;
      let before = { atMs: Number.NaN, no: 0 };
      while (true) {
        const last = after;
        const page = await database.again(() =>
          db
            .selectFrom('record')
            .select(['at_ms', 'no', 'writer', sql<string>`body::text`.as('body')])
            .where('journal', '=', journal)
            .where('at_ms', '>=', fromMs)
            .where('at_ms', '<', toMs)
            .$if(last !== undefined, (query) =>
              query.where(
                sql<boolean>`(at_ms, no, writer) > (${last?.at_ms}::float8, ${last?.no}::int8, ${last?.writer}::uuid)`,
              ),
            )
            .orderBy('at_ms')
            .orderBy('no')
            .orderBy('writer')
            .limit(ROW_COUNT)
            .execute(),
        );
        for (const { at_ms: atMs, body } of page) {
          // Records of one millisecond stay apart, and in their order.
          before = { atMs, no: atMs === before.atMs ? before.no + 1 : 0 };
          yield JSON.stringify([atMs, before.no, JSON.parse(body)]);
        }
        after = page.at(-1);
        if (!after) return;
      }
    },
    async replace(group, items) {
      const { journal, fromMs, toMs } = where(group);
      const isOfDay = sql`journal = ${journal} and at_ms >= ${fromMs} and at_ms < ${toMs}`;
      await remove(database, 'record', isOfDay);
      for await (const texts of batches(items)) {
        const rows = texts.map((text) => RecordItem.parse(JSON.parse(text)));
        await database.again(() =>
          sql`insert into ${sql.table(`${schema}.record`)} (journal, at_ms, no, writer, body)
            select ${journal}, at_ms, no, ${MOVED_WRITER}::uuid, body::json from unnest(
              ${rows.map(([atMs]) => atMs)}::float8[],
              ${rows.map(([, no]) => no)}::int8[],
              ${rows.map(([, , record]) => JSON.stringify(record))}::text[]
            ) as rows (at_ms, no, body)
            on conflict do nothing`.execute(db),
        );
      }
    },
  };
}

/** The last fence of each kind of lease, so that none is given out again. */
function leases(database: Database): TablePart {
  const { db, schema } = database;
  const lease = sql.table(`${schema}.lease`);
  const group = 'leases';
  async function fences() {
    const { rows } = await database.again(() =>
      sql<{ kind: string; fence: number }>`
        select kind, max(fence) as fence from ${lease} group by kind having max(fence) > 0`.execute(
        db,
      ),
    );
    return rows;
  }
  return {
    name: 'leases',
    tables: ['lease'],
    groups: async () => ((await fences()).length > 0 ? [group] : []),
    async *read() {
      for (const { kind, fence } of await fences()) yield JSON.stringify([kind, fence]);
    },
    async replace(_group, items) {
      await remove(database, 'lease', sql`true`);
      for await (const texts of batches(items)) {
        const rows = texts.map((text) => LeaseItem.parse(JSON.parse(text)));
        await database.again(() =>
          sql`insert into ${lease} (kind, no, fence) select kind, 0, fence from unnest(
              ${rows.map(([kind]) => kind)}::text[], ${rows.map(([, fence]) => fence)}::int8[]
            ) as rows (kind, fence) on conflict do nothing`.execute(db),
        );
      }
    },
  };
}

/** The key of the stored data, or the word that says that it is gone for good. */
function secretKey(database: Database): TablePart {
  const ofKey = documents(database);
  const group = SECRET_KEY.name;
  const isKey = SECRET_KEY.schema;
  return {
    name: 'keys of secrets',
    tables: ['document'],
    async groups() {
      for await (const _ of ofKey.read(group)) return [group];
      return [];
    },
    async *read() {
      for await (const text of ofKey.read(group)) {
        const [, , document] = DocumentItem.parse(JSON.parse(text));
        yield JSON.stringify([isKey.parse(document).key]);
      }
    },
    replace: (_group, items) => ofKey.replace(group, keyDocuments(items)),
  };
}

async function* keyDocuments(items: AsyncIterable<string>) {
  for await (const text of items) {
    const [key] = KeyItem.parse(JSON.parse(text));
    yield JSON.stringify([SECRET_KEY_ID, SECRET_KEY.version, { key }]);
  }
}
