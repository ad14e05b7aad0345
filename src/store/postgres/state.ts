import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
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
import type { News } from './news.ts';
import type { PendingWork } from './pending-work.ts';
import type { Tables } from './tables.ts';

/** Others who change it at the same moment win so often before this gives up. */
const MAX_TRIES = 200;

/** Waits between tries, of a random length, once some were in vain. */
const SPREAD_AFTER_TRIES = 3;
const SPREAD_MS = 20;

/** Items and characters of one statement. */
const BATCH_COUNT = 1_000;
const BATCH_LENGTH = 1024 * 1024;

/** How long a removed item is kept, for those who have not looked since; who is behind further reads all. */
const REMOVED_KEPT = sql`interval '15 minutes'`;

/** Who has not written for so long does not ask any more what became of it. */
const WRITER_KEPT = sql`interval '1 day'`;

interface ItemRow {
  version: number;
  rest: string;
  revision: string;
  swept: number;
  /** The last update of this process that was stored. */
  own_no: number | null;
  since: number | null;
  no: number;
  step: string | null;
  gone: boolean;
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

/** What is known of the head row; `current` is what the items make. */
interface Known<T> {
  version: number;
  revision: string;
  current: T;
}

/**
 * A state of one row for its head and one for each item. Whoever writes says which revision of the head was read; when another
 * process was faster, what that wrote is read, and the change is made again. All processes follow.
 */
export async function openStateInRows<T, S, R>(
  declaration: StateDeclaration<T, S, R>,
  options: {
    database: Database;
    news: News;
    pending: PendingWork;
    assertOpen: () => void;
    log: Logger;
  },
): Promise<State<T> & { close(): void }> {
  const { name, step: stepSchema, rest: restSchema, upgrade = (state) => state } = declaration;
  const { database, news, pending, assertOpen, log } = options;
  const { db, schema } = database;
  const [head, item, writers] = ['head', 'item', 'writer'].map((table) =>
    sql.table(`${schema}.state_${table}`),
  ) as [RawBuilder<unknown>, RawBuilder<unknown>, RawBuilder<unknown>];
  const writer = randomUUID();
  let lastNo = 0;
  let known: Known<T> | undefined;
  const followers = new Set<() => void>();
  let last: Promise<unknown> = Promise.resolve();

  /** Runs what reads or writes after what does so now: what is known must not change in between. */
  function alone<V>(task: () => Promise<V>): Promise<V> {
    const done = last.then(task);
    last = done.catch(() => {});
    return done;
  }

  function readable<V>(type: z.ZodType<V>, text: string): V {
    const found = type.safeParse(JSON.parse(text));
    if (found.success) return frozen(found.data);
    throw new CorruptDocumentError(
      `A stored item of '${name}' is damaged: ${z.prettifyError(found.error)}. Restore the database from a backup, or remove the rows of '${name}' from the tables 'state_head' and 'state_item' to start without their data.`,
    );
  }

  /** The head, with the items that are newer than a version, or all that are there. */
  async function rowsAfter(version: number | undefined): Promise<ItemRow[]> {
    const isWanted = version === undefined ? sql`i.gone_at is null` : sql`i.version > ${version}`;
    const { rows } = await database.again(() =>
      sql<ItemRow>`
        select h.version, h.revision, h.swept, h.rest::text as rest, w.no as own_no,
          i.since, i.no, i.step::text as step, i.gone_at is not null as gone
        from ${head} h
        left join ${writers} w on w.name = h.name and w.writer = ${writer}
        left join ${item} i on i.name = h.name and ${isWanted}
        where h.name = ${name}`.execute(db),
    );
    return rows;
  }

  /** Reads what others have written; gives whether that was anything. */
  async function readNewer(): Promise<boolean> {
    const before = known;
    let rows = await rowsAfter(before?.version);
    const [first] = rows;
    if (first?.revision === before?.revision) return false;
    // What was removed is not to be seen any more, or the database is another one, such as a restored backup.
    const isCut =
      before && first && (first.swept > before.version || first.version <= before.version);
    const from = isCut ? undefined : before;
    if (isCut) rows = await rowsAfter(undefined);
    known = await stateOf(rows, from);
    return true;
  }

  /** The state that rows make of one that was known. */
  async function stateOf(
    rows: readonly ItemRow[],
    from: Known<T> | undefined,
  ): Promise<Known<T> | undefined> {
    const [first] = rows;
    if (!first) return undefined;
    const turn = beginTurn();
    const builder = declaration.begin(from?.current);
    const [gone, set] = [rows.filter((row) => row.gone), rows.filter((row) => !row.gone)];
    set.sort((a, b) => (a.since ?? 0) - (b.since ?? 0) || a.no - b.no);
    const steps: S[] = [];
    for (const row of [...gone, ...set]) {
      if (turn.isOver()) await turn.next();
      if (row.step === null) continue;
      const step = readable(stepSchema, row.step);
      if (row.gone) builder.apply(step);
      else steps.push(step);
      // What was put in another place comes again, as the last of all.
      const { removal } = declaration.itemOf(step);
      const isMoved = from && !row.gone && row.since !== null && row.since > from.version;
      if (isMoved && removal) builder.apply(removal);
    }
    for (const step of steps) {
      if (turn.isOver()) await turn.next();
      builder.apply(step);
    }
    const state = builder.end(readable(restSchema, first.rest));
    const { version, revision } = first;
    return { version, revision, current: declaration.freeze(state, from?.current) };
  }

  /** As `readNewer`, and tells those who follow. */
  async function catchUp(): Promise<boolean> {
    const isNewer = await readNewer();
    if (isNewer) for (const notify of followers) notify();
    return isNewer;
  }

  /** Makes the changes that have come with one write, again where another process was faster. */
  async function writeTogether(updates: ReadonlyArray<AskedUpdate<T>>): Promise<void> {
    try {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        if (tries > SPREAD_AFTER_TRIES) await pause(Math.random() * SPREAD_MS);
        const before = known;
        const { next, erases, made } = makeUpdates(declaration, before?.current, updates);
        if (next === undefined || next === before?.current) {
          // That there is nothing to change, or why it cannot be, is to be said of the newest only.
          if (await catchUp()) continue;
        } else if (!(await write(before, next, erases))) {
          await catchUp();
          continue;
        }
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

  /** Stores what leads from one state to another; false when somebody else was faster. */
  async function write(before: Known<T> | undefined, after: T, erases: boolean): Promise<boolean> {
    const update = await updateBetween(declaration, before?.current, after);
    const revision = randomUUID();
    lastNo += 1;
    const no = lastNo;
    const batches = batchesOf(update.puts);
    const rest = JSON.stringify(declaration.restOf(after));
    readable(restSchema, rest);
    let tries = 0;
    const writeAll = async (on: Kysely<Tables>) => {
      tries += 1;
      const [first = [], ...others] = batches;
      const written = before
        ? sql`update ${head} set version = version + 1, revision = ${revision}, rest = ${rest}::json
            ${erases ? sql`, swept = version + 1` : sql``}
            where name = ${name} and revision = ${before.revision} returning version`
        : sql`insert into ${head} (name, version, revision, rest)
            values (${name}, 1, ${revision}, ${rest}::json) on conflict do nothing returning version`;
      const { rows } = await sql<{ version: number }>`with head as (${written}),
        own as (insert into ${writers} (name, writer, no) select ${name}, ${writer}::uuid, ${no}::int8 from head
          on conflict (name, writer) do update set no = excluded.no, at = clock_timestamp())
        ${removals(update, erases)} ${puts(first)} select version from head`.execute(on);
      const version = rows[0]?.version;
      if (version === undefined) return undefined;
      for (const batch of others) {
        await sql`with head as (select ${version}::int8 as version) ${puts(batch)} select`.execute(
          on,
        );
      }
      return version;
    };
    const version = await database.again(() =>
      batches.length > 1 ? db.transaction().execute(writeAll) : writeAll(db),
    );
    if (version === undefined) {
      const isWritten = tries > 1 && ((await rowsAfter(before?.version))[0]?.own_no ?? 0) >= no;
      // By the try before, of which only the answer was lost.
      if (!isWritten) return false;
    }
    known = { version: version ?? (before?.version ?? 0) + 1, revision, current: after };
    news.announce(name);
    return true;
  }

  /** What goes with an item that is removed is not kept, since who hears of the one knows of the other. */
  function removals({ gone, vanished, puts }: StateUpdate, erases: boolean) {
    const keys = gone.map(({ key }) => key);
    // Those who have not heard of what is erased read all: the version of the head says so.
    const isErased = sql`i.gone_at is not null or i.key = any(${keys}::text[])`;
    const removed = sql`, removed as (delete from ${item} i using head
      where i.name = ${name} and not i.key = any(${[...puts.keys(), ...(erases ? [] : keys)]}::text[])
        and (i.inside = any(${vanished}::text[]) ${erases ? sql`or ${isErased}` : sql``}))`;
    if (erases) return removed;
    if (vanished.length === 0) return sql``;
    return sql`${removed}, gone as (update ${item} i
      set version = head.version, step = sent.step::json, gone_at = clock_timestamp()
      from head, unnest(${keys}::text[], ${gone.map(({ step }) => step)}::text[]) as sent (key, step)
      where i.name = ${name} and i.key = sent.key)`;
  }

  function puts(some: readonly Put[]) {
    const parts = [true, false].map((isAnew) => {
      const own = some.filter((one) => one.isAnew === isAnew);
      if (own.length === 0) return sql``;
      const isMoved = isAnew ? sql`true` : sql`i.gone_at is not null`;
      return sql`, ${sql.raw(isAnew ? 'put_anew' : 'put')} as (
        insert into ${item} as i (name, key, inside, version, since, no, step)
        select ${name}, sent.key, sent.inside, head.version, head.version, sent.no, sent.step::json
        from head, unnest(
          ${own.map(({ key }) => key)}::text[], ${own.map(({ inside }) => inside)}::text[],
          ${own.map(({ no }) => no)}::int[], ${own.map(({ step }) => step)}::text[]
        ) as sent (key, inside, no, step)
        on conflict (name, key) do update set version = excluded.version, step = excluded.step, gone_at = null,
          since = case when ${isMoved} then excluded.since else i.since end,
          no = case when ${isMoved} then excluded.no else i.no end)`;
    });
    return sql.join(parts, sql` `);
  }

  await readNewer();
  const own: State<T> = {
    current: () => known?.current,
    ...queueUpdates<T>((updates) => pending.track(alone(() => writeTogether(updates)))),
    follow(notify) {
      followers.add(notify);
      return { stop: () => void followers.delete(notify) };
    },
  };
  let isReported = false;

  async function poll() {
    try {
      await pending.track(alone(catchUp));
    } catch (error) {
      if (!(error instanceof CorruptDocumentError) || isReported) throw error;
      isReported = true;
      log.error({ err: error }, `could not read other processes' changes in '${name}'`);
    }
  }

  const following = news.follow(name, poll);
  await own.update((state) => state && upgrade(state));
  return {
    current: own.current,
    async update(change) {
      assertOpen();
      await own.update(change);
    },
    async erase(change) {
      assertOpen();
      await own.erase(change);
    },
    follow: own.follow,
    close: () => following.stop(),
  };
}

/** Removes what those who follow have surely heard of. */
export async function sweepStates({ db, schema }: Database): Promise<void> {
  const [head, item, writers] = ['head', 'item', 'writer'].map((table) =>
    sql.table(`${schema}.state_${table}`),
  );
  await sql`with removed as (delete from ${item} where gone_at < clock_timestamp() - ${REMOVED_KEPT}
      returning name, version),
    newest as (select name, max(version) as version from removed group by name)
    update ${head} h set swept = greatest(h.swept, newest.version) from newest
    where h.name = newest.name`.execute(db);
  await sql`delete from ${writers} where at < clock_timestamp() - ${WRITER_KEPT}`.execute(db);
}

type StateUpdate = Awaited<ReturnType<typeof updateBetween>>;

/** What leads from one state to another, as what becomes of each item in the end. */
async function updateBetween<T, S, R>(
  { stepsBetween, itemOf, step: schema }: StateDeclaration<T, S, R>,
  before: T | undefined,
  after: T,
) {
  const puts = new Map<string, Put>();
  const gone = new Map<string, string>();
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
      gone.set(key, text);
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
    gone: [...gone].map(([key, step]) => ({ key, step })),
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
