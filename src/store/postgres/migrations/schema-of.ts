import { type Kysely, TableNode } from 'kysely';

/** The schema that a migration is applied in, which SQL written by hand has to name. */
export function schemaOf(db: Kysely<unknown>): string {
  const { from } = (db as Kysely<{ member: object }>).selectFrom('member').toOperationNode();
  const table = from?.froms[0];
  const schema = table && TableNode.is(table) ? table.table.schema?.name : undefined;
  if (schema === undefined) throw new Error('A migration has no schema.');
  return schema;
}
