import { type Kysely, type Migration, sql } from 'kysely';
import { schemaOf } from './schema-of.ts';

/**
 * Places of those who wait for their turn. A place is taken in a function, so that whoever takes one sees all that were taken
 * before, also those that were ended meanwhile: else two could find nobody before them.
 */
export const turnMigration: Migration = {
  async up(db: Kysely<unknown>) {
    const schema = schemaOf(db);
    const turn = sql.id(schema, 'turn');
    await db.schema
      .createTable('turn')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('key', 'text', (column) => column.notNull())
      // Whose turn it is.
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('no', 'integer', (column) => column.notNull())
      .addColumn('at', 'timestamptz(3)', (column) =>
        column.notNull().defaultTo(sql`clock_timestamp()`),
      )
      .addColumn('holder', 'uuid', (column) => column.notNull())
      // When it was seen first that the holder does not live.
      .addColumn('missed_at', 'timestamptz(3)')
      .addPrimaryKeyConstraint('turn_pkey', ['name', 'key', 'id'])
      .addUniqueConstraint('turn_no', ['name', 'key', 'no'])
      .execute();

    // Takes a place behind `most` others at the most, or the one that it had; `no` is null where there is none free.
    await sql`
      create function ${sql.id(schema, 'take_place')}(
        turns text, thing text, whose text, by_member uuid, most integer
      ) returns json language plpgsql as $$
      declare
        place integer;
      begin
        perform pg_advisory_xact_lock(hashtextextended(${sql.lit(schema)} || '.turn.' || turns || '.' || thing, 0));
        if not exists (select from ${sql.id(schema, 'member')} where id = by_member and until > clock_timestamp()) then
          return json_build_object('isAlive', false);
        end if;
        insert into ${turn} as t (name, key, id, no, holder)
          select turns, thing, whose, coalesce(max(o.no), 0) + 1, by_member from ${turn} o
            where o.name = turns and o.key = thing and o.id <> whose
            having count(*) <= most
              or exists (select from ${turn} where name = turns and key = thing and id = whose)
          on conflict (name, key, id) do update set holder = excluded.holder, missed_at = null
          returning t.no into place;
        return json_build_object('isAlive', true, 'no', place, 'waits',
          exists (select from ${turn} where name = turns and key = thing and no < place));
      end $$`.execute(db);
  },
};
