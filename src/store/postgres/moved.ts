import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { StoreInUseError } from '../errors.ts';
import { assertNotMarked, StateMark } from '../move-mark.ts';
import type { Database } from './database.ts';
import { documentRows, keyOf } from './document-changes.ts';
import { MEMBER_TIMES, type Membership } from './members.ts';

/** Collection of the document that holds the mark. */
export const MARK_COLLECTION = 'state-mark';
const MARK_ID = 'mark';

/** A process that moves state competes for this lease, so that others recognize it. */
const MOVING = 'move-state';

/** A killed process counts as alive for some more seconds. */
const GONE_AFTER_MS = MEMBER_TIMES.ttlMs + 1_000;
const LOOK_AGAIN_MS = 200;

export const howToEmpty = (schema: string) =>
  `remove it with "drop schema ${schema} cascade", or set DATABASE_SCHEMA to another one`;

/** The location, for people, without credentials. */
export function placeOf(url: string, schema: string): string {
  const { host, pathname } = new URL(url);
  return `PostgreSQL at ${host}${pathname}, schema ${schema}`;
}

/** Throws `StateMovedError` if the state was moved away or its copy is unfinished, `StoreInUseError` during a move. */
export async function assertNotMoved(database: Database, url: string): Promise<void> {
  const { db, schema } = database;
  const place = placeOf(url, schema);
  assertNotMarked(place, await readMark(database), {
    useOther: 'unset DATABASE_URL, and set DATA_DIR to that folder',
    finishCopy: 'npx askwatch move-state',
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

/**
 * Keeps other processes from starting, and waits until none counts as alive. Throws `StoreInUseError` if one stays. Every process
 * joins before it looks, so of any two at least one sees the other.
 */
export async function assertAlone({ db, schema }: Database, members: Membership): Promise<void> {
  members.want(MOVING, true);
  await members.beat();
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

export async function readMark(database: Database): Promise<StateMark | undefined> {
  const [row] = await documentRows(database, MARK_COLLECTION, sql`key = ${keyOf(MARK_ID)}`);
  return row?.body ? StateMark.parse(JSON.parse(row.body)) : undefined;
}

/** Throws `StoreInUseError` if this process doesn't count as alive any more, because others may use the state then. */
export async function writeMark(
  { db, schema, again }: Database,
  mark: StateMark | undefined,
  member: string,
): Promise<void> {
  const document = sql.table(`${schema}.document`);
  const isAlone = sql`exists (select from ${sql.table(`${schema}.member`)}
    where id = ${member}::uuid and until > clock_timestamp())`;
  const text = mark && JSON.stringify(mark);
  const write = text
    ? sql`insert into ${document} (collection, key, id, version, revision, body)
        select ${MARK_COLLECTION}, ${keyOf(MARK_ID)}, ${JSON.stringify(MARK_ID)}::json, 1,
          ${randomUUID()}::uuid, ${text}::json where ${isAlone}
        on conflict (collection, key) do update set body = excluded.body, revision = excluded.revision
        returning key`
    : sql`with removed as (delete from ${document}
          where collection = ${MARK_COLLECTION} and ${isAlone}) select 1 where ${isAlone}`;
  await again(async () => {
    const { rows } = await write.execute(db);
    if (rows.length === 0) {
      throw new StoreInUseError(
        'The database could not be reached for too long, so others may use it again. Run this once more; it continues where it stopped.',
      );
    }
  });
}
