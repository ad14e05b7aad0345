// Writes documents, a record and an item, and says each time when it was acknowledged.
import { pino } from 'pino';
import { z } from 'zod';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { say } from '../../helpers/say.mjs';

const store = await openLowdbStore({ folder: process.argv[2], log: pino({ level: 'silent' }) });
const schema = z.object({ text: z.string() });
const notes = store.collection({ name: 'notes', schema, version: 1, whenCorrupt: 'refuse' });
const results = store.journal({ name: 'results', schema: z.object({ atMs: z.int() }) });

await notes.update('a', () => ({ text: 'one' }));
say('first');
await notes.update('a', () => ({ text: 'two' }));
say('second');
await notes.update('a', () => undefined);
say('removed');
await results.append({ atMs: 1 });
say('created');
await results.append({ atMs: 2 });
say('appended');
const cards = store.collection({ name: 'cards', schema, version: 1, whenCorrupt: 'refuse' });
// From then on it is known which documents there are.
await cards.list();
await cards.update('a', () => ({ text: 'one' }));
say('made');
await cards.update('a', () => ({ text: 'two' }));
say('replaced');
const items = await store.keyed({ name: 'items', schema, whenCorrupt: 'refuse' });
await items.write(new Map([['a', { text: 'one' }]]));
say('put');
await items.erase(new Map([['a', undefined]]));
say('erased');
await store.close();
