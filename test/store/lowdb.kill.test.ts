import { readdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { long } from '../helpers/long.ts';
import { createRandom } from '../helpers/random.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { seed } from '../helpers/seed.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';
import { startChild } from './children/start-child.ts';

const KILLS = long ? 300 : 5;
const LANES = 2;

const random = createRandom(seed());

const Note = z.object({ seq: z.int(), text: z.string() });
const notes = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' } as const;
const results = { name: 'results', schema: z.object({ atMs: z.int(), lane: z.string() }) };
const jobs = { name: 'jobs', schema: z.int(), keptMs: 3_600_000 };

/** The last number of each kind that was acknowledged. */
function acknowledgedIn(lines: string[]): Map<string, number> {
  return new Map(
    lines.map((line) => line.split(' ')).map(([name = '', seq]) => [name, Number(seq)]),
  );
}

async function killRepeatedly(kills: number): Promise<number> {
  const folder = await folderOnDisk();
  const last = new Map<string, number>();
  let acknowledged = 0;
  let foundBefore: number | undefined;
  for (let kill = 0; kill < kills; kill += 1) {
    // Even, so that the first number of a run writes the document that odd ones remove.
    const from = kill * 1_000_000;
    const child = startChild('write-until-killed.mjs', [folder, String(from)]);
    await child.line((line) => line.startsWith('large'));
    await pause(random() * 120);
    child.kill('SIGKILL');
    await child.exit;
    acknowledged += child.lines.length;
    const acknowledgedNow = acknowledgedIn(child.lines);
    for (const [name, seq] of acknowledgedNow) last.set(name, seq);

    const { log, lines } = recordingLog();
    const store = await openLowdbStore({ folder, log });
    try {
      const collection = store.collection(notes);
      let present = 0;
      for (const [name, size] of [
        ['small', 10],
        ['large', 5_000],
      ] as const) {
        const note = await collection.get(name);
        // One that was killed before its first acknowledgement may be there or not.
        expect(note?.seq ?? -1).toBeGreaterThanOrEqual(last.get(name) ?? -1);
        if (note) expect(note.text).toBe(`${note.seq} `.repeat(size));
        if (note) present += 1;
      }
      const removed = (await collection.get('removed'))?.seq;
      const told = acknowledgedNow.get('removed');
      const stateAfter = (seq: number) => (seq % 2 ? undefined : seq);
      // The acknowledged state, or the state of the write under way. If this run acknowledged nothing, the kill before
      // left the state.
      expect([
        told === undefined ? foundBefore : stateAfter(told),
        stateAfter(told === undefined ? from : told + 1),
      ]).toContain(removed);
      foundBefore = removed;
      expect((await collection.list()).length).toBe(present + (removed === undefined ? 0 : 1));

      const read = new Map([
        ['lane-a', new Set<number>()],
        ['lane-b', new Set<number>()],
      ]);
      for await (const record of store.journal(results).read({ fromMs: from })) {
        read.get(record.lane)?.add(record.atMs);
      }
      for (const [lane, seqs] of read) {
        for (let seq = from; seq <= (last.get(lane) ?? -1); seq += 1) {
          expect(seqs.has(seq), `${lane} ${seq}`).toBe(true);
        }
      }
      const items = (await store.keyed({ ...notes, name: 'items' })).items();
      const itemSeq = items.get('one')?.seq;
      expect(itemSeq ?? -1).toBeGreaterThanOrEqual(acknowledgedNow.get('items') ?? -1);
      if (itemSeq !== undefined) {
        expect(items.get('other')?.seq).toBe(itemSeq % 10 === 9 ? undefined : itemSeq);
      }

      const claims = store.claims(jobs);
      const left = await claims.unfinished();
      for (let seq = from; seq <= (acknowledgedNow.get('job') ?? -1); seq += 1) {
        expect(left.includes(seq), `job ${seq}`).toBe(seq % 2 === 0);
        expect(await claims.claim(String(seq), seq)).toBe(false);
      }
      for (const seq of left) await claims.finish(String(seq), 1);

      const names = await readdir(folder, { recursive: true });
      expect(names.filter((name) => name.endsWith('.tmp'))).toEqual([]);
      expect(names).not.toContain('quarantine');
      // Torn ends of a journal were never acknowledged, so there is no warning.
      expect(lines.filter((line) => Number(line.level) > 30)).toEqual([]);
    } finally {
      await store.close();
    }
  }
  return acknowledged;
}

test(`${KILLS} kills in the middle of writing tear no file and lose nothing acknowledged`, {
  timeout: 30_000 + KILLS * 2_000,
}, async () => {
  const counts = await Promise.all(
    Array.from({ length: LANES }, () => killRepeatedly(KILLS / LANES)),
  );
  const acknowledged = counts.reduce((sum, count) => sum + count, 0);
  console.log(`${KILLS} kills, ${acknowledged} acknowledged writes, none lost`);
  expect(acknowledged).toBeGreaterThan(KILLS * 5);
});
