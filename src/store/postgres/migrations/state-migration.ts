import { type Migration, sql } from 'kysely';
import { schemaOf } from './schema-of.ts';

/** Slots of a window, without the current one. */
export const WINDOW_SLOTS = 60;

/** All tables and functions of the first version. */
export const stateMigration: Migration = {
  async up(db) {
    await sql`set local search_path to ${sql.id(schemaOf(db))}`.execute(db);
    await sql.raw(TABLES).execute(db);
    await sql.raw(FUNCTIONS).execute(db);
  },
};

/** A fill factor leaves room for the next version of a row beside it, which saves writes to indexes. */
const TABLES = `
create table member (
  id uuid primary key,
  name text not null,
  version text not null,
  -- Kinds of leases that it competes for.
  wants text[] not null,
  -- The newest migration that its program knows.
  knows text not null,
  started_at timestamptz(3) not null default clock_timestamp(),
  until timestamptz(3) not null
) with (fillfactor = 50);

create table lease (
  kind text not null,
  no integer not null,
  -- The member that has it; free if null, or if that member is dead.
  holder uuid,
  fence bigint not null default 0,
  primary key (kind, no)
) with (fillfactor = 50);

-- JSON columns are not jsonb, which refuses the character zero and half surrogates.
create table document (
  collection text not null,
  -- SHA-256 of the id as JSON.
  key bytea not null,
  id json,
  version integer not null,
  -- New with every write, chosen by the writer.
  revision uuid not null,
  changed_at timestamptz(3) not null default clock_timestamp(),
  -- Null once it is removed.
  body json,
  primary key (collection, key)
) with (fillfactor = 80);
create index document_changed on document (collection, changed_at);

-- The writer and its number make a record unique, so that one that is sent twice is stored once.
create table record (
  journal text not null,
  at_ms double precision not null,
  no bigint not null,
  writer uuid not null,
  body json not null,
  primary key (journal, at_ms, no, writer)
);

create table keyed_head (
  name text primary key,
  revision uuid not null
) with (fillfactor = 50);

create table keyed_item (
  name text not null,
  key bytea not null,
  id json not null,
  value json not null,
  primary key (name, key)
) with (fillfactor = 80);

create table shared_value (
  name text not null,
  id text not null,
  revision uuid not null,
  changed_at timestamptz(3) not null default clock_timestamp(),
  -- In no index, so that a row that is only noted is changed in place.
  written_at timestamptz(3) not null default clock_timestamp(),
  value json not null,
  extra json,
  primary key (name, id)
) with (fillfactor = 50);
create index shared_value_changed on shared_value (name, changed_at);

-- A partition for each day is created when it is first needed. Microseconds of slot tell rows of one millisecond apart.
create table check_result (
  monitor text collate "C" not null,
  slot timestamptz not null,
  at timestamptz(3) not null,
  kind integer not null,
  took bigint not null,
  every_ms bigint not null,
  reason text,
  primary key (monitor, slot)
) partition by range (slot);

create table rate_window (
  key text primary key,
  slots bigint[] not null,
  at bigint not null,
  used_at timestamptz(3) not null
) with (fillfactor = 50);

-- Ids of stored batches, because a batch is sent again if its answer was lost.
create table usage_batch (
  id uuid primary key,
  stored_at timestamptz(3) not null default clock_timestamp()
);

-- Columns have the names of fields of UsageRow.
create table usage_day (
  day date not null,
  "keyId" text not null,
  model text not null,
  requests bigint not null,
  complete bigint not null,
  client_gone bigint not null,
  upstream_error bigint not null,
  refused bigint not null,
  "promptTokens" bigint not null,
  "completionTokens" bigint not null,
  estimated bigint not null,
  primary key (day, "keyId", model)
) with (fillfactor = 50);
create index usage_day_of_key on usage_day ("keyId", day);

-- Tokens used by a key in the last minute, today and this month of the UTC calendar.
create table budget (
  key_id text primary key,
  slots bigint[] not null,
  at bigint not null,
  day date not null,
  day_used bigint not null,
  month_used bigint not null
) with (fillfactor = 50);

-- Tokens reserved for requests under way. They count while the answering process is alive.
create table budget_hold (
  id uuid primary key,
  key_id text not null,
  member uuid not null,
  tokens bigint not null
);
create index budget_hold_of_key on budget_hold (key_id);`;

/**
 * Reads and writes under one lock are functions, so that the lock is held within the server alone, and each statement sees
 * everything that was written before the lock was taken.
 */
const FUNCTIONS = `
-- Slots of a window whose last one was "at", once that has become "slot".
create function moved_slots(slots bigint[], at bigint, slot bigint) returns bigint[]
language sql immutable as $$
  select array_agg(
    case when n - at between -${WINDOW_SLOTS} and 0 then coalesce(slots[(n - at + ${WINDOW_SLOTS} + 1)::int], 0) else 0 end
    order by n)
  from generate_series(slot - ${WINDOW_SLOTS}, slot) n
$$;

-- Counts up to "wanted" towards "most", after "back" that were counted in an earlier slot are given back.
create function take_of_window(
  name text, slot_ms float8, most bigint, wanted bigint, back_slot bigint, back bigint
) returns json language plpgsql set search_path from current as $$
declare
  w rate_window;
  moment float8;
  slot bigint;
  kept bigint[];
  back_entry int;
  granted bigint;
begin
  loop
    select * into w from rate_window r where r.key = name for update;
    exit when found;
    insert into rate_window values (name, '{}', 0, clock_timestamp()) on conflict do nothing;
  end loop;
  moment := extract(epoch from clock_timestamp()) * 1000;
  -- A clock that was set back stands until it is where it was.
  slot := greatest(w.at, floor(moment / slot_ms)::bigint);
  moment := greatest(moment, slot * slot_ms);
  kept := moved_slots(w.slots, w.at, slot);
  if back > 0 and back_slot between slot - ${WINDOW_SLOTS} and slot then
    back_entry := (back_slot - slot + ${WINDOW_SLOTS} + 1)::int;
    kept[back_entry] := greatest(0, kept[back_entry] - back);
  end if;
  granted := greatest(0, least(wanted, most - (select sum(n) from unnest(kept) n)));
  kept[${WINDOW_SLOTS} + 1] := kept[${WINDOW_SLOTS} + 1] + granted;
  update rate_window r set slots = kept, at = slot, used_at = clock_timestamp() where r.key = name;
  return json_build_object('granted', granted, 'moment', moment, 'at', slot, 'slots', to_json(kept));
end $$;

-- The budget of a key as it is now, locked until the end of the transaction. A new one begins with the sums.
create function locked_budget(whose text) returns budget
language plpgsql set search_path from current as $$
declare
  b budget;
  slot bigint;
  today date;
begin
  loop
    select * into b from budget t where t.key_id = whose for update;
    exit when found;
    today := (clock_timestamp() at time zone 'utc')::date;
    insert into budget
      select whose, '{}'::bigint[], 0, today,
        coalesce(sum("promptTokens" + "completionTokens") filter (where u.day = today), 0),
        coalesce(sum("promptTokens" + "completionTokens"), 0)
      from usage_day u
      where u."keyId" = whose and u.day between date_trunc('month', today)::date and today
      on conflict do nothing;
  end loop;
  -- A clock that was set back stands until it is where it was.
  slot := greatest(b.at, floor(extract(epoch from clock_timestamp()))::bigint);
  today := greatest(b.day, (clock_timestamp() at time zone 'utc')::date);
  b.slots := moved_slots(b.slots, b.at, slot);
  b.at := slot;
  if b.day <> today then b.day_used := 0; end if;
  if date_trunc('month', b.day) <> date_trunc('month', today) then b.month_used := 0; end if;
  b.day := today;
  return b;
end $$;

-- Used tokens of a key, and tokens reserved for its other requests.
create function spending(b budget, besides uuid) returns json
language sql set search_path from current as $$
  select json_build_object('at', b.at, 'slots', to_json(b.slots),
    'moment', greatest(extract(epoch from clock_timestamp()), b.at::numeric) * 1000,
    'day', b.day_used, 'month', b.month_used,
    'reserved', (
      select coalesce(sum(h.tokens), 0) from budget_hold h
      join member m on m.id = h.member and m.until > clock_timestamp()
      where h.key_id = b.key_id and h.id is distinct from besides))
$$;

-- Reserves tokens for a request, in place of earlier ones, if they fit into all limits. Null if the caller is not alive.
create function reserve_tokens(
  whose text, who uuid, request uuid, need bigint, per_minute bigint, per_day bigint, per_month bigint
) returns json language plpgsql set search_path from current as $$
declare
  b budget;
  spent json;
  reserved bigint;
  fits boolean;
begin
  b := locked_budget(whose);
  if not exists (select from member m where m.id = who and m.until > clock_timestamp()) then
    return null;
  end if;
  spent := spending(b, request);
  reserved := (spent->>'reserved')::bigint;
  fits := coalesce((select sum(n) from unnest(b.slots) n) + reserved + need <= per_minute, true)
    and coalesce(b.day_used + reserved + need <= per_day, true)
    and coalesce(b.month_used + reserved + need <= per_month, true);
  if fits then
    insert into budget_hold values (request, whose, who, need)
      on conflict (id) do update set tokens = excluded.tokens, member = excluded.member;
  else
    delete from budget_hold h where h.id = request;
  end if;
  return json_build_object('fits', fits, 'spent', spent);
end $$;

-- Stores the sums of a batch, and counts its tokens in place of the reserved ones. Does nothing if it was stored before.
create function store_usage(batch uuid, sums json, settled uuid[]) returns void
language plpgsql set search_path from current as $$
declare
  used record;
  b budget;
begin
  insert into usage_batch (id) values (batch) on conflict do nothing;
  if not found then return; end if;
  for used in
    select s."keyId" as key_id, sum(s."promptTokens" + s."completionTokens") as count
    from json_populate_recordset(null::usage_day, sums) s group by 1 having sum(s."promptTokens" + s."completionTokens") > 0
    order by 1
  loop
    b := locked_budget(used.key_id);
    b.slots[${WINDOW_SLOTS} + 1] := b.slots[${WINDOW_SLOTS} + 1] + used.count;
    update budget t
      set slots = b.slots, at = b.at, day = b.day,
        day_used = b.day_used + used.count, month_used = b.month_used + used.count
      where t.key_id = used.key_id;
  end loop;
  delete from budget_hold h where h.id = any(settled);
  insert into usage_day as u
    select s.* from json_populate_recordset(null::usage_day, sums) s order by day, "keyId", model
  on conflict (day, "keyId", model) do update set
    requests = u.requests + excluded.requests,
    complete = u.complete + excluded.complete,
    client_gone = u.client_gone + excluded.client_gone,
    upstream_error = u.upstream_error + excluded.upstream_error,
    refused = u.refused + excluded.refused,
    "promptTokens" = u."promptTokens" + excluded."promptTokens",
    "completionTokens" = u."completionTokens" + excluded."completionTokens",
    estimated = u.estimated + excluded.estimated;
end $$;`;
