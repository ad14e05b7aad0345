import { randomUUID } from 'node:crypto';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { beginTurn } from '../../contracts/event-loop.ts';
import { keyOf } from '../claims.ts';
import { CorruptDocumentError, StoreUnavailableError } from '../errors.ts';
import {
  type AskedUpdate,
  frozen,
  makeUpdates,
  queueUpdates,
  type State,
  type StateDeclaration,
} from '../state.ts';
import type { Database } from './database.ts';
import type { PendingWork } from './pending-work.ts';
import type { Tables } from './tables.ts';

/** Another process changes it at the same moment so often before this gives up. */
const MAX_TRIES = 50;

/** Items and characters of one statement. */
const BATCH_COUNT = 1_000;
const BATCH_LENGTH = 1024 * 1024;

interface ItemRow {
  version: number;
  revision: string;
  rest: string;
  step: string | null;
}

/** An item as an update sets it. */
interface Put {
  key: string;
  inside: string | null;
  no: number;
  step: string;
  /** It was removed by the same update, and is the last of all. */
  isAnew: boolean;
}

/** The head row as last read or written; `current` is what the items make. */
interface Known<T> {
  version: number;
  revision: string;
  current: T;
}

/**
 * A state of one row for its head and one for each item. Usually one process writes it. A write names the revision of the head
 * that it has read; if that isn't the newest, the state is read again and the change is repeated.
 */
export async function openStateInRows<T, S, R>(
  declaration: StateDeclaration<T, S, R>,
  options: { database: Database; pending: PendingWork; assertOpen: () => void },
): Promise<State<T>> {
  const { name, step: stepSchema, rest: restSchema, upgrade = (state) => state } = declaration;
  const { database, pending, assertOpen } = options;
  const { db, writes, schema } = database;
  const head = sql.table(`${schema}.state_head`);
  const items: Items = { item: sql.table(`${schema}.state_item`), name };
  let known = await readAll();
  /** True if `known` may be outdated, as after an update that seemed to fail. */
  let isUnsure = false;

  function readable<V>(type: z.ZodType<V>, text: string): V {
    const found = type.safeParse(JSON.parse(text));
    if (found.success) return frozen(found.data);
    throw new CorruptDocumentError(
      `A stored item of '${name}' is damaged: ${z.prettifyError(found.error)}. Restore the database from a backup, or remove the rows of '${name}' from the tables 'state_head' and 'state_item' to start without their data.`,
    );
  }

  async function readAll(): Promise<Known<T> | undefined> {
    const { rows } = await database.again(() =>
      sql<ItemRow>`
        select h.version, h.revision, h.rest::text as rest, i.step::text as step
        from ${head} h left join ${items.item} i on i.name = h.name
        where h.name = ${name} order by i.since, i.no`.execute(db),
    );
    const [first] = rows;
    if (!first) return undefined;
    const turn = beginTurn();
    const builder = declaration.begin(undefined);
    for (const { step } of rows) {
      if (turn.isOver()) await turn.next();
      if (step !== null) builder.apply(readable(stepSchema, step));
    }
    const { version, revision, rest } = first;
    const state = builder.end(readable(restSchema, rest));
    return { version, revision, current: declaration.freeze(state, undefined) };
  }

  /** Makes the changes that have come with one write. */
  async function writeTogether(updates: ReadonlyArray<AskedUpdate<T>>): Promise<void> {
    try {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        if (isUnsure) known = await readAll();
        isUnsure = true;
        const before = known;
        const { next, made } = makeUpdates(declaration, before?.current, updates);
        const isChanged = next !== undefined && next !== before?.current;
        if (isChanged && !(await write(before, next))) continue;
        isUnsure = false;
        for (const one of made) {
          if ('error' in one) one.asked.reject(one.error);
          else one.asked.resolve();
        }
        return;
      }
      throw new StoreUnavailableError(
        `Too many changes to '${name}' at once; this one did not get its turn.`,
      );
    } catch (error) {
      for (const { reject } of updates) reject(error);
    }
  }

  /** Stores what leads from one state to another; false if what was read is not the newest any more. */
  async function write(before: Known<T> | undefined, after: T): Promise<boolean> {
    const update = await updateBetween(declaration, before?.current, after);
    const revision = randomUUID();
    const version = (before?.version ?? 0) + 1;
    const batches = batchesOf(update.puts);
    const rest = JSON.stringify(declaration.restOf(after));
    readable(restSchema, rest);
    let tries = 0;
    const writeAll = async (on: Kysely<Tables>) => {
      tries += 1;
      const [first = [], ...others] = batches;
      const written = before
        ? sql`update ${head} set version = ${version}, revision = ${revision}, rest = ${rest}::json
            where name = ${name} and revision = ${before.revision} returning version`
        : sql`insert into ${head} (name, version, revision, rest)
            values (${name}, ${version}, ${revision}, ${rest}::json) on conflict do nothing returning version`;
      const { rows } =
        await sql`with head as (${written}) ${removals(items, update)} ${puts(items, first)}
        select from head`.execute(on);
      if (rows.length === 0) return false;
      for (const batch of others) {
        await sql`with head as (select ${version}::int8 as version) ${puts(items, batch)} select`.execute(
          on,
        );
      }
      return true;
    };
    const isFirst = await database.again(() =>
      batches.length > 1 ? writes.transaction().execute(writeAll) : writeAll(writes),
    );
    // The try before may have written it, and only its answer was lost.
    if (!isFirst && (tries === 1 || (await revisionNow()) !== revision)) return false;
    known = { version, revision, current: after };
    return true;
  }

  async function revisionNow(): Promise<string | undefined> {
    const { rows } = await database.again(() =>
      sql<{ revision: string }>`select revision from ${head} where name = ${name}`.execute(db),
    );
    return rows[0]?.revision;
  }

  // No row has an earlier version that could be read: an update erases what it removes.
  const { update } = queueUpdates<T>((updates) => pending.track(writeTogether(updates)));
  await update((state) => state && upgrade(state));
  const change: State<T>['update'] = async (make) => {
    assertOpen();
    await update(make);
  };
  return { current: () => known?.current, update: change, erase: change };
}

/** Rows of the items of one state. */
interface Items {
  item: RawBuilder<unknown>;
  name: string;
}

/** Removes items, and those inside of them, but for the ones that the same update sets. */
function removals({ item, name }: Items, { gone, vanished, puts }: StateUpdate) {
  if (vanished.length === 0) return sql``;
  return sql`, removed as (delete from ${item} i using head
    where i.name = ${name} and not i.key = any(${[...puts.keys()]}::text[])
      and (i.key = any(${gone}::text[]) or i.inside = any(${vanished}::text[])))`;
}

function puts({ item, name }: Items, some: readonly Put[]) {
  const parts = [true, false].map((isAnew) => {
    const own = some.filter((one) => one.isAnew === isAnew);
    if (own.length === 0) return sql``;
    const place = isAnew ? sql`, since = excluded.since, no = excluded.no` : sql``;
    return sql`, ${sql.raw(isAnew ? 'put_anew' : 'put')} as (
      insert into ${item} as i (name, key, inside, since, no, step)
      select ${name}, sent.key, sent.inside, head.version, sent.no, sent.step::json
      from head, unnest(
        ${own.map(({ key }) => key)}::text[], ${own.map(({ inside }) => inside)}::text[],
        ${own.map(({ no }) => no)}::int[], ${own.map(({ step }) => step)}::text[]
      ) as sent (key, inside, no, step)
      on conflict (name, key) do update set step = excluded.step ${place})`;
  });
  return sql.join(parts, sql` `);
}

type StateUpdate = Awaited<ReturnType<typeof updateBetween>>;

/** What leads from one state to another, as what becomes of each item in the end. */
async function updateBetween<T, S, R>(
  { stepsBetween, itemOf, step: schema }: StateDeclaration<T, S, R>,
  before: T | undefined,
  after: T,
) {
  const puts = new Map<string, Put>();
  const gone = new Set<string>();
  /** All that were removed, also those that come again. */
  const vanished = new Set<string>();
  const turn = beginTurn();
  let no = 0;
  for (const step of stepsBetween(before, after)) {
    if (turn.isOver()) await turn.next();
    const text = JSON.stringify(step);
    // Of the text: what JSON leaves out or turns into null would be found missing only when it is read.
    schema.parse(JSON.parse(text));
    frozen(step);
    const { key: ownKey, inside: outer, removal } = itemOf(step);
    const key = keyOf(ownKey);
    if (removal === undefined) {
      puts.delete(key);
      gone.add(key);
      vanished.add(key);
      continue;
    }
    const inside = outer === undefined ? null : keyOf(outer);
    gone.delete(key);
    no += 1;
    const isAnew = vanished.has(key) || (inside !== null && vanished.has(inside));
    puts.set(key, { key, inside, no, step: text, isAnew });
  }
  return {
    puts,
    gone: [...gone],
    vanished: [...vanished],
  };
}

function batchesOf(puts: ReadonlyMap<string, Put>): Put[][] {
  let batch: Put[] = [];
  const batches = [batch];
  let length = 0;
  for (const put of puts.values()) {
    if (batch.length >= BATCH_COUNT || (batch.length > 0 && length > BATCH_LENGTH)) {
      batch = [];
      batches.push(batch);
      length = 0;
    }
    batch.push(put);
    length += put.step.length;
  }
  return batches;
}
