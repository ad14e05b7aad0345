import { sql } from 'kysely';
import type { Logger } from 'pino';
import { claimBuckets, createClaims } from '../claim-buckets.ts';
import { STORED_NAME } from '../documents.ts';
import { LeaseLostError, StateMovedError } from '../errors.ts';
import type { MovableStore } from '../move-mark.ts';
import type { Series } from '../series.ts';
import type { Lease, OpenedByName, SharedExtras, Store, StoredNames } from '../store.ts';
import { createPostgresCollection } from './collection.ts';
import { type Database, type DatabaseSettings, databaseUnder, openDatabase } from './database.ts';
import { createDocumentChanges, REMOVED_KEPT } from './document-changes.ts';
import { createPostgresJournal } from './journal.ts';
import { openPostgresKeyed } from './keyed.ts';
import { createLeases, type PostgresLeases } from './leases.ts';
import { joinMembers, type Membership, type MemberTimes } from './members.ts';
import {
  appliedTo,
  assertSchemaKnown,
  type Migrations,
  migrate,
  migrations as migrationsOfThisProgram,
  newestOf,
} from './migrations/migrations.ts';
import {
  assertAlone,
  assertNotMoved,
  howToEmpty,
  MARK_COLLECTION,
  placeOf,
  readMark,
  writeMark,
} from './moved.ts';
import { type ChangeNews, newsUntil, openNews } from './news.ts';
import { createPendingWork, type PendingWork } from './pending-work.ts';
import { createSecretKey, SECRET_KEY } from './secret-key.ts';
import { PostgresSeries } from './series.ts';
import { createSharedExtras, openPostgresSharedValues } from './shared-values.ts';
import { openPostgresUsageBooks } from './usage-books.ts';
import { PostgresWindows, sweepWindows } from './windows.ts';

const SWEEP_EVERY_MS = 60_000;

/** Interval at which the schema's version is checked: a newer program may have changed it. */
const SCHEMA_EVERY_MS = 5_000;

export interface PostgresOptions extends DatabaseSettings {
  /** Program version, for people who look at the table of members. */
  version: string;
  log: Logger;
  migrations?: Migrations;
  times?: Partial<MemberTimes>;
}

export interface PostgresStore extends Store {
  readonly series: Series;
  /** Extras of the shared values of a name. */
  extras(name: string): SharedExtras;
}

/**
 * Opens the engine for several processes, and migrates the schema first. Throws `StoreUnavailableError`, `NewerSchemaError`, else what
 * the database says.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const parts = await openParts(options, ({ database }) =>
    database.again(() => assertNotMoved(database, options.url)),
  );
  return createStore(parts);
}

/** Opens the state to move it, whatever its mark says, while no program runs on it. With `isCompared` programs may run. */
export async function openPostgresForMove(
  options: PostgresOptions & { isCompared: boolean },
): Promise<MovableStore> {
  const parts = await openParts(options, async ({ database, members }) => {
    if (!options.isCompared) await assertAlone(database, members);
  });
  const { database, members } = parts;
  return {
    store: createStore(parts),
    place: placeOf(options.url, database.schema),
    howToEmpty: howToEmpty(database.schema),
    lost: members.signal(),
    mark: () => readMark(database),
    setMark: (mark) => writeMark(database, mark, members.id()),
  };
}

async function openParts(
  options: PostgresOptions & { isCompared?: boolean },
  assertUsable: (parts: Pick<StoreParts, 'database' | 'members'>) => Promise<void>,
): Promise<StoreParts> {
  const { url, directUrl = url, version, log, migrations = migrationsOfThisProgram } = options;
  const database = openDatabase(options);
  // A process that has so much to do that its pool is taken is alive: its signs of life wait for no connection.
  const apart = openDatabase({ ...options, poolSize: 1 });
  const opened: Array<{ close(): Promise<unknown> }> = [database, apart];
  const closeAll = async () => {
    for (const each of opened.splice(0).reverse()) await each.close();
  };
  try {
    await database.again(async () => {
      await assertSchemaKnown(database.db, database.schema, migrations);
      if (!options.isCompared) await migrate({ ...options, migrations });
    });
    if ((await appliedTo(database.db, database.schema)).length === 0) {
      throw new StateMovedError(
        `There is nothing to compare: ${placeOf(url, database.schema)} has no Askwatch data yet. Run move-state without --check first.`,
      );
    }
    const knows = newestOf(migrations);
    const { times } = options;
    const members = await joinMembers({ database: apart, version, knows, times, log });
    opened.push(members);
    await assertUsable({ database, members });
    const news = openNews({ database, directUrl, log });
    opened.push(news);
    const leases = createLeases({ database, members, log });
    opened.push(leases);
    return { database, migrations, members, news, leases, log, closeAll };
  } catch (error) {
    await closeAll().catch(() => {});
    throw error;
  }
}

interface StoreParts {
  database: Database;
  migrations: Migrations;
  members: Membership;
  news: ChangeNews;
  leases: PostgresLeases;
  log: Logger;
  closeAll: () => Promise<void>;
}

function createStore(parts: StoreParts): PostgresStore {
  const { database, migrations, members, leases, log, closeAll } = parts;
  const { db, schema } = database;
  const pending = createPendingWork();
  const values: OpenedValues[] = [];
  let closing: Promise<void> | undefined;
  let schemaKnownAtMs = Number.NEGATIVE_INFINITY;

  function assertOpen() {
    if (closing) throw new Error('The store is closed.');
  }

  const openAs = (lease?: Lease) => openByName({ ...parts, pending, values, assertOpen }, lease);
  const { opens, occupy } = openAs();
  const scopes = new WeakMap<Lease, OpenedByName>();
  const key = createSecretKey(opens.collection(SECRET_KEY), schema);

  async function sweep() {
    await sql`delete from ${sql.table(`${schema}.document`)}
      where body is null and changed_at < clock_timestamp() - ${REMOVED_KEPT}`.execute(db);
    await sweepWindows(database);
  }

  const sweeping = setInterval(() => {
    pending.track(sweep()).catch((error: unknown) => {
      log.debug({ err: error }, 'could not delete expired data; retrying later');
    });
  }, SWEEP_EVERY_MS).unref();

  async function assertUsable() {
    const nowMs = performance.now();
    if (nowMs - schemaKnownAtMs < SCHEMA_EVERY_MS) return;
    await database.again(() => assertSchemaKnown(db, schema, migrations));
    schemaKnownAtMs = nowMs;
  }

  const store: PostgresStore = {
    ...opens,
    async lease(name) {
      assertOpen();
      return await pending.track(leases.take(name));
    },
    under(lease) {
      const scope = scopes.get(lease) ?? openAs(lease).opens;
      scopes.set(lease, scope);
      return { ...store, ...scope };
    },
    leases(kind, count, holder) {
      assertOpen();
      return leases.group(kind, count, holder);
    },
    extras: (name) => createSharedExtras(name, { database, assertOpen }),
    series: new PostgresSeries({ database, pending, assertOpen, log }),
    isShared: true,
    usage(clocks) {
      occupy('usage');
      const parts = { database, members, leases, pending, assertOpen, log };
      return openPostgresUsageBooks(clocks, parts);
    },
    async sharedNowMs() {
      assertOpen();
      const { rows } = await database.again(() =>
        sql<{ now: Date }>`select clock_timestamp() as now`.execute(db),
      );
      return Number(rows[0]?.now);
    },
    key,
    async names() {
      assertOpen();
      return await database.again(() => namesIn(database));
    },
    async check() {
      assertOpen();
      await members.beat();
      await assertUsable();
    },
    close() {
      closing ??= (async () => {
        clearInterval(sweeping);
        await Promise.all(values.map((each) => each.idle()));
        await pending.idle();
        for (const each of values) each.close();
        await closeAll();
      })();
      return closing;
    },
  };
  return store;
}

async function namesIn({ db, schema }: Database): Promise<StoredNames> {
  const own = [MARK_COLLECTION, SECRET_KEY.name];
  const { rows } = await sql<StoredNames>`
    with recursive journal as (
      (select journal as name from ${sql.table(`${schema}.record`)} order by journal limit 1)
      union all
      select next.journal from journal cross join lateral (
        select record.journal from ${sql.table(`${schema}.record`)} record
        where record.journal > journal.name order by journal limit 1) next
    )
    select
      array(select distinct collection from ${sql.table(`${schema}.document`)}
        where body is not null and collection <> all(${own}::text[])) as collections,
      array(select name from journal) as journals,
      array(select name from ${sql.table(`${schema}.keyed_head`)}) as keyed`.execute(db);
  return rows[0] ?? { collections: [], journals: [], keyed: [] };
}

type OpenedValues = Awaited<ReturnType<typeof openPostgresSharedValues>>;

/** Opens stored data until the store is closed, or under a lease until that is not held any more. */
function openByName(
  parts: Pick<StoreParts, 'database' | 'news' | 'log'> & {
    pending: PendingWork;
    values: OpenedValues[];
    assertOpen: () => void;
  },
  lease?: Lease,
): { opens: OpenedByName; occupy(name: string): void } {
  const { pending, values, assertOpen, log } = parts;
  const names = new Set<string>();
  const database = lease ? databaseUnder(parts.database, lease) : parts.database;
  const news = lease ? newsUntil(lease.signal, parts.news) : parts.news;
  const access = { database, news, pending, assertOpen, log };

  function occupy(name: string): void {
    assertOpen();
    // One that is not held yet may be used to read.
    if (lease?.signal.aborted) throw new LeaseLostError();
    if (!STORED_NAME.test(name)) throw new Error(`'${name}' is not a valid name for stored data.`);
    if (names.has(name)) throw new Error(`Stored data named '${name}' is opened twice.`);
    names.add(name);
  }

  const collection: OpenedByName['collection'] = (declaration) => {
    occupy(declaration.name);
    const changes = createDocumentChanges({ database, news, collection: declaration.name });
    return createPostgresCollection(declaration, { changes, ...access });
  };
  const opens: OpenedByName = {
    collection,
    journal(declaration) {
      occupy(declaration.name);
      return createPostgresJournal(declaration, access);
    },
    async keyed(declaration) {
      occupy(declaration.name);
      return await openPostgresKeyed(declaration, access);
    },
    async sharedValues(declaration) {
      occupy(declaration.name);
      const opened = await openPostgresSharedValues(declaration, access);
      values.push(opened);
      return opened;
    },
    claims(declaration) {
      const buckets = collection(claimBuckets(declaration.name));
      return createClaims(declaration, { collection: buckets, log });
    },
    windows(declaration) {
      occupy(declaration.name);
      return new PostgresWindows(declaration, access);
    },
  };
  return { opens, occupy };
}
