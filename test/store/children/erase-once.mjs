// Erases a part of a document, removes another one and erases records, saying each time when it was acknowledged.
import { pino } from 'pino';
import { z } from 'zod';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { say } from '../../helpers/say.mjs';

const store = await openLowdbStore({ folder: process.argv[2], log: pino({ level: 'silent' }) });
const schema = z.object({ text: z.string() });
const notes = store.collection({ name: 'notes', schema, version: 1, whenCorrupt: 'refuse' });
const Result = z.object({ atMs: z.int(), who: z.string() });
const results = store.journal({ name: 'results', schema: Result });

await notes.erase('part', () => ({ text: 'rest' }));
say('part');
await notes.update('whole', () => undefined);
say('whole');
await results.erase((record) => (record.who.startsWith('gone') ? undefined : record));
say('records');
await store.close();
