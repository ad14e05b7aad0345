import { type Kysely, type Migration, sql } from 'kysely';

/** Tables of large states: a head, the items, and who wrote. */
export const stateMigration: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('state_head')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('revision', 'uuid', (column) => column.notNull())
      // Up to this version, removals are forgotten.
      .addColumn('swept', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('rest', 'json', (column) => column.notNull())
      .modifyEnd(sql`with (fillfactor = 50)`)
      .execute();
    await db.schema
      .createTable('state_item')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('inside', 'text')
      // That wrote it last.
      .addColumn('version', 'bigint', (column) => column.notNull())
      // Its place among all: the version that put it there, and the how manyth of that it was.
      .addColumn('since', 'bigint', (column) => column.notNull())
      .addColumn('no', 'integer', (column) => column.notNull())
      .addColumn('step', 'json', (column) => column.notNull())
      .addColumn('gone_at', 'timestamptz(3)')
      .addPrimaryKeyConstraint('state_item_pkey', ['name', 'key'])
      .modifyEnd(sql`with (fillfactor = 80)`)
      .execute();
    await db.schema
      .createIndex('state_item_version')
      .on('state_item')
      .columns(['name', 'version'])
      .execute();
    await db.schema
      .createIndex('state_item_inside')
      .on('state_item')
      .columns(['name', 'inside'])
      .where(sql<boolean>`inside is not null`)
      .execute();
    await db.schema
      .createIndex('state_item_gone')
      .on('state_item')
      .column('gone_at')
      .where(sql<boolean>`gone_at is not null`)
      .execute();
    // The last update of each process, by which it finds out whether one was stored whose answer was lost.
    await db.schema
      .createTable('state_writer')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('writer', 'uuid', (column) => column.notNull())
      .addColumn('no', 'bigint', (column) => column.notNull())
      .addColumn('at', 'timestamptz(3)', (column) =>
        column.notNull().defaultTo(sql`clock_timestamp()`),
      )
      .addPrimaryKeyConstraint('state_writer_pkey', ['name', 'writer'])
      .modifyEnd(sql`with (fillfactor = 50)`)
      .execute();
  },
};
