import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { createEncryption, type Encryption } from '../encryption.ts';
import {
  EVENTS_KEPT_MS,
  type EventFollower,
  type EventLog,
  type EventsDeclaration,
  type NumberedEvent,
  type StoreKey,
} from '../store.ts';
import { type Database, isConflict, isRepeated, isUnavailable } from './database.ts';
import type { News } from './news.ts';

/** Characters of one event. */
const MAX_EVENT_LENGTH = 1024 * 1024;

/** Events, and characters of them, that wait until the database takes them. */
const MAX_WAITING = 2_000;
const MAX_WAITING_LENGTH = 8 * 1024 * 1024;

/** Events in one statement. */
const BATCH_COUNT = 200;

/** Events that one statement reads. */
const PAGE_COUNT = 100;

/** Those who begin to follow are told of no more than these. */
const MAX_TOLD_AT_START = 2_000;

const AGAIN_AFTER_MS = 500;

interface WaitingEvent {
  /** JSON; null stands for some that were left out. */
  body: string | null;
  isStill: () => boolean;
}

const always = () => true;

/** What `createPostgresEvents` makes, and what ends it. */
export interface PostgresEvents<T> {
  log: EventLog<T>;
  /** Appends what waits, where the database takes it. */
  close(): Promise<void>;
}

/** Removes events of all logs that nobody is to be told of any more. */
export async function sweepEvents({ db, schema }: Database): Promise<void> {
  await sql`delete from ${sql.table(`${schema}.event`)}
    where at < clock_timestamp() - ${`${EVENTS_KEPT_MS} milliseconds`}::interval`.execute(db);
}

/**
 * A log of one row per event, encrypted, because events hold private messages and the tokens shown in them. Numbers come from a head row that is locked until the events can be seen: so nobody sees a
 * later one before an earlier one, and there are no gaps but where events were removed.
 */
export function createPostgresEvents<T>(
  { name, schema: eventSchema }: EventsDeclaration<T>,
  options: {
    database: Database;
    news: News;
    key: Pick<StoreKey, 'make'>;
    assertOpen: () => void;
    log: Logger;
  },
): PostgresEvents<T> {
  const { database, news, key, assertOpen, log } = options;
  const { db, schema } = database;
  const head = sql.table(`${schema}.event_head`);
  const event = sql.table(`${schema}.event`);
  const topic = `events-${name}`;
  const writer = randomUUID();
  let no = 0;
  let waiting: WaitingEvent[] = [];
  let waitingLength = 0;
  /** Ends with what is sent now; never rejects. */
  let sending: Promise<void> = Promise.resolve();
  /** Sends what waits, after that. */
  let next: Promise<void> | undefined;
  let isClosing = false;
  let isFollowed = false;

  async function prepare(): Promise<Encryption> {
    const [secret] = await Promise.all([
      key.make(),
      database.again(() =>
        sql`insert into ${head} (log) values (${name}) on conflict do nothing`.execute(db),
      ),
    ]);
    return createEncryption(secret, 'askwatch events');
  }
  let preparing: Promise<Encryption> | undefined;
  /** Resolves once the key and the head row exist. */
  function prepared(): Promise<Encryption> {
    preparing ??= prepare().catch((error: unknown) => {
      preparing = undefined;
      throw error;
    });
    return preparing;
  }

  async function insert(plain: ReadonlyArray<string | null>, firstNo: number) {
    const encryption = await prepared();
    const bodies = plain.map((body) => body && JSON.stringify(encryption.encrypt(body, name)));
    const count = bodies.length;
    await sql`with h as (
        update ${head} set number = number + ${count}::int where log = ${name}
        returning number - ${count}::int as before)
      insert into ${event} (log, number, writer, no, body)
      select ${name}, h.before + place, ${writer}::uuid, ${firstNo}::int8 + place - 1, body::json
      from h, unnest(${bodies}::text[]) with ordinality as rows (body, place)`.execute(db);
  }

  /** Resolves once the batch is there: it is sent as it is until then, since an answer may be lost. */
  async function send(bodies: ReadonlyArray<string | null>): Promise<void> {
    const firstNo = no + 1;
    no += bodies.length;
    while (true) {
      try {
        return await insert(bodies, firstNo);
      } catch (error) {
        if (isRepeated(error, 'event_writer')) return;
        if (isClosing || !(isUnavailable(error) || isConflict(error))) throw error;
        log.debug({ err: error }, 'events are waiting until the database can be reached');
        await pause(AGAIN_AFTER_MS, undefined, { ref: false });
      }
    }
  }

  /** Sends what waits by now: what is appended from here on waits for the next time. */
  async function sendWaiting() {
    next = undefined;
    let left = waiting.length;
    while (left > 0 && waiting.length > 0) {
      const batch = waiting.splice(0, Math.min(left, BATCH_COUNT));
      left -= batch.length;
      for (const { body } of batch) waitingLength -= body?.length ?? 0;
      // While they waited, this process may have stood still.
      const bodies = batch.filter(({ isStill }) => isStill()).map(({ body }) => body);
      if (bodies.length === 0) continue;
      try {
        await send(bodies);
        news.wake(topic);
        news.announce(topic);
      } catch (error) {
        log.error({ err: error, events: bodies.length }, 'could not publish events');
        if (isClosing) waiting = [];
        else if (bodies.some((body) => body !== null)) left = leaveOut();
      }
    }
  }

  /** Gives up what waits, of which everybody is to be told; gives how many wait then. */
  function leaveOut(): number {
    waiting = [{ body: null, isStill: always }];
    waitingLength = 0;
    return waiting.length;
  }

  function read(
    row: { number: number; writer: string; body: string },
    encryption: Encryption,
  ): NumberedEvent<T> | undefined {
    const body = encryption.decrypt(String(JSON.parse(row.body)), name);
    const result = eventSchema.safeParse(body && JSON.parse(body));
    if (!result.success) return undefined;
    return { number: row.number, isOwn: row.writer === writer, event: result.data };
  }

  interface Row {
    head: number;
    number: number | null;
    writer: string;
    body: string | null;
  }

  /** Events after a number, and the number of the last there is. */
  async function page(after: number): Promise<{ head: number; rows: Row[] }> {
    const { rows } = await sql<Row>`
      select h.number as head, e.number, e.writer, e.body::text as body
      from ${head} h left join lateral (
        select number, writer, body from ${event}
        where log = h.log and number > ${after}::int8 order by number limit ${PAGE_COUNT}) e on true
      where h.log = ${name} order by e.number`.execute(db);
    return { head: rows[0]?.head ?? 0, rows: rows.filter(({ number }) => number !== null) };
  }

  async function follow(follower: EventFollower<T>) {
    if (isFollowed) throw new Error(`The events '${name}' are followed already.`);
    isFollowed = true;
    const encryption = await prepared();
    const { rows: begin } = await database.again(() =>
      sql<{ id: string; number: number; before: number | null }>`
        select h.id, h.number, (select min(number) - 1 from ${event}
          where log = h.log and number > h.number - ${MAX_TOLD_AT_START}::int) as before
        from ${head} h where h.log = ${name}`.execute(db),
    );
    const { id = '', number: lastNumber = 0, before } = begin[0] ?? {};
    let last = before ?? lastNumber;

    async function tell(rows: readonly Row[]) {
      let events: NumberedEvent<T>[] = [];
      const flush = async () => {
        const [first] = events;
        if (!first) return;
        await follower.told(events);
        last = events.at(-1)?.number ?? last;
        events = [];
      };
      for (const { number, writer: from, body } of rows) {
        if (number === null) continue;
        const found = body === null ? undefined : read({ number, writer: from, body }, encryption);
        const expected = (events.at(-1)?.number ?? last) + 1;
        if (number !== expected || !found) {
          await flush();
          await miss(found ? number - 1 : number);
        }
        if (found) events.push(found);
      }
      await flush();
    }

    async function miss(number: number) {
      await follower.missed(number);
      last = number;
    }

    async function poll() {
      let rows: Row[];
      do {
        const found = await page(last);
        rows = found.rows;
        await tell(rows);
        // All that was missed is gone, or the database is an older one than it was.
        if (rows.length === 0 && found.head !== last) await miss(found.head);
      } while (rows.length === PAGE_COUNT);
    }

    await database.again(poll);
    const following = news.follow(topic, poll);
    return {
      id,
      lastNumber: last,
      stop() {
        following.stop();
        isFollowed = false;
      },
    };
  }

  return {
    log: {
      append(appended, isStill = always) {
        assertOpen();
        // A store that closes makes no key any more. Whoever sends finds the error again.
        prepared().catch(() => {});
        const body = JSON.stringify(appended);
        if (body.length > MAX_EVENT_LENGTH)
          throw new RangeError(`An event of '${name}' is too large for a log.`);
        waiting.push({ body, isStill });
        waitingLength += body.length;
        if (waiting.length > MAX_WAITING || waitingLength > MAX_WAITING_LENGTH) leaveOut();
        // What comes with the same round of the loop is sent together.
        next ??= sending = sending.then(sendWaiting);
        return next;
      },
      async follow(follower) {
        assertOpen();
        return await follow(follower);
      },
    },
    async close() {
      isClosing = true;
      await sending;
    },
  };
}
