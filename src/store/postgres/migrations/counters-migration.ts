import { type Migration, type QueryExecutorProvider, sql } from 'kysely';
import { schemaOf } from './schema-of.ts';

/** Slots of a window, without the current one and the next one, which is filled ahead. */
export const WINDOW_SLOTS = 60;

const SLOTS = sql.lit(WINDOW_SLOTS);

/**
 * Counts that all processes share: windows of requests, budgets of tokens, and sums of usage. What has to be read and
 * written under one lock is a function, so that the lock is held within the server alone and each of its statements sees
 * what was written before the lock was had.
 */
export const countersMigration: Migration = {
  async up(db) {
    const schema = schemaOf(db);
    const named = (name: string) => sql.id(schema, name);
    await makeWindows(db, named);
    await makeUsageTables(db, named);
    await makeUsageFunctions(db, named);
    await makeMonths(db, schema);
  },
};

type Named = (name: string) => ReturnType<typeof sql.id>;

async function makeWindows(db: QueryExecutorProvider, named: Named) {
  await sql`
    create table ${named('rate_window')} (
      key text primary key,
      slots bigint[] not null,
      at bigint not null,
      used_at timestamptz(3) not null
    ) with (fillfactor = 50)`.execute(db);

  // The slots of a window whose last was `at`, when that has become `slot`.
  await sql`
    create function ${named('moved_slots')}(slots bigint[], at bigint, slot bigint) returns bigint[]
    language sql immutable as $$
      select array_agg(
        case when n - at between -${SLOTS} and 1 then coalesce(slots[(n - at + ${SLOTS} + 1)::int], 0) else 0 end
        order by n)
      from generate_series(slot - ${SLOTS}, slot + 1) n
    $$`.execute(db);

  // Counts up to `wanted` towards `most` and tells how many, and what the window holds then. What is taken ahead may be
  // used until the next slot ends, and is counted there; `back` of an earlier slot were not used.
  await sql`
    create function ${named('take_of_window')}(
      name text, slot_ms float8, most bigint, wanted bigint, ahead boolean, back_slot bigint, back bigint
    ) returns json language plpgsql as $$
    declare
      w ${named('rate_window')};
      moment float8;
      slot bigint;
      entry int := case when ahead then ${SLOTS} + 2 else ${SLOTS} + 1 end;
      kept bigint[];
      back_entry int;
      granted bigint;
    begin
      loop
        select * into w from ${named('rate_window')} r where r.key = name for update;
        exit when found;
        insert into ${named('rate_window')} values (name, '{}', 0, clock_timestamp())
          on conflict do nothing;
      end loop;
      moment := extract(epoch from clock_timestamp()) * 1000;
      -- A clock that was set back stands until it is where it was.
      slot := greatest(w.at, floor(moment / slot_ms)::bigint);
      moment := greatest(moment, slot * slot_ms);
      kept := ${named('moved_slots')}(w.slots, w.at, slot);
      if back > 0 and back_slot between slot - ${SLOTS} and slot + 1 then
        back_entry := (back_slot - slot + ${SLOTS} + 1)::int;
        kept[back_entry] := greatest(0, kept[back_entry] - back);
      end if;
      if ahead and wanted > 0 then
        wanted := greatest(wanted, most / ${SLOTS} / greatest(1, (
          select count(*) from ${named('member')} m where m.until > clock_timestamp())));
      end if;
      granted := greatest(0, least(wanted, most - (select sum(n) from unnest(kept) n)));
      kept[entry] := kept[entry] + granted;
      update ${named('rate_window')} r
        set slots = kept, at = slot, used_at = clock_timestamp() where r.key = name;
      return json_build_object('granted', granted, 'moment', moment, 'at', slot,
        'slot', slot + entry - ${SLOTS} - 1, 'slots', to_json(kept));
    end $$`.execute(db);
}

async function makeUsageTables(db: QueryExecutorProvider, named: Named) {
  // Requests that were stored together. Who stores a batch twice finds that it is there.
  await sql`
    create table ${named('usage_batch')} (
      at timestamptz(3) not null,
      id uuid not null,
      requests json not null,
      primary key (at, id)
    ) partition by range (at)`.execute(db);
  await sql`
    create table ${named('usage_day')} (
      day date not null,
      key_id text not null,
      model text not null,
      provider text not null,
      requests bigint not null,
      complete bigint not null,
      client_gone bigint not null,
      upstream_error bigint not null,
      refused bigint not null,
      prompt_tokens bigint not null,
      completion_tokens bigint not null,
      estimated bigint not null,
      primary key (day, key_id, model, provider)
    ) with (fillfactor = 50)`.execute(db);
  await sql`create index usage_day_of_key on ${named('usage_day')} (key_id, day)`.execute(db);
  // Tokens used by a key in the last minute, today and this month of the UTC calendar.
  await sql`
    create table ${named('budget')} (
      key_id text primary key,
      slots bigint[] not null,
      at bigint not null,
      day date not null,
      day_used bigint not null,
      month_used bigint not null
    ) with (fillfactor = 50)`.execute(db);
  // Tokens reserved for requests under way. They count while the answering process is alive.
  await sql`
    create table ${named('budget_hold')} (
      id uuid primary key,
      key_id text not null,
      member uuid not null,
      tokens bigint not null
    )`.execute(db);
  await sql`create index budget_hold_of_key on ${named('budget_hold')} (key_id)`.execute(db);
}

async function makeUsageFunctions(db: QueryExecutorProvider, named: Named) {
  // The budget of a key as it is now, locked until the end of the transaction. A new one begins with the sums.
  await sql`
    create function ${named('locked_budget')}(whose text) returns ${named('budget')}
    language plpgsql as $$
    declare
      b ${named('budget')};
      slot bigint;
      today date;
    begin
      loop
        select * into b from ${named('budget')} t where t.key_id = whose for update;
        exit when found;
        today := (clock_timestamp() at time zone 'utc')::date;
        insert into ${named('budget')}
          select whose, '{}'::bigint[], 0, today,
            coalesce(sum(prompt_tokens + completion_tokens) filter (where u.day = today), 0),
            coalesce(sum(prompt_tokens + completion_tokens), 0)
          from ${named('usage_day')} u
          where u.key_id = whose and u.day between date_trunc('month', today)::date and today
          on conflict do nothing;
      end loop;
      -- A clock that was set back stands until it is where it was.
      slot := greatest(b.at, floor(extract(epoch from clock_timestamp()))::bigint);
      today := greatest(b.day, (clock_timestamp() at time zone 'utc')::date);
      b.slots := ${named('moved_slots')}(b.slots, b.at, slot);
      b.at := slot;
      if b.day <> today then b.day_used := 0; end if;
      if date_trunc('month', b.day) <> date_trunc('month', today) then b.month_used := 0; end if;
      b.day := today;
      return b;
    end $$`.execute(db);

  // Used tokens of a key, and tokens reserved for its other requests.
  await sql`
    create function ${named('spending')}(b ${named('budget')}, besides uuid) returns json
    language sql as $$
      select json_build_object('at', b.at, 'slots', to_json(b.slots),
        'moment', greatest(extract(epoch from clock_timestamp()), b.at::numeric) * 1000,
        'day', b.day_used, 'month', b.month_used,
        'reserved', (
          select coalesce(sum(h.tokens), 0) from ${named('budget_hold')} h
          join ${named('member')} m on m.id = h.member and m.until > clock_timestamp()
          where h.key_id = b.key_id and h.id is distinct from besides))
    $$`.execute(db);

  // Sets tokens aside for a request, in place of what was, if no limit stands against it. Null when who asks is not alive.
  await sql`
    create function ${named('reserve_tokens')}(
      whose text, who uuid, request uuid, need bigint,
      per_minute bigint, per_day bigint, per_month bigint
    ) returns json language plpgsql as $$
    declare
      b ${named('budget')};
      spent json;
      reserved bigint;
      fits boolean;
    begin
      b := ${named('locked_budget')}(whose);
      if not exists (
        select from ${named('member')} m where m.id = who and m.until > clock_timestamp()
      ) then
        return null;
      end if;
      spent := ${named('spending')}(b, request);
      reserved := (spent->>'reserved')::bigint;
      fits := coalesce((select sum(n) from unnest(b.slots) n) + reserved + need <= per_minute, true)
        and coalesce(b.day_used + reserved + need <= per_day, true)
        and coalesce(b.month_used + reserved + need <= per_month, true);
      if fits then
        insert into ${named('budget_hold')} values (request, whose, who, need)
          on conflict (id) do update set tokens = excluded.tokens, member = excluded.member;
      else
        delete from ${named('budget_hold')} h where h.id = request;
      end if;
      return json_build_object('fits', fits, 'spent', spent);
    end $$`.execute(db);

  // Stores a batch: its requests, their sums, and what they have used of budgets in place of what was set aside for them.
  // False when it was stored before.
  await sql`
    create function ${named('store_usage')}(
      batch_at timestamptz, batch uuid, requests json, sums json, tokens json, settled uuid[]
    ) returns boolean language plpgsql as $$
    declare
      used record;
      b ${named('budget')};
    begin
      insert into ${named('usage_batch')} values (batch_at, batch, requests) on conflict do nothing;
      if not found then return false; end if;
      for used in
        select t.key_id, t.tokens as count
        from json_to_recordset(tokens) as t(key_id text, tokens bigint) order by t.key_id
      loop
        b := ${named('locked_budget')}(used.key_id);
        b.slots[${SLOTS} + 1] := b.slots[${SLOTS} + 1] + used.count;
        update ${named('budget')} t
          set slots = b.slots, at = b.at, day = b.day,
            day_used = b.day_used + used.count, month_used = b.month_used + used.count
          where t.key_id = used.key_id;
      end loop;
      delete from ${named('budget_hold')} h where h.id = any(settled);
      insert into ${named('usage_day')} as u
        select s.* from json_populate_recordset(null::${named('usage_day')}, sums) s
        order by day, key_id, model, provider
      on conflict (day, key_id, model, provider) do update set
        requests = u.requests + excluded.requests,
        complete = u.complete + excluded.complete,
        client_gone = u.client_gone + excluded.client_gone,
        upstream_error = u.upstream_error + excluded.upstream_error,
        refused = u.refused + excluded.refused,
        prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = u.completion_tokens + excluded.completion_tokens,
        estimated = u.estimated + excluded.estimated;
      return true;
    end $$`.execute(db);
}

/** Creates the partition of a month, called by any process that needs it. */
async function makeMonths(db: QueryExecutorProvider, schema: string) {
  await sql`
    create function ${sql.id(schema, 'make_usage_month')}(month date) returns void
    language plpgsql as $$
    declare
      schema text := ${sql.lit(schema)};
      name text := to_char(month, '"usage_batch_"YYYY_MM');
    begin
      if to_regclass(format('%I.%I', schema, name)) is not null then return; end if;
      perform pg_advisory_xact_lock(hashtext(schema || '.usage_batch'));
      execute format('create table if not exists %1$I.%2$I partition of %1$I.usage_batch
        for values from (%3$L) to (%4$L)', schema, name, month::timestamp at time zone 'utc',
        (month + interval '1 month') at time zone 'utc');
    end $$`.execute(db);
}
