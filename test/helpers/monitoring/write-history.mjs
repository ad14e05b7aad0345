// Adds results and changes to the history until it is killed, a round of all monitors every ten minutes of a time of its
// own, and prints what was acknowledged. Arguments: folder, time of the first round, number of the first change.
import { pino } from 'pino';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { say } from '../say.mjs';

const [folder, fromMs, firstChange] = process.argv.slice(2);
const MONITORS = 20;
const EVERY_MS = 600_000;
const log = pino({ level: 'warn' }, { write: (line) => say(`log ${line.trimEnd()}`) });

let nowMs = Number(fromMs);
const store = await openLowdbStore({ folder, log });
const history = await openHistory({ store, wallMs: () => nowMs, log });
const seen = { found: 'UP', everyMs: EVERY_MS, covered: false };

async function look(monitor, atMs) {
  say(`asked ${monitor} ${atMs}`);
  await history.add(monitor, atMs, { ok: true, outcome: 'ok', responseTimeMs: 7 }, seen);
  say(`result ${monitor} ${atMs}`);
}

async function flip(monitor, atMs, number) {
  const [from, to] = number % 2 ? ['UP', 'DOWN'] : ['DOWN', 'UP'];
  await history.addChanges(monitor, [{ atMs, sinceMs: atMs, from, to, number }]);
  say(`change ${monitor} ${number}`);
}

let storing = Promise.resolve();
for (let round = 0; ; round += 1) {
  const atMs = nowMs;
  const writes = [flip('m0', atMs, Number(firstChange) + round)];
  for (let index = 0; index < MONITORS; index += 1) writes.push(look(`m${index}`, atMs));
  await Promise.all(writes);
  // Hours are stored while the next results come.
  storing = storing.then(() => history.prune(nowMs));
  nowMs += EVERY_MS;
}
