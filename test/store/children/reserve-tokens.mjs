// Sets tokens of a key aside in the database named first and the schema named second, says so, and does not end.
import { pino } from 'pino';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';

const [, , url, schema] = process.argv;
const log = pino({ level: 'silent' });
const times = { ttlMs: 1_000, beatMs: 200 };
const store = await openPostgresStore({ url, schema, log, times, version: '0.0.0' });
const books = store.usage({ unixMs: Date.now, steadyMs: () => performance.now() });
const { hold } = await books.reserve('key', 80, { tokensPerDay: 100 });
console.log(`reserved ${hold?.tokens}`);
setInterval(() => {}, 1_000);
