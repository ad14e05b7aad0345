import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { RegisterExtras, Registers, RegistersDeclaration } from '../store.ts';
import type { Database } from './database.ts';
import { inTurn } from './in-turn.ts';
import type { News } from './news.ts';
import type { PendingWork } from './pending-work.ts';

/** Values in one statement. */
const BATCH_COUNT = 500;

/** What is only noted waits for others so long. */
const NOTE_AFTER_MS = 250;

/** Others who write the same thing at the same moment win so often before this gives up. */
const MAX_TRIES = 50;

/**
 * A value that was written earlier than another may be seen later: by so much, at most. What is put is looked for with an
 * index; what is noted by going through all, with statements that take milliseconds.
 */
const OVERLAP = sql`interval '30 seconds'`;
const NOTED_OVERLAP = sql`interval '6 seconds'`;

/** What was told is found again by later looks for so long, with some time to spare. */
const TOLD_KEPT_MS = 60_000;

/** Most things are written more often than that, and others go on with some. */
const OWN_KEPT_MS = 300_000;

interface Waiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Waiting {
  waiters: Waiter[];
  isNews: boolean;
  tries: number;
}

interface Sent {
  id: string;
  before: string | undefined;
  revision: string;
  value: string;
  extra: string | null;
  ended: (isStored: boolean) => void;
  own: Waiting;
}

interface Row {
  id: string;
  revision: string;
  value: string;
  extra: string | null;
}

/**
 * One row for each thing. Whoever writes says which revision the value was made from; when another was faster, the cache is
 * told of that one, and asked again.
 */
export async function openPostgresRegisters<T>(
  declaration: RegistersDeclaration<T>,
  options: {
    database: Database;
    news: News;
    pending: PendingWork;
    assertOpen: () => void;
    log: Logger;
  },
): Promise<Registers & { close(): void }> {
  const { name, newest, schema, told } = declaration;
  const { database, news, pending, assertOpen, log } = options;
  const { db, writes } = database;
  const table = sql.table(`${database.schema}.register`);
  const revisions = createRevisions();
  /** Those that are being written: what is read of them may hold what is written already, or may not. */
  const inFlight = new Map<string, Waiting>();
  let batch: Promise<void> = Promise.resolve();
  const waiting = new Map<string, Waiting>();
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let readUntil: Date | undefined;
  let notedUntil: Date | undefined;

  function take(id: string, isNews: boolean): Waiting {
    const known = waiting.get(id) ?? { waiters: [], isNews: false, tries: 0 };
    known.isNews ||= isNews;
    waiting.set(id, known);
    return known;
  }

  function writeSoon() {
    clearTimeout(timer);
    timer = undefined;
    writing ??= pending.track(writeWaiting());
  }

  async function writeWaiting() {
    // What comes with the same round of the loop is written together.
    await new Promise((resolve) => setImmediate(resolve));
    try {
      let left = waiting.size;
      while (left > 0 || isAnyAwaited()) {
        const some = [...waiting].slice(0, BATCH_COUNT);
        for (const [id] of some) waiting.delete(id);
        left -= some.length;
        batch = writeSome(some);
        await batch;
      }
    } finally {
      // In the same turn, so that nothing comes in between and waits for ever.
      writing = undefined;
      // What was noted meanwhile waits for more of it: else each statement would write what came during the one before.
      if (waiting.size > 0) writeLater();
    }
  }

  function isAnyAwaited(): boolean {
    for (const { waiters, tries } of waiting.values()) {
      if (waiters.length > 0 || tries > 0) return true;
    }
    return false;
  }

  function writeLater() {
    timer ??= setTimeout(writeSoon, NOTE_AFTER_MS);
  }

  async function writeSome(some: ReadonlyArray<[string, Waiting]>) {
    const sent = some.flatMap(([id, own]): Sent[] => {
      const now = newest(id);
      if (!now) {
        // It is gone meanwhile, and with it what was to last.
        for (const { resolve } of own.waiters) resolve();
        return [];
      }
      const revision = randomUUID();
      inFlight.set(id, own);
      const { ended } = now;
      const extra = now.extra === undefined ? null : JSON.stringify(now.extra);
      const value = JSON.stringify(now.value);
      return [{ id, before: revisions.get(id), revision, value, extra, ended, own }];
    });
    if (sent.length === 0) return;
    try {
      const written = await database.again(() => write(sent));
      const late = sent.filter(({ id }) => !written.has(id));
      for (const each of sent) if (written.has(each.id)) stored(each);
      if (sent.some(({ id, own }) => own.isNews && written.has(id))) news.announce(name);
      if (late.length > 0) await tellLate(late);
    } catch (error) {
      for (const { own, ended, id } of sent) {
        inFlight.delete(id);
        ended(false);
        for (const { reject } of own.waiters) reject(error);
        // What was noted is written with the next of it.
        own.waiters = [];
      }
    }
  }

  function stored({ id, revision, ended, own }: Sent) {
    revisions.written(id, revision);
    inFlight.delete(id);
    ended(true);
    for (const { resolve } of own.waiters) resolve();
  }

  /** Writes those that nobody else has written meanwhile, and gives their ids. May be done twice. */
  async function write(sent: readonly Sent[]): Promise<Set<string>> {
    const inOrder = [...sent].sort((a, b) => (a.id < b.id ? -1 : 1));
    const known = inOrder.filter(({ before }) => before !== undefined);
    const fresh = inOrder.filter(({ before }) => before === undefined);
    const rows = (some: readonly Sent[]) => sql`unnest(
      ${some.map(({ id }) => id)}::text[], ${some.map(({ before }) => before ?? null)}::uuid[],
      ${some.map(({ revision }) => revision)}::uuid[], ${some.map(({ value }) => value)}::text[],
      ${some.map(({ extra }) => extra)}::text[], ${some.map(({ own }) => own.isNews)}::bool[]
      ) as sent (id, before, revision, value, extra, is_news)`;
    const written = new Set<string>();
    if (known.length > 0) {
      // Written before, when only the answer was lost, it has this very revision.
      const { rows: done } = await sql<{ id: string }>`
        update ${table} r set revision = sent.revision, value = sent.value::json, extra = sent.extra::json,
          written_at = clock_timestamp(),
          changed_at = case when sent.is_news then clock_timestamp() else r.changed_at end
        from ${rows(known)}
        where r.name = ${name} and r.id = sent.id and r.revision in (sent.before, sent.revision)
        returning r.id`.execute(writes);
      for (const { id } of done) written.add(id);
    }
    if (fresh.length > 0) {
      const { rows: done } = await sql<{ id: string }>`
        insert into ${table} as r (name, id, revision, value, extra)
        select ${name}, id, revision, value::json, extra::json from ${rows(fresh)}
        on conflict (name, id) do update set written_at = clock_timestamp()
          where r.revision = excluded.revision
        returning r.id`.execute(writes);
      for (const { id } of done) written.add(id);
    }
    return written;
  }

  /** Tells of what others were faster with, and lets those that came too late try again. */
  async function tellLate(late: readonly Sent[]) {
    const rows = await database.again(() => rowsOf(late.map(({ id }) => id)));
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const { id } of late) inFlight.delete(id);
    for (const each of late) {
      const { id, own } = each;
      const row = found.get(id);
      if (row) tell(row);
      else revisions.forget(id);
      if (!row && each.before !== undefined) {
        // Another process has removed the thing, and this one will hear of that.
        each.ended(false);
        for (const { resolve } of own.waiters) resolve();
        continue;
      }
      own.tries += 1;
      if (own.tries < MAX_TRIES) {
        const again = take(id, own.isNews);
        again.waiters.unshift(...own.waiters);
        again.tries = own.tries;
        continue;
      }
      each.ended(false);
      const error = new Error(`Too many writes to '${name}' of ${id} at once.`);
      for (const { reject } of own.waiters) reject(error);
    }
  }

  function tell(row: Row) {
    revisions.told(row.id, row.revision);
    const value = schema.safeParse(JSON.parse(row.value));
    if (value.success) {
      const extra: unknown = row.extra === null ? undefined : JSON.parse(row.extra);
      told(row.id, { value: value.data, extra });
      return;
    }
    log.error({ id: row.id }, `a stored value of '${name}' is damaged`);
  }

  /**
   * Tells of things that somebody has written. One that this process is writing itself has to wait for the end of that: else
   * what was written would be taken for news, or for what is still to be written.
   */
  async function tellChanged(changed: readonly string[]) {
    let left = changed;
    for (let turn = 0; left.length > 0 && turn < MAX_TRIES; turn += 1) {
      if (left.some((id) => inFlight.has(id))) await batch;
      const before = new Map(left.map((id) => [id, revisions.get(id)]));
      const rows = await rowsOf(left);
      const isOld = ({ id }: Row) => inFlight.has(id) || revisions.get(id) !== before.get(id);
      left = rows.filter(isOld).map(({ id }) => id);
      for (const row of rows) {
        if (!isOld(row) && revisions.get(row.id) !== row.revision) tell(row);
      }
    }
  }

  async function rowsOf(ids: readonly string[]): Promise<Row[]> {
    const { rows } = await sql<Row>`
      select id, revision, value::text as value, extra::text as extra from ${table}
      where name = ${name} and id = any(${ids}::text[])`.execute(db);
    return rows;
  }

  async function readAll() {
    const { rows: clock } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
    for (let after = ''; ; ) {
      const from = after;
      const { rows } = await database.again(() =>
        sql<Row>`
          select id, revision, value::text as value, null as extra from ${table}
          where name = ${name} and id > ${from} order by id limit ${BATCH_COUNT}`.execute(db),
      );
      for (const row of rows) tell(row);
      const last = rows.at(-1);
      if (!last) break;
      after = last.id;
      await new Promise((resolve) => setImmediate(resolve));
    }
    readUntil = notedUntil = clock[0]?.now;
  }

  /** Tells of what others have put since the last time; with `notes` of all that they have written. */
  async function read({ notes }: { notes: boolean }) {
    revisions.forgetOld();
    const since = notes
      ? sql`written_at > ${notedUntil}::timestamptz - ${NOTED_OVERLAP}`
      : sql`changed_at > ${readUntil}::timestamptz - ${OVERLAP}`;
    const { rows } = await sql<{ id: string | null; revision: string; now: Date }>`
      with at as materialized (select clock_timestamp() as now)
      select r.id, r.revision, at.now from at
      left join ${table} r on r.name = ${name} and r.${since}`.execute(db);
    const changed = rows.flatMap(({ id, revision }) =>
      id !== null && revisions.get(id) !== revision ? [id] : [],
    );
    // A part at a time: very many may have been written since, and other work is not to wait for all of them.
    for (let at = 0; at < changed.length; at += BATCH_COUNT) {
      await tellChanged(changed.slice(at, at + BATCH_COUNT));
    }
    if (notes) notedUntil = rows[0]?.now;
    else readUntil = rows[0]?.now;
  }

  const reading = (notes: boolean) =>
    inTurn(() => pending.track(database.again(() => read({ notes }))));
  const readPut = reading(false);
  const readNoted = reading(true);

  await readAll();
  const following = news.follow(name, readPut);
  return {
    put(id) {
      assertOpen();
      return new Promise((resolve, reject) => {
        take(id, true).waiters.push({ resolve, reject });
        writeSoon();
      });
    },
    note(id) {
      assertOpen();
      take(id, false);
      if (!writing) writeLater();
    },
    catchUp({ notes = false } = {}) {
      assertOpen();
      return notes ? readNoted() : readPut();
    },
    remove(id) {
      revisions.forget(id);
      pending
        .track(
          database.again(() =>
            sql`delete from ${table} where name = ${name} and id = ${id}`.execute(writes),
          ),
        )
        .catch((error: unknown) => {
          log.error(
            { err: error, id },
            `could not remove a value of '${name}'; the next start removes it`,
          );
        });
    },
    async idle() {
      // What comes from now on is not waited for: it may never end.
      const ended = [...inFlight.values(), ...waiting.values()].map(
        ({ waiters }) =>
          new Promise<void>((resolve) => waiters.push({ resolve, reject: () => resolve() })),
      );
      if (waiting.size > 0) writeSoon();
      await Promise.all(ended);
    },
    close() {
      following.stop();
      clearTimeout(timer);
    },
  };
}

/**
 * The revision that each thing was last written or told with. That of another process is kept while looks still find what it
 * wrote, and an own one while this process is likely to write again; a write without it first hears that there is another.
 */
function createRevisions() {
  const own = createRecent(OWN_KEPT_MS);
  const told = createRecent(TOLD_KEPT_MS);
  return {
    get: (id: string) => own.get(id) ?? told.get(id),
    written(id: string, revision: string): void {
      told.delete(id);
      own.set(id, revision);
    },
    told(id: string, revision: string): void {
      own.delete(id);
      told.set(id, revision);
    },
    forget(id: string): void {
      own.delete(id);
      told.delete(id);
    },
    forgetOld(): void {
      own.forgetOld();
      told.forgetOld();
    },
  };
}

/** Texts that are kept for `keptMs` after they were set, and for twice as long at most. */
function createRecent(keptMs: number) {
  let young = new Map<string, string>();
  let old = new Map<string, string>();
  let turnedMs = performance.now();
  return {
    get: (id: string) => young.get(id) ?? old.get(id),
    set(id: string, text: string): void {
      old.delete(id);
      young.set(id, text);
    },
    delete(id: string): void {
      young.delete(id);
      old.delete(id);
    },
    forgetOld(): void {
      const nowMs = performance.now();
      if (nowMs - turnedMs < keptMs) return;
      old = young;
      young = new Map();
      turnedMs = nowMs;
    },
  };
}

/** Reads what `openPostgresRegisters` writes. */
export function createRegisterExtras(
  name: string,
  { database, assertOpen }: { database: Database; assertOpen: () => void },
): RegisterExtras {
  const { db } = database;
  const table = sql.table(`${database.schema}.register`);
  type Extra = Pick<Row, 'id' | 'extra'>;
  const parsed = (rows: readonly Extra[]) =>
    new Map<string, unknown>(
      rows.map(({ id, extra }) => [id, extra === null ? undefined : JSON.parse(extra)]),
    );
  return {
    async of(ids) {
      assertOpen();
      const { rows } = await database.again(() =>
        sql<Extra>`select id, extra::text as extra from ${table}
          where name = ${name} and id = any(${ids}::text[]) and extra is not null`.execute(db),
      );
      return parsed(rows);
    },
    async *all() {
      for (let after: string | undefined = ''; after !== undefined; ) {
        assertOpen();
        const from: string = after;
        const { rows } = await database.again(() =>
          sql<Extra>`select id, extra::text as extra from ${table}
            where name = ${name} and id > ${from} order by id limit ${BATCH_COUNT}`.execute(db),
        );
        yield parsed(rows);
        after = rows.at(-1)?.id;
      }
    },
  };
}
