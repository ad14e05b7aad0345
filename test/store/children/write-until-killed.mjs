// Writes as fast as it can until it is killed, and prints each write once it is acknowledged.
// Arguments: folder, first number.
import { pino } from 'pino';
import { z } from 'zod';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { say } from '../../helpers/say.mjs';

const [folder, from] = process.argv.slice(2);
const store = await openLowdbStore({ folder, log: pino({ level: 'silent' }) });
const Note = z.object({ seq: z.int(), text: z.string() });
const notes = store.collection({ name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' });
const Result = z.object({ atMs: z.int(), lane: z.string() });
const results = store.journal({ name: 'results', schema: Result });
const jobs = store.claims({ name: 'jobs', schema: z.int(), keptMs: 3_600_000 });

const items = await store.keyed({ name: 'items', schema: Note, whenCorrupt: 'refuse' });

async function loop(name, write) {
  for (let seq = Number(from); ; seq += 1) {
    await write(seq);
    say(`${name} ${seq}`);
  }
}

const note = (seq, size) => () => ({ seq, text: `${seq} `.repeat(size) });
await Promise.all([
  loop('small', (seq) => notes.update('small', note(seq, 10))),
  loop('large', (seq) => notes.update('large', note(seq, 5_000))),
  // Odd numbers remove what even numbers wrote.
  loop('removed', (seq) => notes.update('removed', seq % 2 ? () => undefined : note(seq, 10))),
  // Odd numbers are finished.
  loop('job', async (seq) => {
    await jobs.claim(String(seq), seq);
    if (seq % 2) await jobs.finish(String(seq));
  }),
  // Large enough for snapshots. Both items change together; one is erased now and then.
  loop('items', (seq) => {
    const value = note(seq, 5_000)();
    const changes = new Map([
      ['one', value],
      ['other', seq % 10 === 9 ? undefined : value],
    ]);
    return seq % 10 === 9 ? items.erase(changes) : items.write(changes);
  }),
  loop('lane-a', (seq) => results.append({ atMs: seq, lane: 'lane-a' })),
  loop('lane-b', (seq) => results.append({ atMs: seq, lane: 'lane-b' })),
]);
