import type { Generated } from 'kysely';

/** The tables, as `migrations.ts` makes them. */
export interface Tables {
  member: {
    id: string;
    name: string;
    version: string;
    /** The kinds of leases that it competes for. */
    wants: string[];
    /** The newest migration that its program knows. */
    knows: string;
    started_at: Generated<Date>;
    until: Date;
  };
  lease: {
    kind: string;
    no: number;
    /** The member that has it; nobody when null or when that member lives no more. */
    holder: string | null;
    fence: number;
  };
  document: {
    collection: string;
    /** SHA-256 of the id's JSON. */
    key: Buffer;
    /** The id as JSON, which keeps half surrogates and zero characters; null once it is removed. */
    id: string | null;
    version: number;
    /** New with every write, chosen by who writes. */
    revision: string;
    changed_at: Generated<Date>;
    /** The document as JSON; null once it is removed. */
    body: string | null;
  };
  record: {
    journal: string;
    at_ms: number;
    /** The writer and its number make a record unique, so that one that is sent twice is stored once. */
    writer: string;
    no: number;
    body: string;
  };
}
