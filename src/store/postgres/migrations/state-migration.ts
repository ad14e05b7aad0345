import { type Kysely, type Migration, sql } from 'kysely';

/** Tables of large states: a head, and the items. */
export const stateMigration: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('state_head')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('revision', 'uuid', (column) => column.notNull())
      .addColumn('rest', 'json', (column) => column.notNull())
      .modifyEnd(sql`with (fillfactor = 50)`)
      .execute();
    await db.schema
      .createTable('state_item')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('inside', 'text')
      // Its place among all: the version that put it there, and the how manyth of that it was.
      .addColumn('since', 'bigint', (column) => column.notNull())
      .addColumn('no', 'integer', (column) => column.notNull())
      .addColumn('step', 'json', (column) => column.notNull())
      .addPrimaryKeyConstraint('state_item_pkey', ['name', 'key'])
      .modifyEnd(sql`with (fillfactor = 80)`)
      .execute();
    await db.schema
      .createIndex('state_item_inside')
      .on('state_item')
      .columns(['name', 'inside'])
      .where(sql<boolean>`inside is not null`)
      .execute();
  },
};
